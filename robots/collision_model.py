"""CollisionModel: a robot's hulls, covering spheres and solids on the frames of its joint tree.

The convex hull of each mesh is a part with covering spheres in three levels. A link's boxes,
cylinders and spheres together are a part of solids. So several parts may have one name.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from galley.compiled.jit import user_cache
from galley.domain.errors import BadInput
from galley.domain.files import atomic_file
from galley.domain.frames import Array, frozen
from galley.domain.meshes import Hull
from galley.robots.files import announced
from galley.robots.model import RobotModel
from galley.robots.spheres.covering import Covering, covering_of, digest, enclosing
from galley.robots.urdf_reader import Ints, JointTree, LinkShape, link_shapes, read_tree

Arrays = Mapping[str, Any]
_LAYOUT = 4  # version of the cached arrays
# The cached arrays that are no attributes of CollisionModel.
_OF_HULLS = ("links", "hull_vertices", "hull_vertices_end", "hull_planes", "hull_planes_end")


@dataclass(frozen=True)
class SolidOnFrame:
    """A box, cylinder or sphere of a link, posed in the frame that moves it.

    Attributes:
        part: index of its part.
        frame: frame of the tree that moves it.
        shape: kind and size.
        X_FS: its pose in that frame (4, 4).
    """

    part: int
    frame: int
    shape: LinkShape
    X_FS: Array


@dataclass(frozen=True, eq=False)
class CollisionModel:
    """Parts 0 .. S - 1 are hulls that spheres cover, the others are made of solids.

    Balls are rows (x, y, z, r) in the part's frame, metres.

    Attributes:
        tree: the joints.
        names: link of each part (P,); a link whose meshes make several hulls has several.
        part_frame: frame that moves each hull (S,).
        part_ball: a ball around each hull's spheres (S, 4).
        part_cluster: where each hull's clusters begin (S + 1,).
        cluster_ball: a ball around each cluster (C, 4).
        cluster_sphere: where each cluster's spheres begin (C + 1,).
        spheres: all spheres (N, 4).
        part_excess: how far a part's spheres reach beyond its hull, metres (S,).
        hulls: the hulls, in the part's frame (S,).
        solids: the solids of the other parts.
        checked: whether two parts may not touch (P, P).
        carries: whether joint j moves frame f (n + 1, n).
        arm_frames: for each arm of a robot with several, the first frame of arm and hand, and the
            one after the last; else empty.
    """

    tree: JointTree
    names: tuple[str, ...]
    part_frame: Ints
    part_ball: Array
    part_cluster: Ints
    cluster_ball: Array
    cluster_sphere: Ints
    spheres: Array
    part_excess: Array
    hulls: tuple[Hull, ...]
    solids: tuple[SolidOnFrame, ...]
    checked: NDArray[np.bool_]
    carries: NDArray[np.bool_]
    arm_frames: tuple[tuple[int, int], ...] = ()


def collision_model(robot: RobotModel) -> CollisionModel:
    """The collision model of a robot, cached."""
    views = robot.views.values()
    arms = tuple((v.slice("arm").start + 1, v.slice("fingers").stop + 1) for v in views)
    allowed = robot.allowed_self_collisions
    return _model(robot.urdf, robot.joints, allowed, robot.sphere_excess, arms)


@lru_cache(maxsize=8)
def _model(
    urdf: str,
    joints: tuple[str, ...],
    allowed: frozenset[tuple[str, str]],
    excess: tuple[tuple[str, float], ...],
    arms: tuple[tuple[int, int], ...],
) -> CollisionModel:
    """``collision_model`` by the parts of the robot that it depends on."""
    tree = read_tree(urdf, joints)
    # All arrays are cached as well as each link's, so that a later start reads no mesh.
    name = f"robot-{_robot_digest(urdf, joints, excess)}"
    arrays = _cached(name, lambda: _covered(urdf, tree, dict(excess)))
    plain: dict[str, list[LinkShape]] = {}
    for shape in link_shapes(urdf, meshes=False):
        plain.setdefault(shape.link, []).append(shape)
    links = [str(name) for name in arrays["links"]]
    names = (*links, *plain)
    solids = []
    for k, (link, own) in enumerate(plain.items()):
        frame, X_FL = tree.link(link)
        solids += [SolidOnFrame(len(links) + k, frame, s, frozen(X_FL @ s.X_LS)) for s in own]
    attributes: dict[str, Any] = {
        k: frozen(v) if v.dtype.kind == "f" else v for k, v in arrays.items() if k not in _OF_HULLS
    }
    corners, planes = (
        [arrays[k][a:b] for a, b in itertools.pairwise([0, *arrays[f"{k}_end"]])]
        for k in ("hull_vertices", "hull_planes")
    )
    return CollisionModel(
        tree=tree,
        names=names,
        hulls=tuple(
            Hull(frozen(v), frozen(p[:, :3]), frozen(p[:, 3]))
            for v, p in zip(corners, planes, strict=True)
        ),
        solids=tuple(solids),
        checked=_checked(names, tree, allowed),
        carries=_carries(tree),
        arm_frames=arms,
        **attributes,
    )


def _cached(name: str, make: Callable[[], Arrays]) -> Arrays:
    """The result of ``make``, cached on disk in a file of this name."""
    folder = user_cache("spheres")
    if folder is None:
        return make()
    path = folder / f"{name}.npz"
    damaged = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile)
    with contextlib.suppress(*damaged), np.load(path, allow_pickle=False) as file:
        return dict(file)
    made = make()
    with contextlib.suppress(BadInput, OSError):
        folder.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as partial, open(partial, "wb") as stream:
            np.savez(stream, **dict(made))
    return made


def _robot_digest(urdf: str, joints: tuple[str, ...], excess: tuple[tuple[str, float], ...]) -> str:
    """A digest of URDF, joints, excess, and the size and modification time of each mesh file."""
    digested = hashlib.sha256(f"{_LAYOUT} {joints} {excess} {urdf}".encode())
    for mesh in ET.fromstring(urdf).iter("mesh"):
        file = Path(mesh.get("filename", "").removeprefix("file://"))
        with contextlib.suppress(OSError):
            about = file.stat()
            digested.update(f"{about.st_size} {about.st_mtime_ns}".encode())
    return digested.hexdigest()[:20]


def _covering(hull: Hull, excess: float, link: str) -> Covering:
    """The covering of a link's hull, cached for any robot and any pose of the arm's foot."""
    arrays = _cached(f"link-{digest(hull, excess)}", lambda: vars(covering_of(hull, excess, link)))
    return Covering(**{**arrays, "excess": float(arrays["excess"])})


def _covered(urdf: str, tree: JointTree, excess: dict[str, float]) -> Arrays:
    """Spheres and hulls of all meshes: some attributes of CollisionModel, and ``_OF_HULLS``."""
    shapes = [shape for shape in link_shapes(urdf) if shape.hull is not None]
    rows: dict[str, list[Any]] = {name: [] for name in ("ball", "cluster", "sphere", "size")}
    count = [0]
    frames, reach, hulls = [], [], []
    for shape in announced(shapes, "spheres about the links"):
        assert shape.hull is not None
        covering = _covering(shape.hull, excess.get(shape.link, excess["*"]), shape.link)
        frame, X_FL = tree.link(shape.link)
        X = X_FL @ shape.X_LS
        R, p = X[:3, :3], X[:3, 3]
        clusters = np.column_stack([covering.cluster_centres @ R.T + p, covering.cluster_radii])
        centre, radius = enclosing(clusters[:, :3], clusters[:, 3])
        rows["ball"].append([*centre, radius])
        rows["cluster"].append(clusters)
        rows["sphere"].append(np.column_stack([covering.centres @ R.T + p, covering.radii]))
        rows["size"].append(np.bincount(covering.cluster))
        count.append(count[-1] + len(clusters))
        frames.append(frame)
        reach.append(covering.excess)
        normals = shape.hull.normals @ R.T
        hulls.append((shape.hull.vertices @ R.T + p, normals, shape.hull.offsets + normals @ p))
    vertices = [corners for corners, _, _ in hulls]
    planes = [np.column_stack([normals, offsets]) for _, normals, offsets in hulls]
    return {
        "links": np.array([shape.link for shape in shapes], dtype=np.str_),
        "part_frame": np.array(frames, dtype=np.int64),
        "part_ball": np.array(rows["ball"]).reshape(-1, 4),
        "part_cluster": np.array(count, dtype=np.int64),
        "cluster_ball": np.concatenate([np.zeros((0, 4)), *rows["cluster"]]),
        "cluster_sphere": np.cumsum([0, *np.concatenate([[], *rows["size"]])]).astype(np.int64),
        "spheres": np.concatenate([np.zeros((0, 4)), *rows["sphere"]]),
        "part_excess": np.array(reach, dtype=np.float64),
        "hull_vertices": np.concatenate([np.zeros((0, 3)), *vertices]),
        "hull_vertices_end": np.cumsum([len(v) for v in vertices], dtype=np.int64),
        "hull_planes": np.concatenate([np.zeros((0, 4)), *planes]),
        "hull_planes_end": np.cumsum([len(p) for p in planes], dtype=np.int64),
    }


def _checked(
    names: tuple[str, ...], tree: JointTree, allowed: frozenset[tuple[str, str]]
) -> NDArray[np.bool_]:
    """``CollisionModel.checked``: not for parts of one link, on one frame, or of allowed pairs."""
    checked = np.zeros((len(names), len(names)), dtype=bool)
    for i, a in enumerate(names):
        for j, b in enumerate(names):
            checked[i, j] = a != b and (min(a, b), max(a, b)) not in allowed
            checked[i, j] &= tree.link(a)[0] != tree.link(b)[0]  # on one frame: rigid
    checked.setflags(write=False)
    return checked


def _carries(tree: JointTree) -> NDArray[np.bool_]:
    """``CollisionModel.carries``: joint j moves its own frame and those of its descendants."""
    n = len(tree.joints)
    carries = np.zeros((n + 1, n), dtype=bool)
    for j in range(n):  # parents come first
        carries[j + 1] = carries[tree.parent[j]]
        carries[j + 1, j] = True
    carries.setflags(write=False)
    return carries
