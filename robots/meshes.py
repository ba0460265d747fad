"""Meshes as OBJ, the format that both PyBullet and Drake read: whole, or in convex parts.

A mesh that fills little of its convex hull (an arm with an offset, an elbow) is cut by planes,
greedily: always the cut that reduces the volume of the hulls most. The outline of a cut belongs to
the surfaces of both parts, so the hull of each part covers the solid on its side. Together the
hulls of the parts cover the mesh.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import shutil
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from galley.compiled.jit import user_cache
from galley.domain.files import read_bytes, write_atomically
from galley.domain.frames import Array
from galley.domain.meshes import CollisionMesh, hull, hull_triangles, read_mesh

# A cut must reduce the volume by at least this share of the whole mesh's hull.
WORTH = 0.02
_PLACES = 12  # planes tried along each axis


def as_obj(mesh: Path | str) -> Path:
    """The mesh file itself, or for an STL or Collada file an OBJ copy in the user's cache.

    Raises:
        ValueError: the file is not in the format that its name says.
    """
    mesh = Path(mesh)
    if mesh.suffix.lower() not in (".stl", ".dae"):
        return mesh
    key = hashlib.sha256(read_bytes(mesh)).hexdigest()[:20]
    if mesh.suffix.lower() == ".dae":
        return _collada_as_obj(mesh, _folder() / f"{mesh.stem}-{key}")
    copy = _folder() / f"{mesh.stem}-{key}.obj"
    if not copy.is_file():
        _write(copy, read_mesh(mesh))
    return copy


def parts_as_obj(mesh: Path | str, most: int, slack: float = 0.0) -> list[Path]:
    """Files of at most ``most`` convex parts that cover the mesh; see ``convex_parts``.

    They are kept in the user's cache.

    Args:
        mesh: the mesh file.
        most: parts.
        slack: m by which a hull may be larger, to have fewer corners; see ``simplified``.

    Raises:
        ValueError: the file can't be read as a mesh.
    """
    mesh = Path(mesh)
    if mesh.suffix.lower() == ".dae":
        mesh = as_obj(mesh)
    settings = f"hulls {WORTH} {most} " + (f"{slack} " if slack else "")
    key = hashlib.sha256(settings.encode() + read_bytes(mesh)).hexdigest()[:20]
    for last in range(1, most + 1):
        files = [_folder() / f"{mesh.stem}-{key}-{k}of{last}.obj" for k in range(1, last + 1)]
        if all(file.is_file() for file in files):
            return files
    parts = convex_parts(read_mesh(mesh), most)
    files = [_folder() / f"{mesh.stem}-{key}-{k + 1}of{len(parts)}.obj" for k in range(len(parts))]
    for file, part in zip(files, parts, strict=True):
        _write(file, _hulled(part, slack))
    return files


def _hulled(mesh: CollisionMesh, slack: float) -> CollisionMesh:
    """The hull of a mesh, which loads faster in every engine; the mesh itself if it is flat."""
    try:
        corners = hull(mesh.points).vertices
    except ValueError:
        return mesh
    if slack:
        corners = simplified(corners, slack)
    return CollisionMesh(corners, hull_triangles(corners))


def simplified(points: Array, slack: float) -> Array:
    """Corners (m, 3) of a polyhedron that covers the hull of points (n, 3), and little more.

    It begins as the points' box. As long as a corner is more than ``slack`` (m) outside the hull,
    the plane of the hull's face that it is farthest outside of cuts it off.
    """
    from scipy.spatial import HalfspaceIntersection

    solid = hull(points)
    box, inside = np.vstack([np.eye(3), -np.eye(3)]), solid.vertices.mean(axis=0)
    planes = np.column_stack([box, -(solid.vertices @ box.T).max(axis=0)])
    while True:
        corners = HalfspaceIntersection(planes, inside).intersections
        out = corners @ solid.normals.T - solid.offsets
        far = out.max(axis=1) > slack
        if not far.any():
            simple = hull(corners).vertices
            return simple if len(simple) < len(solid.vertices) else solid.vertices
        cuts = np.unique(out[far].argmax(axis=1))
        more = np.column_stack([solid.normals[cuts], -solid.offsets[cuts]])
        planes = np.concatenate([planes, more])


def _collada_as_obj(mesh: Path, folder: Path) -> Path:
    """An OBJ copy in metres in ``folder``, with its materials."""
    import trimesh
    from trimesh.exchange.obj import export_obj

    if not (folder / "mesh.obj").is_file():
        try:
            scene = trimesh.load_scene(mesh)
            if scene.units not in (None, "meters"):
                scene = scene.convert_units("meters")
            text, materials = export_obj(scene, return_texture=True)
        except Exception as error:  # pycollada raises many kinds for a malformed file
            raise ValueError(f"{mesh.name} can't be read: {error}") from None
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in materials.items():
            write_atomically(folder / name, data)
        write_atomically(folder / "mesh.obj", text)
    return folder / "mesh.obj"


def _write(file: Path, mesh: CollisionMesh) -> None:
    """Writes a mesh as an OBJ file."""
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in mesh.points.tolist()]
    lines += [f"f {a} {b} {c}" for a, b, c in (mesh.triangles + 1).tolist()]
    write_atomically(file, "\n".join(lines) + "\n")


@cache
def _folder() -> Path:
    """The folder of copies; a temporary one if there is no cache."""
    folder = user_cache("meshes")
    with contextlib.suppress(OSError):
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                return folder
    made = tempfile.mkdtemp(prefix="galley-meshes-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)


def convex_parts(mesh: CollisionMesh, most: int) -> list[CollisionMesh]:
    """Parts of a mesh whose convex hulls together cover it; the mesh itself if no cut is worth it.

    Cuts are square to the axes of the mesh's frame. Deterministic.

    Args:
        mesh: triangles; they need not be watertight.
        most: the greatest number of parts.
    """
    if most == 1:
        return [mesh]
    worth = WORTH * _volume(mesh.points)
    parts = [mesh]
    cuts = [_best_cut(mesh)]
    while len(parts) < most:
        k = max(range(len(cuts)), key=lambda i: cuts[i][0])
        saved, halves = cuts[k]
        if not halves or saved < worth:
            break
        parts[k : k + 1] = halves
        cuts[k : k + 1] = map(_best_cut, halves)
    return parts


def _best_cut(mesh: CollisionMesh) -> tuple[float, tuple[CollisionMesh, ...]]:
    """The volume of hull (m^3) that the best cut saves, and the halves; 0 and () without one."""
    volume = _volume(mesh.points)
    best: tuple[float, tuple[CollisionMesh, ...]] = (0.0, ())
    if not len(mesh.triangles):
        return best
    for axis in np.eye(3):
        height = mesh.points @ axis
        for at in np.linspace(height.min(), height.max(), _PLACES + 2)[1:-1]:
            halves = tuple(_side(mesh, sign * axis, at * axis) for sign in (1.0, -1.0))
            volumes = [_volume(half.points) for half in halves]
            if min(volumes) > 0.0 and volume - sum(volumes) > best[0]:
                best = volume - sum(volumes), halves
    return best


def _side(mesh: CollisionMesh, normal: Array, origin: Array) -> CollisionMesh:
    """The part of a mesh on the side of a plane to which its normal (3,) points."""
    from trimesh.intersections import slice_faces_plane

    points, triangles = slice_faces_plane(mesh.points, mesh.triangles, normal, origin)[:2]
    return CollisionMesh(np.asarray(points), np.asarray(triangles, dtype=np.int64))


def _volume(points: Array) -> float:
    """The volume (m^3) of the convex hull of points (n, 3); 0 if it is flat."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        return float(ConvexHull(points).volume)
    except (QhullError, ValueError):
        return 0.0
