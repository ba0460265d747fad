"""Arrangements of a few convex shapes in a box, at any position and yaw, or a proof of none.

The method is branch and bound over cells: ranges of x, y and yaw for each shape. At every yaw of
its range a shape fills its kernel, the intersection of the turned shapes. A cell is excluded if a
shape sticks out of the box wherever it stands in its range, or if two kernels overlap wherever they
stand; else one of its ranges is halved. In some cells of each batch an arrangement is tried.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from galley.domain.frames import Array
from galley.skills.placing.footprints import padded

TOUCHING = 1e-4  # m, how much shapes in an arrangement may overlap
_LEVELS = 7  # levels of ranges of yaw, each half as wide as the one before
_STEP = np.radians(15.0)  # between the yaws from which a kernel is made
_YAWS = 5  # yaws from which a kernel is made, at most
_FULL = 2.0 * np.pi
_TIDY = _FULL / 8.0  # arrangements are tried at multiples of this, where a range has one
_ROUND = 8  # regular polygons with more corners aren't turned, as if they were circles
_BATCH = 256  # cells examined together, at most
_TOGETHER = 8192  # pairs compared together, at most
_TRIED = 8  # cells of a batch in which an arrangement is tried by pushing shapes apart
_PUSHES = 20  # steps of that
_TURN = 1.5  # m of position that 1 m of loss counts as when a range is chosen to be halved
_NEAR = 0.002  # m, added to gaps: ranges of shapes that may be nearer are halved first
_SLACK = 1e-7  # m, for rounding
_ANGLES = np.arange(48) * np.pi / 24.0
_DIRECTIONS = np.stack([np.cos(_ANGLES), np.sin(_ANGLES)])


@dataclass(frozen=True)
class Outline:
    """A convex shape to be arranged: polygons about the middle of its body, counter-clockwise.

    The corners are kept as bytes, so that shapes can be compared and cached.

    Attributes:
        body: corners (n, 2) of the polygon that must not overlap others, m.
        rim: corners (m, 2) of the polygon that must lie within the box, m.
        middle: middle of the body's corners in the frame in which the shape was given, m.
    """

    body: bytes
    rim: bytes
    middle: tuple[float, float]

    @classmethod
    def of(cls, body: Array, rim: Array) -> Outline:
        """The shape with corners of body (n, 2) and rim (m, 2) in any frame."""
        middle = body.mean(axis=0)
        x, y = middle.tolist()
        return cls((body - middle).tobytes(), (rim - middle).tobytes(), (x, y))

    @property
    def polygons(self) -> tuple[Array, Array]:
        """The corners of body (n, 2) and rim (m, 2), about the middle of the body."""
        body, rim = (np.frombuffer(corners).reshape(-1, 2) for corners in (self.body, self.rim))
        return body, rim

    def symmetric(self, by: Array) -> bool:
        """Whether a matrix (2, 2) maps the shape onto itself."""
        return all(_same(polygon @ by, polygon) for polygon in self.polygons)


@lru_cache(maxsize=1024)
def arrange(
    shapes: tuple[Outline, ...], fixed: tuple[bytes, ...], sides: tuple[float, float], most: int
) -> Array | int | None:
    """Arrange shapes in the box from (0, 0) to ``sides`` without overlap, or prove that none can.

    Args:
        shapes: the shapes, at least one.
        fixed: bytes of convex polygons (n, 2) that no body may overlap.
        sides: sides of the box, m.
        most: limit on the pairs of shapes compared; each cell counts as 4 pairs.

    Returns:
        Poses x, y, yaw (n, 3) of the shapes' frames, which overlap by ``TOUCHING`` at most; or the
        number of cells examined, if that proves that there is no arrangement; or None for neither.
    """
    n, count = len(shapes), len(shapes) + len(fixed)
    tables = [_turned(shape) for shape in shapes]
    starts = np.cumsum([0, *(len(table.yaw) for table in tables)])
    still = [np.frombuffer(polygon).reshape(-1, 2) for polygon in fixed]
    kernels = _Polygons([p for table in tables for p in table.kernels] + still)
    bodies = _Polygons([p for table in tables for p in table.bodies] + still)
    reach, exact, loss, yaw = (
        np.concatenate([getattr(table, name) for table in tables])
        for name in ("reach", "exact", "loss", "yaw")
    )
    pairs = np.array([(a, b) for b in range(count) for a in range(min(b, n))], int).reshape(-1, 2)
    i, j = pairs.T
    of = (np.arange(n)[:, None] == i).astype(float) - (np.arange(n)[:, None] == j)  # (n, pairs)
    equal = [(a, b) for b in range(n) for a in range(b) if shapes[a] == shapes[b]]

    # Cells: ``rows`` has the range of yaw of each shape, a row in its table; ``boxes`` the range of
    # its position.
    rows = np.array([[*starts[:-1], *range(starts[-1], starts[-1] + len(fixed))]], int)
    boxes = np.zeros((1, count, 2, 2))  # lowest and highest x and y
    boxes[0, :n, 1] = sides
    if not fixed and all(shape.symmetric(np.diag([1.0, -1.0])) for shape in shapes):
        rarest = min(range(n), key=lambda k: (shapes.count(shapes[k]), -len(shapes[k].body), k))
        boxes[0, rarest, 1] /= 2.0  # the rest mirrors this, with equal shapes sorted again
    examined, lot = 0, min(_BATCH, max(1, _TOGETHER // max(1, len(pairs))))
    while len(rows):
        row, rows = rows[-lot:], rows[:-lot]
        box, boxes = boxes[-lot:].copy(), boxes[:-lot]
        examined += len(row)
        if examined * (len(pairs) + 4) > most:
            return None
        # No shape may stick out of the box: that narrows its range.
        low, high = box[:, :n, 0], box[:, :n, 1]
        np.maximum(low, reach[row[:, :n], 0], out=low)
        np.minimum(high, sides - reach[row[:, :n], 1], out=high)
        for a, b in equal:  # equal shapes can be swapped: let them stand in the order of their x
            low[:, b, 0] = np.maximum(low[:, b, 0], low[:, a, 0])
            high[:, a, 0] = np.minimum(high[:, a, 0], high[:, b, 0])
        inside = (low <= high + _SLACK).all(axis=(1, 2))
        row, box = row[inside], box[inside]
        middle, half = box.mean(axis=2), np.maximum(0.0, box[:, :, 1] - box[:, :, 0]) / 2.0
        apart, within = middle[:, j] - middle[:, i], half[:, i] + half[:, j]
        # The widest gap that two kernels can have in their ranges: below 0 they always overlap.
        gap, _ = kernels.gaps(row[:, i], row[:, j], apart, within)
        possible = (gap >= -_SLACK).all(axis=1)
        row = row[possible]
        if not len(row):
            continue
        box, middle, half, gap = (array[possible] for array in (box, middle, half, gap))
        # The last cells are the smallest: an arrangement in one of them ends the search.
        turns = row[-_TRIED:]
        limits = np.stack([exact[turns[:, :n], 0], sides - exact[turns[:, :n], 1]])
        arrangement = _pushed_apart(bodies, turns, (i, j, of), middle[-_TRIED:], limits)
        if arrangement is not None:
            k, xy = arrangement
            turn = yaw[turns[k, :n]]
            middles = np.array([s.middle @ _rotation(t) for s, t in zip(shapes, turn, strict=True)])
            return np.column_stack([xy - middles, turn])
        # Halve the widest range; those of shapes that may be near to another count as wider.
        near = np.where(of != 0.0, 1.0 / (gap[:, None] + _NEAR), 1.0).max(axis=2, initial=1.0)
        widths = np.concatenate([half[:, :n], _TURN * loss[row[:, :n], None]], axis=2)
        widths *= near[..., None]
        one, along = np.divmod(widths.reshape(len(row), -1).argmax(axis=1), 3)
        every = np.arange(len(row))
        slid, turned = every[along < 2], every[along == 2]
        for side in (0, 1):
            part, turn = box.copy(), row.copy()
            part[slid, one[slid], 1 - side, along[slid]] = middle[slid, one[slid], along[slid]]
            halved = 2 * row[turned, one[turned]] - starts[one[turned]] + 1
            turn[turned, one[turned]] = halved + side
            rows, boxes = np.concatenate([rows, turn]), np.concatenate([boxes, part])
    return examined


def _pushed_apart(
    bodies: _Polygons,
    turns: NDArray[np.int64],
    pairs: tuple[NDArray[np.int64], NDArray[np.int64], Array],
    at: Array,
    limits: Array,
) -> tuple[int, Array] | None:
    """The first of some cells in which an arrangement is found, and its positions (n, 2); or None.

    Shapes that overlap are pushed apart, and back into the box, step by step.

    Args:
        bodies: the bodies of all shapes at all yaws.
        turns: indices of the bodies in each cell (k, m); the first n can be moved.
        pairs: indices of the first and the second shape of each pair (p,); and for each movable
            shape 1 and -1 at the pairs in which it is the first and the second (n, p).
        at: positions at which they begin (k, m, 2).
        limits: lowest and highest positions (2, k, n, 2) of the movable ones.
    """
    n = limits.shape[2]
    fits = (limits[0] <= limits[1] + _SLACK).all(axis=(1, 2))
    (i, j, of), at = pairs, at.copy()
    for _ in range(_PUSHES if fits.any() else 0):
        at[:, :n] = np.clip(at[:, :n], *limits)
        gap, normal = bodies.gaps(turns[:, i], turns[:, j], at[:, j] - at[:, i])
        free = np.flatnonzero((gap >= -TOUCHING).all(axis=1) & fits)
        if len(free):
            return int(free[0]), at[free[0], :n]
        at[:, :n] += of @ (np.minimum(gap, 0.0)[..., None] * normal / 2.0)
    return None


class _Polygons:
    """Convex polygons, prepared to be compared in pairs.

    Args:
        polygons: corners (n, 2) of each, counter-clockwise, m.
    """

    def __init__(self, polygons: list[Array]) -> None:
        self._corners = padded(polygons)  # (m, v, 2)
        edges = np.roll(self._corners, -1, axis=1) - self._corners
        lengths = np.hypot(edges[..., 0], edges[..., 1])
        flat = lengths < 1e-12  # between repeated corners
        self._normals = np.stack([edges[..., 1], -edges[..., 0]], axis=-1)
        self._normals /= np.where(flat, 1.0, lengths)[..., None]
        self._reach = (self._normals @ self._corners.swapaxes(1, 2)).max(axis=2)
        self._reach[flat] = np.inf

    def gaps(
        self, a: NDArray[np.int64], b: NDArray[np.int64], apart: Array, within: Array | None = None
    ) -> tuple[Array, Array]:
        """The largest gap of polygons along an edge's normal (n, k), and that normal (n, k, 2).

        Negative gaps are overlaps.

        Args:
            a: indices of the first polygons (n, k).
            b: indices of the second ones (n, k).
            apart: vectors from the origin of the first to that of the second (n, k, 2), m.
            within: how much these may vary (n, k, 2), m; the gap is then the largest possible.
        """
        gaps, normals = [], []
        for p, q, sign in ((a, b, 1.0), (b, a, -1.0)):
            n = self._normals[p]
            gap = (n @ self._corners[q].swapaxes(-1, -2)).min(axis=-1) - self._reach[p]
            gap += (n @ (sign * apart)[..., None])[..., 0]
            if within is not None:
                gap += (np.abs(n) @ within[..., None])[..., 0]
            gaps.append(gap)
            normals.append(sign * n)
        gap, normal = np.concatenate(gaps, axis=-1), np.concatenate(normals, axis=-2)
        k = gap.argmax(axis=-1)[..., None]
        best = np.take_along_axis(normal, k[..., None], axis=-2)[..., 0, :]
        return np.take_along_axis(gap, k, axis=-1)[..., 0], best


@dataclass(frozen=True, eq=False)
class _Turned:
    """A shape over N ranges of yaw, as a binary tree: the halves of row k are 2 k + 1 and 2 k + 2.

    Attributes:
        kernels: polygon (v, 2) that the body fills at every yaw of the range.
        reach: how far the rim reaches below and above the origin in x and y at least (N, 2, 2), m.
        yaw: a yaw of the range at which arrangements are tried (N,), rad.
        bodies: the body at that yaw, polygons (v, 2).
        exact: how far the rim reaches at that yaw (N, 2, 2), m.
        loss: how much the body exceeds the kernel (N,), m; 0 if the range isn't halved.
    """

    kernels: list[Array]
    reach: Array
    yaw: Array
    bodies: list[Array]
    exact: Array
    loss: Array


@lru_cache(maxsize=64)
def _turned(shape: Outline) -> _Turned:
    """The table of a shape over ranges of yaw; a symmetric shape needs less than a full turn."""
    body, rim = shape.polygons
    levels, folds = _LEVELS, next(k for k in (4, 2, 1) if shape.symmetric(_rotation(_FULL / k)))
    regular = len(body) > _ROUND and _same(body @ _rotation(_FULL / len(body)), body)
    if regular:  # nearly a circle: it isn't turned
        levels, folds = 1, 1
    ranges = [(level, k) for level in range(levels) for k in range(2**level)]
    width = np.array([_FULL / folds / 2**level for level, _ in ranges])
    low = width * [k for _, k in ranges]
    yaw = np.clip(np.round((low + width / 2.0) / _TIDY) * _TIDY, low, low + width)
    bodies = [body @ _rotation(angle) for angle in yaw]
    kernels = [_kernel(body, *each) for each in zip(low, width, strict=True)]
    if regular:
        kernels = [np.cos(np.pi / len(body)) * body]
    reaches = [(p @ _DIRECTIONS).max(axis=0) for p in (*bodies, *kernels)]
    loss = np.subtract(*np.split(np.array(reaches), 2)).max(axis=1)
    loss[2 ** (levels - 1) - 1 :] = 0.0
    reach, exact = _reach(rim, low, width), _reach(rim, yaw, 0.0)
    return _Turned(kernels, reach, yaw, bodies, exact, loss)


def _kernel(polygon: Array, low: float, width: float) -> Array:
    """A polygon (m, 2) that a convex one (n, 2) about the origin fills at all yaws of a range."""
    import shapely

    yaws = np.linspace(low, low + width, int(np.clip(np.ceil(width / _STEP) + 1, 2, _YAWS)))
    turned = [shapely.Polygon(polygon @ _rotation(yaw)) for yaw in yaws]
    common = shapely.intersection_all(turned).normalize().exterior.coords
    # An edge's normal at a yaw between two of these is a sum of both, with weights of 1 / cos in
    # all, at most.
    return np.array(common[:0:-1]) * float(np.cos((yaws[1] - yaws[0]) / 2.0))


def _reach(rim: Array, low: Array, width: Array | float) -> Array:
    """Least reach (n, 2, 2) of the rim below and above the origin, in x and y, over ranges of yaw.

    Args:
        rim: corners (m, 2).
        low: where each range begins (n,), rad.
        width: how wide it is, rad.
    """
    x, y = (np.roll(rim, -1, axis=0) - rim).T
    facing, reach = np.arctan2(-x, y), (rim[:, 0] * y - rim[:, 1] * x) / np.hypot(x, y)
    sides = []
    for angle in (np.pi, 1.5 * np.pi, 0.0, 0.5 * np.pi):
        # It is least at an end of the range, or where an edge faces that way.
        ends = [rim @ [np.cos(angle - t), np.sin(angle - t)] for t in (low, low + width)]
        since = (angle - facing[:, None] - low + _SLACK) % _FULL
        faces = np.where(since <= width + 2.0 * _SLACK, reach[:, None], np.inf)
        sides.append(np.vstack([np.max(ends, axis=1), faces]).min(axis=0))
    return np.stack(sides, axis=1).reshape(-1, 2, 2)


def _rotation(angle: float) -> Array:
    """The matrix (2, 2) that turns points (n, 2) by an angle (rad): ``points @ matrix``."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, s], [-s, c]])


def _same(polygon: Array, other: Array) -> bool:
    """Whether two polygons (n, 2) have the same corners."""
    return bool((np.abs(polygon[:, None] - other).max(axis=2).min(axis=1) < _SLACK / 10.0).all())
