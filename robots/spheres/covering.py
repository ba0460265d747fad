"""Covers a convex hull with spheres that reach little beyond it.

A sphere around a point at depth d inside the hull reaches at most ``excess`` beyond it if and only
if its radius is at most d + excess. A few such spheres are fitted by Lloyd's alternation:

1. The hull is divided into the cells of the spheres' power diagram: a point is in the cell of the
   sphere with the least |x - c|^2 - r^2. Cells are convex, and so are spheres: a cell is covered
   if its corners are, and the hull is covered if all its cells are. The search ends only when they
   are, so the result is proved to cover.
2. Each centre moves to where its sphere reaches farthest beyond its cell's corners.
3. If cells stay uncovered, spheres are added at the corners that are farthest outside.

F. Aurenhammer, Power diagrams, SIAM J. Computing 16 (1987).

The covers of the robots here are shipped, in files that are named by a digest of the hull and the
excess. A longer search made them, of fewer spheres. Their numbers are whole micrometres.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from galley.domain.frames import Array, frozen
from galley.domain.meshes import Hull

# The folder of the coverings that come with the package.
SHIPPED = Path(__file__).parent

_SLACK = 1e-6  # m: every corner is at least this far inside its sphere; far above rounding
_BEYOND = 2.5  # radii: planes farther from a centre are left out, so its cell can only be larger
_SWEEPS = (3, 8)  # rounds of the alternation before spheres are added; more if few are missing
_ASCENT = 24  # steps of a centre to its best place
_MOST = 2000  # spheres at most
_LARGEST = 8  # spheres in a cluster at most
_STEPS = 2000  # steps towards the smallest sphere around a cluster
_MICRO = 1e6  # micrometres in a metre

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Covering:
    """Spheres whose union contains a hull, ordered by cluster.

    Attributes:
        centres: the spheres' centres (k, 3), metres, in the hull's frame.
        radii: the spheres' radii (k,), metres.
        cluster: cluster of each sphere (k,), ascending from 0.
        cluster_centres: centre of a sphere around each cluster (c, 3), metres.
        cluster_radii: radius of a sphere around each cluster (c,), metres.
        excess: greatest distance from the hull of any point of the union, metres. Larger: fewer
            spheres, which decide less often.
    """

    centres: Array
    radii: Array
    cluster: NDArray[np.int64]
    cluster_centres: Array
    cluster_radii: Array
    excess: float


def covering_of(hull: Hull, excess: float, name: str = "a link") -> Covering:
    """The shipped covering of a hull, or a new one, which takes seconds; see ``cover``.

    Args:
        hull: in the frame of the spheres.
        excess: how far spheres may reach beyond it, metres.
        name: name of the link, for the log.
    """
    covering = read(SHIPPED / f"{digest(hull, excess)}.json")
    if covering is None:
        began = time.perf_counter()
        covering = cover(hull, excess)
        took = time.perf_counter() - began
        _log.info("%s: %d spheres after %.1f s", name, len(covering.radii), took)
    return covering


def cover(hull: Hull, excess: float) -> Covering:
    """Spheres that cover ``hull`` and reach at most ``excess`` metres beyond it; deterministic.

    Raises:
        ValueError: the excess is not positive, or so small that rounding would decide or more
            than ``_MOST`` spheres be needed.
    """
    if not excess > 100.0 * _SLACK:
        raise ValueError(f"an excess of {excess} m is too small to cover anything with spheres")
    centres = hull.vertices.mean(axis=0)[None]
    while len(centres) <= _MOST:
        sweeps = _SWEEPS[0]
        for sweep in range(_SWEEPS[1]):
            radii = excess - _SLACK - hull.distance(centres)
            rows, cells = power_cells(hull, centres, radii)
            centres, radii = centres[rows], radii[rows]
            far = [np.linalg.norm(cell - x, axis=1) for cell, x in zip(cells, centres, strict=True)]
            need = np.array([distances.max() for distances in far]) + _SLACK
            if (need <= radii).all():
                return assemble(hull, centres, need)
            if (need <= radii).any():
                sweeps = _SWEEPS[1]
            if sweep == sweeps - 1:
                break
            centres = _recentred(hull, centres, cells, excess * 0.9**sweep)
        # Add up to a third as many spheres, where corners are farthest outside.
        outside = need - radii
        count = max(1, min((outside > 0.0).sum(), len(radii)) // 3)
        worst = np.argsort(-outside, kind="stable")[:count]
        added = [cells[k][far[k].argmax()] for k in worst]
        centres = np.vstack([centres, added])
    raise ValueError(f"an excess of {excess} m needs more than {_MOST} spheres")


def assemble(hull: Hull, centres: Array, radii: Array) -> Covering:
    """The Covering of given spheres, in clusters; that they cover the hull is not checked."""
    order, cluster, about, around = clusters(centres, radii)
    cluster.setflags(write=False)
    reach = float((radii + hull.distance(centres)).max())
    return Covering(
        frozen(centres[order]), frozen(radii[order]), cluster, frozen(about), frozen(around), reach
    )


def power_cells(hull: Hull, centres: Array, radii: Array) -> tuple[list[int], list[Array]]:
    """Cells of the power diagram of spheres, in a hull.

    Together the cells contain the hull. They may overlap and reach beyond it: planes that are far
    from a sphere are left out.

    Args:
        hull: to be divided.
        centres: centres of the spheres (k, 3), m.
        radii: radii of the spheres (k,), m.

    Returns:
        Indices of the spheres that have a cell, and the corners (., 3) of each cell.
    """
    rows, cells = [], []
    low, high = hull.vertices.min(axis=0), hull.vertices.max(axis=0)
    box = np.vstack([np.eye(3), -np.eye(3)])
    depth = hull.offsets - centres @ hull.normals.T  # (k, m)
    for k, centre in enumerate(centres):
        apart = np.linalg.norm(centres - centre, axis=1)
        others = apart > 1e-9
        larger = ~others & (radii >= radii[k])
        if larger[:k].any() or (radii[larger] > radii[k]).any():  # it hides a concentric one
            continue
        normals = (centres[others] - centre) / apart[others, None]
        at = 0.5 * (apart[others] + (radii[k] ** 2 - radii[others] ** 2) / apart[others])
        near, facets = at < _BEYOND * radii[k], depth[k] < _BEYOND * radii[k]
        A = np.vstack([box, hull.normals[facets], normals[near]])
        b = np.concatenate([high - centre, centre - low, depth[k, facets], at[near]])
        corners = _corners(A, b)
        if corners is not None:
            rows.append(k)
            cells.append(corners + centre)
    return rows, cells


def _corners(A: Array, b: Array) -> Array | None:
    """Corners (n, 3) of the polytope A x <= b; None if it is empty, or flat."""
    from scipy.optimize import linprog
    from scipy.spatial import HalfspaceIntersection, QhullError

    inside = np.zeros(3)
    if b.min() <= _SLACK:  # the origin is not inside: the centre of the largest ball that is
        ball = linprog(
            [0.0, 0.0, 0.0, -1.0],
            np.column_stack([A, np.ones(len(A))]),
            b,
            bounds=[(None, None)] * 3 + [(0.0, None)],
        )
        if ball.status != 0 or ball.x[3] <= 1e-8:
            return None
        inside = ball.x[:3]
    for options in (None, "QJ"):  # as it is; if rounding makes Qhull fail, slightly moved
        with contextlib.suppress(QhullError):
            made = HalfspaceIntersection(np.column_stack([A, -b]), inside, qhull_options=options)
            if np.isfinite(made.intersections).all():
                return np.asarray(made.intersections)
    raise RuntimeError("Qhull finds no corners of a cell")


def _recentred(hull: Hull, centres: Array, cells: list[Array], step: float) -> Array:
    """Centres (k, 3) moved to where their spheres have most to spare beyond their cells' corners.

    What a sphere about c can spare is depth(c) - max |x - c|, a concave function of c, as depth is
    a minimum of linear functions: a subgradient ascent finds its maximum.

    Args:
        step: length of the first step, m; the later ones are shorter.
    """
    size, rows = max(map(len, cells)), np.arange(len(cells))
    corners = np.array([np.resize(cell, (size, 3)) for cell in cells])
    x, at, best = centres.copy(), centres.copy(), np.full(len(cells), -np.inf)
    for _ in range(_ASCENT):
        out = x @ hull.normals.T - hull.offsets
        facet = out.argmax(axis=1)
        depth, away = -out[rows, facet], x[:, None] - corners
        squares = (away**2).sum(axis=2)
        corner = squares.argmax(axis=1)
        far = np.sqrt(squares[rows, corner])
        better = (depth - far > best) & (depth >= 0.0)
        best[better], at[better] = (depth - far)[better], x[better]
        # Outside the hull, back in first.
        pull = away[rows, corner] * ((depth >= 0.0) / np.maximum(far, 1e-12))[:, None]
        x = x - step * (hull.normals[facet] + pull)
        step *= 0.85
    return at


def clusters(
    centres: Array, radii: Array
) -> tuple[NDArray[np.intp], NDArray[np.int64], Array, Array]:
    """Clusters of at most eight spheres, by repeated halving across the long axis.

    Args:
        centres: (k, 3), m.
        radii: (k,), m.

    Returns:
        The order (k,) of the spheres by cluster, the cluster of each in that order (k,), and the
        centres (c, 3) and radii (c,) of a sphere around each cluster.
    """
    groups = _halved(np.arange(len(centres)), centres, radii)
    order = np.concatenate(groups)
    cluster = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    around = [enclosing(centres[group], radii[group]) for group in groups]
    about = np.array([centre for centre, _ in around])
    return order, cluster.astype(np.int64), about, np.array([radius for _, radius in around])


def enclosing(centres: Array, radii: Array) -> tuple[Array, float]:
    """A small sphere, as centre (3,) and radius, that contains spheres (k, 3), (k,).

    Steps of 1/i towards the farthest one converge to the smallest (Badoiu and Clarkson, 2003).
    """
    x = centres[np.argmax(radii)].copy()
    best, at = np.inf, x.copy()
    for step in range(1, _STEPS):
        reach = np.linalg.norm(centres - x, axis=1) + radii
        far = int(reach.argmax())
        if reach[far] < best:
            best, at = float(reach[far]), x.copy()
        x += (centres[far] - x) / (step + 1)
    return at, float((np.linalg.norm(centres - at, axis=1) + radii).max()) + 1e-9


def _halved(members: NDArray[np.intp], centres: Array, radii: Array) -> list[NDArray[np.intp]]:
    """The members (indices of spheres), halved until each group is a cluster."""
    if len(members) <= _LARGEST:
        return [members]
    x = centres[members]
    axis = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)[2][0]
    axis = axis * np.sign(axis[np.argmax(np.abs(axis))])  # the sign of a singular vector is free
    ranked = members[np.argsort(x @ axis, kind="stable")]
    # Not exactly in the middle: halves that fill clusters of eight make fewer clusters.
    parts = -(-len(members) // _LARGEST)
    cut = round(len(members) * (parts // 2) / parts)
    return _halved(ranked[:cut], centres, radii) + _halved(ranked[cut:], centres, radii)


def digest(hull: Hull, excess: float) -> str:
    """File name of a shipped covering: a digest of the corners in any order, and the excess."""
    corners = np.round(hull.vertices, 8) + 0.0  # no negative zeros
    corners = corners[np.lexsort(corners.T)]
    digested = hashlib.sha256(corners.astype("<f8").tobytes())
    digested.update(f"excess {excess:.9f} version 1".encode())
    return digested.hexdigest()[:20]


def read(path: Path | str) -> Covering | None:
    """The covering in a shipped file, or None if there is no such file.

    In the file, each of the ``clusters`` has a ball ``around`` it and its ``spheres``. All are
    rows x, y, z, r in micrometres.
    """
    path = Path(path)
    if not path.is_file():
        return None
    shipped = json.loads(path.read_text(encoding="utf-8"))
    clusters = shipped["clusters"]
    rows = np.array([row for entry in clusters for row in entry["spheres"]]) / _MICRO
    around = np.array([entry["around"] for entry in clusters]) / _MICRO
    cluster = np.repeat(np.arange(len(clusters)), [len(entry["spheres"]) for entry in clusters])
    cluster.setflags(write=False)
    centres, radii = frozen(rows[:, :3]), frozen(rows[:, 3])
    about, reach = frozen(around[:, :3]), frozen(around[:, 3])
    return Covering(centres, radii, cluster, about, reach, float(shipped["excess"]) / _MICRO)
