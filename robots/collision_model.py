"""A robot's collision model: spheres and solids on the frames of its joint tree.

Links with meshes become parts made of covering spheres in three levels; boxes, cylinders and
spheres of the URDF are solids. A link with both makes two parts of one name.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from galley.domain.errors import BadInput
from galley.domain.files import atomic_file
from galley.domain.frames import Array, frozen
from galley.robots.files import cache_folder
from galley.robots.model import RobotModel
from galley.robots.spheres.covering import VERSION, Covering, covering_of, enclosing
from galley.robots.urdf_reader import Ints, JointTree, LinkShape, link_shapes, read_tree

Arrays = Mapping[str, Any]
_ROUNDED = 1e-5  # m
_LAYOUT = 3  # version of the cached arrays
_PATIENCE = 2.0  # seconds between lines of progress

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SolidOnFrame:
    """A box, cylinder or sphere of a link, posed in the frame that moves it.

    Attributes:
        part: index of its part. frame: of the tree. X_FS: its pose there (4, 4).
    """

    part: int
    frame: int
    shape: LinkShape
    X_FS: Array


@dataclass(frozen=True, eq=False)
class CollisionModel:
    """Parts 0 .. S - 1 are made of spheres, the others of solids.

    Balls are rows (x, y, z, r) in the part's frame, metres.

    Attributes:
        tree: the joints.
        names: link of each part (P,).
        part_frame: frame of each sphere part (S,).
        part_ball: a ball around each sphere part (S, 4).
        part_cluster: where each part's clusters begin (S + 1,).
        cluster_ball: a ball around each cluster (C, 4).
        cluster_sphere: where each cluster's spheres begin (C + 1,).
        spheres: (N, 4).
        part_excess: how far a part's spheres reach beyond its hulls, metres (S,).
        part_hull: where each part's hulls begin (S + 1,).
        hull_vertex, hull_plane: where each hull's rows begin (H + 1,).
        vertices: (., 3). planes: rows of unit normal and offset (., 4). In the part's frame.
        solids: of the other parts.
        checked: whether two parts must not touch (P, P).
        carries: whether a joint moves a frame (n + 1, n).
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
    part_hull: Ints
    hull_vertex: Ints
    hull_plane: Ints
    vertices: Array
    planes: Array
    solids: tuple[SolidOnFrame, ...]
    checked: NDArray[np.bool_]
    carries: NDArray[np.bool_]


def collision_model(robot: RobotModel) -> CollisionModel:
    """The collision model of a robot, cached."""
    return _model(robot.urdf, robot.joints, robot.allowed_self_collisions, robot.sphere_excess)


@lru_cache(maxsize=8)
def _model(
    urdf: str,
    joints: tuple[str, ...],
    allowed: frozenset[tuple[str, str]],
    excess: tuple[tuple[str, float], ...],
) -> CollisionModel:
    tree = read_tree(urdf, joints)
    arrays = _kept(urdf, joints, excess, lambda: _covered(urdf, tree, dict(excess)))
    plain: dict[str, list[LinkShape]] = {}
    for shape in link_shapes(urdf, meshes=False):
        plain.setdefault(shape.link, []).append(shape)
    links = [str(name) for name in arrays["links"]]
    names = (*links, *plain)
    solids = []
    for k, (link, own) in enumerate(plain.items()):
        frame, X_FL = tree.link(link)
        solids += [SolidOnFrame(len(links) + k, frame, s, frozen(X_FL @ s.X_LS)) for s in own]
    made: dict[str, Any] = {
        k: frozen(v) if v.dtype.kind == "f" else v for k, v in arrays.items() if k != "links"
    }
    return CollisionModel(
        tree=tree,
        names=names,
        solids=tuple(solids),
        checked=_checked(names, tree, allowed),
        carries=_carries(tree),
        **made,
    )


def _kept(
    urdf: str,
    joints: tuple[str, ...],
    excess: tuple[tuple[str, float], ...],
    make: Callable[[], Arrays],
) -> Arrays:
    """The result of ``make``, cached on disk, so that a later start reads no mesh.

    A file is named by a digest of the URDF, the joints, the excess, and each mesh file's size and
    modification time.
    """
    folder = cache_folder("spheres")
    if folder is None:
        return make()
    path = folder / f"robot-{_robot_digest(urdf, joints, excess)}.npz"
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
    found = hashlib.sha256(f"{_LAYOUT} {VERSION} {joints} {excess} {urdf}".encode())
    for mesh in ET.fromstring(urdf).iter("mesh"):
        file = Path(mesh.get("filename", "").removeprefix("file://"))
        with contextlib.suppress(OSError):
            about = file.stat()
            found.update(f"{about.st_size} {about.st_mtime_ns}".encode())
    return found.hexdigest()[:20]


def _covered(urdf: str, tree: JointTree, excess: dict[str, float]) -> Arrays:
    """Spheres and hulls of all links with meshes, by attribute of CollisionModel."""
    hulls = [shape for shape in link_shapes(urdf) if shape.kind == "hull"]
    meshes: dict[str, list[tuple[LinkShape, Covering]]] = {}
    for shape, covering in zip(hulls, _coverings(hulls, excess), strict=True):
        meshes.setdefault(shape.link, []).append((shape, covering))
    part_frame, part_ball = [], []
    part_cluster, cluster_sphere = [0], [0]
    cluster_balls: list[Array] = [np.zeros((0, 4))]
    spheres: list[Array] = [np.zeros((0, 4))]
    part_excess, part_hull, hull_vertex, hull_plane = [], [0], [0], [0]
    vertices: list[Array] = [np.zeros((0, 3))]
    planes: list[Array] = [np.zeros((0, 4))]
    for link, own in meshes.items():
        frame, X_FL = tree.link(link)
        balls, clusters, sizes = _spheres(own, X_FL)
        # Coverings on disk are rounded to micrometres.
        part_excess.append(excess.get(link, excess["*"]) + _ROUNDED)
        part_hull.append(part_hull[-1] + len(own))
        for shape, _ in own:
            assert shape.hull is not None
            X = X_FL @ shape.X_LS
            normals = shape.hull.normals @ X[:3, :3].T
            vertices.append(shape.hull.vertices @ X[:3, :3].T + X[:3, 3])
            planes.append(np.column_stack([normals, shape.hull.offsets + normals @ X[:3, 3]]))
            hull_vertex.append(hull_vertex[-1] + len(vertices[-1]))
            hull_plane.append(hull_plane[-1] + len(planes[-1]))
        around = enclosing(clusters[:, :3], clusters[:, 3])
        part_frame.append(frame)
        part_ball.append(np.array([*around[0], around[1]]))
        spheres.append(balls)
        cluster_balls.append(clusters)
        part_cluster.append(part_cluster[-1] + len(clusters))
        cluster_sphere += list(cluster_sphere[-1] + np.cumsum(sizes))
    return {
        "links": np.array(list(meshes), dtype=np.str_),
        "part_frame": np.array(part_frame, dtype=np.int64),
        "part_ball": np.array(part_ball).reshape(-1, 4),
        "part_cluster": np.array(part_cluster, dtype=np.int64),
        "cluster_ball": np.concatenate(cluster_balls),
        "cluster_sphere": np.array(cluster_sphere, dtype=np.int64),
        "spheres": np.concatenate(spheres),
        "part_excess": np.array(part_excess, dtype=np.float64),
        "part_hull": np.array(part_hull, dtype=np.int64),
        "hull_vertex": np.array(hull_vertex, dtype=np.int64),
        "hull_plane": np.array(hull_plane, dtype=np.int64),
        "vertices": np.concatenate(vertices),
        "planes": np.concatenate(planes),
    }


def _coverings(shapes: list[LinkShape], excess: dict[str, float]) -> list[Covering]:
    """A covering for each shape with a hull, by threads: the search's kernel holds no lock.

    Progress is logged as warnings, which Python writes to stderr unless logging is set up.
    """

    def made(shape: LinkShape) -> Covering:
        assert shape.hull is not None
        return covering_of(shape.hull, excess.get(shape.link, excess["*"]), shape.link)

    pool = ThreadPoolExecutor(os.cpu_count())
    try:
        tasks = [pool.submit(made, shape) for shape in shapes]
        while undone := wait(tasks, timeout=_PATIENCE).not_done:
            share = 1.0 - len(undone) / len(tasks)
            _log.warning("spheres about the links (once; they are kept): %.0f%%", 100 * share)
        return [task.result() for task in tasks]
    finally:
        pool.shutdown(cancel_futures=True)


def _spheres(own: list[tuple[LinkShape, Covering]], X_FL: Array) -> tuple[Array, Array, list[int]]:
    """Spheres (k, 4) and clusters (c, 4) of a link's meshes, and the size of each cluster."""
    balls: list[Array] = []
    clusters: list[Array] = []
    sizes: list[int] = []
    for shape, covering in own:
        X = X_FL @ shape.X_LS
        for centres, radii, into in (
            (covering.centres, covering.radii, balls),
            (covering.cluster_centres, covering.cluster_radii, clusters),
        ):
            into.append(np.column_stack([centres @ X[:3, :3].T + X[:3, 3], radii]))
        sizes += [int((covering.cluster == c).sum()) for c in range(len(covering.cluster_radii))]
    return np.concatenate(balls), np.concatenate(clusters), sizes


def _checked(
    names: tuple[str, ...], tree: JointTree, allowed: frozenset[tuple[str, str]]
) -> NDArray[np.bool_]:
    found = np.zeros((len(names), len(names)), dtype=bool)
    for i, a in enumerate(names):
        for j, b in enumerate(names):
            found[i, j] = a != b and (min(a, b), max(a, b)) not in allowed
            found[i, j] &= tree.link(a)[0] != tree.link(b)[0]  # on one frame: rigid
    found.setflags(write=False)
    return found


def _carries(tree: JointTree) -> NDArray[np.bool_]:
    n = len(tree.joints)
    found = np.zeros((n + 1, n), dtype=bool)
    for j in range(n):
        found[j + 1] = found[tree.parent[j]]
        found[j + 1, j] = True
    found.setflags(write=False)
    return found
