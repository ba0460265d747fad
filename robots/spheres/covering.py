"""Covers a convex hull with few spheres that reach little beyond it, with a proof.

A sphere around a point at depth d inside the hull reaches at most ``excess`` beyond it if and only
if its radius is at most d + excess (centres outside are never better than their projections). To
find the fewest spheres is a set cover problem. Three steps:

1. Greedy set cover of sample points, over candidate centres inside and along the medial axis.
2. Local search: remove a sphere and fit its neighbours to the uncovered points, by Lloyd's
   alternation (``covering_kernel``), until no sphere can be removed.
3. Proof. The hull is the union of its parts in the cells of the spheres' power diagram (a point is
   in the cell of the sphere with the least |x - c|^2 - r^2). A part is a convex polytope, and a
   sphere is convex: the part is covered if its corners are. Until they all are, the spheres are
   fitted to the corners of their parts, and one is added at the worst corner if that gets stuck.

The power diagram: F. Aurenhammer, Power diagrams, SIAM J. Computing 16 (1987).

Coverings are cached: those shipped with the package, then those in the user's cache. A file is
named by a digest of the hull, the excess and the algorithm's version. Numbers in files are whole
micrometres, the radii rounded up so that the cover stays a cover.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import logging
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from galley.compiled.build import COVERING, ensure
from galley.domain.errors import BadInput
from galley.domain.files import write_atomically
from galley.domain.frames import Array, frozen
from galley.domain.meshes import Hull
from galley.domain.meshes import hull as hull_of_points
from galley.robots.files import cache_folder

VERSION = 1
"""Of the algorithm; coverings cached by another version are not used."""

_SLACK = 1e-6  # m: every corner is at least this far inside its sphere; far above rounding
_SPACING = 0.6  # of sample points on the surface, as a fraction of the excess
_SAMPLES = (2000, 12000)  # at least and at most; and a third as many inside
_CANDIDATES = 4000
_QUICK = 0.25  # of the samples and candidates make a quick search
_NEIGHBOURS = 9  # spheres that are refitted when one is removed
_HELD_BACK = 0.05  # fraction of the excess that only the proof uses
_LARGEST = 8  # spheres in a cluster
_COARSE = 0.2  # of the excess, within which a quick search knows the hull
_MANY = 500  # corners, beyond which the proof is about a coarse hull
_FINE = 0.1  # of the excess, within which that hull is known
_ADDED = 8  # corners at a time to a coarse hull
_STEPS = 2000  # towards the smallest sphere around a cluster


@dataclass(frozen=True)
class Covering:
    """Spheres whose union contains a hull, clusters contiguous.

    Attributes:
        centres: (k, 3), metres, in the hull's frame.
        radii: (k,), metres.
        cluster: cluster of each sphere (k,), ascending from 0.
        cluster_centres, cluster_radii: a sphere around each cluster (c, 3), (c,), metres.
        excess: how far any point of the union is from the hull at most, metres.
    """

    centres: Array
    radii: Array
    cluster: NDArray[np.int64]
    cluster_centres: Array
    cluster_radii: Array
    excess: float


def cover(hull: Hull, excess: float) -> Covering:
    """Few spheres that cover ``hull`` and reach at most ``excess`` metres beyond it; deterministic.

    Raises:
        ValueError: the excess is not positive, or so small that rounding would decide.
    """
    search = _CoveringSearch(hull, excess)
    search.greedy()
    search.remove_spheres()
    search.prove()
    radii = search.remove_spheres_proved()
    return assemble(hull, search.centres, radii)


def quick_cover(hull: Hull, excess: float) -> Covering:
    """As ``cover``, with a few more spheres in a fifth of the time.

    The search sees fewer corners, samples and candidates. The proof sees the whole hull, or one
    within a tenth of the excess where it has many corners, and the spheres grow by as much;
    spheres are not removed once the cover is proved.

    Raises:
        ValueError: as ``cover``.
    """
    whole = hull
    grown = _FINE * excess if len(hull.vertices) > _MANY else 0.0
    if grown:  # no point of the hull is farther from the coarse one, nor of the spheres, once grown
        hull, excess = _coarse(hull, grown - _SLACK), excess - grown
    search = _CoveringSearch(_coarse(hull, _COARSE * excess), excess, _QUICK)
    search.greedy()
    search.remove_spheres()
    search.hull, search.planes, search.triangles = hull, _planes(hull), _triangles(hull)
    radii = search.prove()
    return assemble(whole, search.centres, radii + grown)


def _coarse(body: Hull, tolerance: float) -> Hull:
    """A hull of so many corners that no other is more than ``tolerance`` metres outside."""
    x = body.vertices
    ways = np.array(list(itertools.product((-1, 0, 1), repeat=3)))
    chosen = np.unique((x @ ways.T).argmax(axis=0))
    while len(chosen) < len(x):
        try:
            inner = hull_of_points(x[chosen])
        except ValueError:  # flat so far
            return body
        out = inner.distance(x)
        far = np.argsort(out)[-_ADDED:]
        if out[far[-1]] <= tolerance:
            return inner
        chosen = np.union1d(chosen, far[out[far] > tolerance])
    return body


def assemble(hull: Hull, centres: Array, radii: Array) -> Covering:
    """The Covering of given spheres, in clusters; that they cover the hull is not checked."""
    order, cluster, about, around = clusters(centres, radii)
    cluster.setflags(write=False)
    reach = float((radii + hull.distance(centres)).max())
    return Covering(
        frozen(centres[order]), frozen(radii[order]), cluster, frozen(about), frozen(around), reach
    )


def needed_radii(hull: Hull, centres: Array, radii: Array) -> tuple[Array, float, Array]:
    """Radii that prove that spheres (k, 3), (k,) cover a hull, and where the proof fails.

    Returns:
        The radii (k,) that suffice for each sphere's part of the hull (0 where it has none), how
        far the worst corner of a part is outside its sphere, and that corner (3,). The spheres
        cover the hull just if no corner is outside.

    Raises:
        RuntimeError: a part has too many corners to prove anything.
    """
    ensure(COVERING)
    from galley.robots.spheres.covering_kernel import needed

    need, worst = np.zeros(len(radii)), np.zeros(3)
    out = needed(_triangles(hull), _planes(hull), centres, radii, need, worst)
    if out >= 1e8:
        raise RuntimeError("a power cell has too many corners")
    return need, float(out), worst


def _planes(hull: Hull) -> Array:
    return np.ascontiguousarray(np.vstack([hull.normals.T, hull.offsets]))


def _triangles(hull: Hull) -> Array:
    from scipy.spatial import ConvexHull

    return np.ascontiguousarray(hull.vertices[ConvexHull(hull.vertices).simplices])


class _CoveringSearch:
    """The search: centres, and the points that they are fitted to."""

    def __init__(self, hull: Hull, excess: float, effort: float = 1.0) -> None:
        if not excess > 100.0 * _SLACK:
            raise ValueError(f"an excess of {excess} m is too small to cover anything with spheres")
        ensure(COVERING)
        from galley.robots.spheres import covering_kernel

        self.kernel = covering_kernel
        self.hull = hull
        self.planes, self.triangles = _planes(hull), _triangles(hull)
        self.allowed = excess - _SLACK
        self.excess = (1.0 - _HELD_BACK) * excess - _SLACK
        self.rng = np.random.default_rng(0)
        limits = (round(effort * _SAMPLES[0]), round(effort * _SAMPLES[1]))
        surface = _surface_points(hull, _SPACING * excess, self.rng, limits)
        inside = _inside_points(hull, round(effort * _CANDIDATES), self.rng)
        self.points = np.vstack([hull.vertices, surface, inside[: len(surface) // 3]])
        self.candidates = np.vstack([inside, _deepened(hull, inside)])
        self.centres = np.empty((0, 3))

    def radii(self, centres: Array) -> Array:
        """The largest radii (k,) that the excess allows."""
        return np.asarray(self.excess - self.hull.distance(centres))

    def greedy(self) -> None:
        """Add the candidate that covers most uncovered points, until all are covered."""
        points, centres = self.points, self.candidates
        radii = self.radii(centres)
        # By rows of a thousand: the squares of all at once would fill a gigabyte.
        rows = range(0, len(points), 1000)
        covers = np.vstack([_squares(points[k : k + 1000], centres) <= radii**2 for k in rows])
        lone = ~covers.any(axis=1)
        # Those that no candidate covers get one of their own: itself, if it's in the hull.
        taken = list(points[lone])
        covers = covers[~lone]
        while len(covers):
            best = int(covers.sum(axis=0).argmax())
            taken.append(centres[best])
            covers = covers[~covers[:, best]]
        self.centres = np.array(taken)

    def remove_spheres(self) -> None:
        """Remove spheres as long as the others can be refitted."""
        progress = True
        while progress:
            progress = False
            owner = np.zeros(len(self.points), dtype=np.int64)
            self.kernel.assign(self.points, self.centres, self.radii(self.centres), owner)
            load = np.bincount(owner, minlength=len(self.centres))
            for centre in self.centres[np.argsort(load, kind="stable")]:
                at = np.flatnonzero((self.centres == centre).all(axis=1))
                if len(at) == 1 and len(self.centres) > 1 and self._leave_out(int(at[0])):
                    progress = True

    def _leave_out(self, k: int) -> bool:
        others = np.delete(self.centres, k, axis=0)
        near = self._nearest(others, self.centres[k])
        if self._refit(others, near, 60):
            self.centres = others
            return True
        return False

    def _nearest(self, centres: Array, point: Array) -> NDArray[np.int64]:
        gap = np.linalg.norm(centres - point, axis=1) - self.radii(centres)
        return np.argsort(gap, kind="stable")[:_NEIGHBOURS]

    def _refit(self, centres: Array, near: NDArray[np.int64], sweeps: int) -> bool:
        """Fit the spheres ``near`` to all points that others don't cover; True if they do."""
        rest = np.delete(centres, near, axis=0)
        left = self.points
        if len(rest):
            left = left[(_squares(left, rest) > (self.radii(rest) - _SLACK) ** 2).all(axis=1)]
        if len(left) == 0:
            return True
        moved = centres[near]
        worst, _ = self.kernel.fit(left, self.planes, self.excess, moved, sweeps, 8, -_SLACK)
        centres[near] = moved
        return bool(worst <= -_SLACK)

    def prove(self) -> Array:
        """Repair the cover until the proof succeeds; its least radii (k,)."""
        goal = -2.0 * _SLACK
        for _ in range(300):
            self.kernel.polish(
                self.triangles, self.planes, self.allowed, self.centres, 100, 15, goal
            )
            radii = np.asarray(self.allowed - self.hull.distance(self.centres))
            need, out, corner = needed_radii(self.hull, self.centres, radii)
            if out <= -_SLACK:
                self.centres = self.centres[need > 0.0]
                return np.asarray(need[need > 0.0] + _SLACK)
            self.centres = np.vstack([self.centres, corner])
        raise RuntimeError("the spheres could not be proved to cover the hull")

    def remove_spheres_proved(self) -> Array:
        """Remove spheres as long as the proof succeeds; the radii (k,)."""
        k = 0
        radii = self.prove()
        order = np.argsort(radii, kind="stable")  # the smallest first
        self.centres = self.centres[order]
        while k < len(self.centres) > 1:
            others = np.delete(self.centres, k, axis=0)
            out = self.kernel.polish(
                self.triangles, self.planes, self.allowed, others, 25, 4, -2.0 * _SLACK
            )
            if out <= -2.0 * _SLACK:
                self.centres = others
            else:
                k += 1
        return self.prove()


def _squares(points: Array, centres: Array) -> Array:
    """Squared distances (n, k) of points (n, 3) from centres (k, 3)."""
    squares = (points**2).sum(axis=1)[:, None] + (centres**2).sum(axis=1)
    return np.asarray(squares - 2.0 * points @ centres.T)


def _surface_points(
    hull: Hull, spacing: float, rng: np.random.Generator, limits: tuple[int, int]
) -> Array:
    """Points on the surface (n, 3), uniform by area, one for each square of ``spacing`` metres."""
    triangles = _triangles(hull)
    a, b = triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]
    area = np.linalg.norm(np.cross(a, b), axis=1)
    count = int(np.clip(0.5 * area.sum() / spacing**2, *limits))
    at = rng.choice(len(triangles), count, p=area / area.sum())
    weights = rng.dirichlet((1.0, 1.0, 1.0), count)
    return np.asarray(np.einsum("nk,nkd->nd", weights, triangles[at]))


def _inside_points(hull: Hull, count: int, rng: np.random.Generator) -> Array:
    """Points inside (count, 3): random mixtures of the corners and the box, by rejection."""
    low, high = hull.vertices.min(axis=0), hull.vertices.max(axis=0)
    found = np.empty((0, 3))
    for _ in range(1000):
        x = rng.uniform(low, high, (4 * count, 3))
        found = np.vstack([found, x[hull.distance(x) < 0.0]])
        if len(found) >= count:
            return found[:count]
    # A sliver across its box: points between a corner and the middle of the corners.
    weights = rng.dirichlet(np.ones(len(hull.vertices)), count)
    return np.asarray(weights @ hull.vertices)


def _deepened(hull: Hull, points: Array) -> Array:
    """Points moved away from the nearest facet repeatedly, towards the medial axis."""
    x = points.copy()
    step = 0.02 * float(np.ptp(hull.vertices, axis=0).max())
    for _ in range(150):
        facet = (x @ hull.normals.T - hull.offsets).argmax(axis=1)
        x -= step * hull.normals[facet]
        step *= 0.97
    return np.asarray(x[hull.distance(x) < 0.0])


def clusters(
    centres: Array, radii: Array
) -> tuple[NDArray[np.intp], NDArray[np.int64], Array, Array]:
    """Spheres (k, 3), (k,) in groups of at most eight, by repeated halving across the long axis.

    Returns:
        The order (k,) that makes clusters contiguous, each sphere's cluster in that order (k,),
        and a sphere around each cluster, (c, 3) and (c,).
    """
    groups = _halved(np.arange(len(centres)), centres, radii)
    order = np.concatenate(groups)
    cluster = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    around = [enclosing(centres[group], radii[group]) for group in groups]
    about = np.array([centre for centre, _ in around])
    return order, cluster.astype(np.int64), about, np.array([radius for _, radius in around])


def enclosing(centres: Array, radii: Array) -> tuple[Array, float]:
    """A small sphere, centre (3,) and radius, that contains the spheres (k, 3), (k,).

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
    if len(members) <= _LARGEST:
        return [members]
    x = centres[members]
    axis = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)[2][0]
    axis = axis * np.sign(axis[np.argmax(np.abs(axis))])  # the sign of a singular vector is free
    ranked = members[np.argsort(x @ axis, kind="stable")]
    # Not always in the middle: halves that fill clusters of eight make fewer clusters.
    parts = -(-len(members) // _LARGEST)
    cut = round(len(members) * (parts // 2) / parts)
    return _halved(ranked[:cut], centres, radii) + _halved(ranked[cut:], centres, radii)


SHIPPED = Path(__file__).parent
"""The folder of the coverings that come with the package."""

_log = logging.getLogger(__name__)
_MICRO = 1e6


def covering_of(hull: Hull, excess: float, name: str = "a link") -> Covering:
    """Spheres that cover ``hull`` and reach at most ``excess`` metres (and 4 um) beyond it.

    Cached; to make them takes seconds.

    Args:
        hull: in the frame of the spheres.
        excess: metres, see ``cover``.
        name: of the link, for the log.
    """
    key = digest(hull, excess)
    folder = cache_folder("spheres")
    for place in (SHIPPED, folder):
        if place is not None and (found := read(place / f"{key}.json")) is not None:
            return found
    began = time.perf_counter()
    _log.info("covering %s with spheres (once; they are kept)", name)
    made = quick_cover(hull, excess)
    _log.info("%s: %d spheres after %.1f s", name, len(made.radii), time.perf_counter() - began)
    text = as_text(made, name)
    if folder is not None:
        with contextlib.suppress(BadInput, OSError):
            folder.mkdir(parents=True, exist_ok=True)
            write_atomically(folder / f"{key}.json", text)
    return from_text(text)  # rounded, as in later runs


def digest(hull: Hull, excess: float) -> str:
    """File name of a covering: a digest of the corners in any order, excess and version."""
    corners = np.round(hull.vertices, 8) + 0.0  # no negative zeros
    corners = corners[np.lexsort(corners.T)]
    found = hashlib.sha256(corners.astype("<f8").tobytes())
    found.update(f"excess {excess:.9f} version {VERSION}".encode())
    return found.hexdigest()[:20]


def read(path: Path | str) -> Covering | None:
    """The covering in a file; None if the file is missing or damaged."""
    path = Path(path)
    try:
        return from_text(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def as_text(covering: Covering, name: str) -> str:
    """A covering as JSON: rows x, y, z, r in micrometres, cluster by cluster."""
    spheres = _rows(covering.centres, covering.radii)
    around = _rows(covering.cluster_centres, covering.cluster_radii + 2.0 / _MICRO)
    lines = [
        json.dumps({"around": ball, "spheres": [spheres[k] for k in members]})
        for c, ball in enumerate(around)
        if (members := np.flatnonzero(covering.cluster == c).tolist())
    ]
    excess = int(np.ceil(covering.excess * _MICRO)) + 3
    head = f'{{"name": {json.dumps(name)}, "unit": "um", "excess": {excess}, "clusters": [\n'
    return head + ",\n".join(lines) + "\n]}\n"


def from_text(text: str) -> Covering:
    """The covering that ``as_text`` wrote.

    Raises:
        ValueError, KeyError, TypeError: the text is something else.
    """
    found = json.loads(text)
    clusters = found["clusters"]
    rows = np.array([row for each in clusters for row in each["spheres"]], dtype=np.float64)
    around = np.array([each["around"] for each in clusters], dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != 4 or around.shape != (len(clusters), 4):
        raise ValueError("not a covering")
    cluster = np.repeat(np.arange(len(clusters)), [len(each["spheres"]) for each in clusters])
    cluster.setflags(write=False)
    return Covering(
        frozen(rows[:, :3] / _MICRO),
        frozen(rows[:, 3] / _MICRO),
        cluster.astype(np.int64),
        frozen(around[:, :3] / _MICRO),
        frozen(around[:, 3] / _MICRO),
        float(found["excess"]) / _MICRO,
    )


def _rows(centres: Array, radii: Array) -> list[list[int]]:
    """Whole micrometres; radii grow by 1 um, for rounding moves centres by less."""
    x = np.round(centres * _MICRO).astype(int).tolist()
    r = (np.ceil(radii * _MICRO) + 1.0).astype(int).tolist()
    return [[*centre, radius] for centre, radius in zip(x, r, strict=True)]
