"""Whether several items fit into a region together: an arrangement, a proof that not, or neither.

The proof: the bounding rectangle of each item must lie within one of the region's boxes, and no two
items may overlap at any height. For one height it shows that every assignment of the items to the
boxes fails: by areas, by sizes, since two items overlap at all yaws, since all of them take more
than the box's length in whatever order they stand along it, or since the circles in them are more
than a box holds, which needs no orders and so serves any number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from galley.domain.frames import Array
from galley.domain.scene.model import Item, Region
from galley.skills.placing.footprints import Footprint, Layer, Upright, area, gaps, padded, placed

GAP = 0.005  # m, between neighbours, at least
_GAPS = (0.01, GAP)  # m, between packed items; the second where room is scarce
_FEW = 8  # greedy packings with each gap before a proof is tried
_TRIES = 40  # greedy packings before the answer is "not found"
_CHUNK = 48  # spots checked together
_TURNS = 1440  # yaws of a full turn at which widths are compared
_STEP = 2.0 * np.pi / _TURNS
_ANGLES = np.arange(_TURNS) * _STEP
_COS, _SIN = np.cos(_ANGLES), np.sin(_ANGLES)
_HEIGHTS = 5  # heights tried, at most
_LONGEST_ROW = 6  # items whose orders along a box are examined
_SECTOR = _TURNS // 24  # yaws that are bounded together
_ASSIGNMENTS = 4096  # of items to boxes that are examined, at most
_SLACK = 1e-9


def packable(
    items: Sequence[Item],
    region: Region,
    taken: Sequence[Footprint],
    rng: np.random.Generator,
) -> bool | None:
    """Whether upright items fit into a region together.

    Args:
        items: all of them.
        region: where.
        taken: footprints of what stands there and stays.
        rng: random numbers.

    Returns:
        True: an arrangement was found. False: ``packing_certificate`` proves that there is none.
        None: neither.
    """
    things = [Upright.of(item) for item in items]
    polygons = [footprint.outline for footprint in taken]
    # A short search first, for the proof takes longer.
    for gap in _GAPS:
        if pack(things, region, polygons, gap, rng, _FEW) is not None:
            return True
    if packing_certificate(items, region, taken) is not None:
        return False
    return True if pack(things, region, polygons, GAP, rng, _TRIES) is not None else None


def packing_certificate(
    items: Sequence[Item], region: Region, taken: Sequence[Footprint] = ()
) -> dict[str, Any] | None:
    """Figures that prove that the items don't fit into the region together; None: no proof.

    For each box of the region (``parts``) its sides and the area that is taken; for each item its
    size, its area ``at_height_m`` and the boxes that it fits into alone; which two can't share a
    box, with their least overlap in metres; which items are too long for an ``axis`` of a box
    (``rows``), with the least length that they take in any order; and which are too many for a box
    (``crowds``), with the radius of a circle that each holds. No assignment of items to boxes
    respects all of this.
    """
    things = [Upright.of(item) for item in items]
    layers = [layer for thing in things for layer in thing.layers]
    layers += [layer for footprint in taken for layer in footprint.layers]
    for height in _heights(layers):
        found = _at_height(things, region, taken, height)
        if found is not None:
            return found
    return None


def pack(
    things: Sequence[Upright],
    region: Region,
    taken: Sequence[Array],
    gap: float,
    rng: np.random.Generator,
    tries: int,
) -> Array | None:
    """Poses (n, 4) of x, y, yaw and box for all items, at least ``gap`` apart; None: not found.

    Each try places one after the other, larger ones rather earlier, at the free spot that is
    furthest towards a random corner.
    """
    found = np.empty((len(things), 4))
    areas = np.array([thing.size[0] * thing.size[1] for thing in things])
    for _ in range(tries):
        order = np.argsort(-areas * np.exp(rng.normal(0.0, 0.4, len(things))))
        towards = rng.choice([-1.0, 1.0], 2) * rng.uniform(0.2, 1.0, 2)
        polygons = list(taken)
        for k in order:
            spots = tight_spots(things[k], region, polygons, (gap,), (0.0,), rng)
            spots = spots[np.argsort(spots[:, :2] @ towards, kind="stable")]
            row = _first_free(things[k], spots, polygons, gap)
            if row is None:
                if len(polygons) == len(taken):
                    return None  # this one doesn't fit alone: no other order helps
                break
            found[k] = row
            polygons.append(placed(things[k].outline, row[None])[0])
        else:
            return found
    return None


def tight_spots(
    thing: Upright,
    region: Region,
    others: Sequence[Array],
    distances: Sequence[float],
    insets: Sequence[float],
    rng: np.random.Generator,
) -> Array:
    """Spots (m, 4) of x, y, yaw and box, parallel to the region's sides, next to sides and items.

    In each coordinate the item is ``insets`` metres from a side of the region, or ``distances``
    metres from another's bounding box; one coordinate may be random. Spots need not be free.
    """
    boxes = region.boxes[:, :, :2]
    if region.kind == "volume" and thing.size[2] > np.ptp(region.boxes[0, :, 2]) + 1e-9:
        return np.empty((0, 4))
    low_high = np.array([(p.min(axis=0), p.max(axis=0)) for p in others]).reshape(-1, 2, 2)
    found = []
    first = int(rng.integers(4))
    for turn in (first, first + 1):
        half = thing.size[:2] / 2.0 if turn % 2 == 0 else thing.size[1::-1] / 2.0
        for k, (lower, upper) in enumerate(boxes):
            low, high = lower + half, upper - half
            if (low > high + 1e-9).any():
                continue
            high = np.maximum(low, high)
            axes = []
            for axis in (0, 1):
                sides = [low[axis] + inset for inset in insets]
                sides += [high[axis] - inset for inset in insets]
                beside = [low_high[:, 0, axis] - d - half[axis] for d in distances]
                beside += [low_high[:, 1, axis] + d + half[axis] for d in distances]
                values = np.concatenate([sides, *beside])
                axes.append(values[(values >= low[axis] - 1e-9) & (values <= high[axis] + 1e-9)])
            x, y = axes
            free_x, free_y = rng.uniform(low[0], high[0], len(y)), rng.uniform(low[1], high[1])
            points = np.concatenate(
                [
                    np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2),
                    np.stack([free_x, y], axis=1),
                    np.stack([x, np.full(len(x), free_y)], axis=1),
                ]
            )
            spots = np.empty((len(points), 4))
            spots[:, :2] = np.clip(points, low, high)
            spots[:, 2] = turn % 4 * np.pi / 2.0
            spots[:, 3] = k
            found.append(spots)
    return np.concatenate(found) if found else np.empty((0, 4))


def _first_free(
    thing: Upright, spots: Array, polygons: Sequence[Array], gap: float
) -> Array | None:
    """The first of the spots (m, 4) at which the item keeps the gap to all polygons."""
    if not polygons:
        return spots[0] if len(spots) else None
    others = padded(list(polygons))
    for begin in range(0, len(spots), _CHUNK):
        chunk = spots[begin : begin + _CHUNK]
        free = gaps(placed(thing.outline, chunk), others).min(axis=1) >= gap - 1e-9
        if free.any():
            return np.asarray(chunk[int(np.argmax(free))])
    return None


@dataclass(frozen=True)
class _Thing:
    """An item at one height.

    Attributes:
        size: bounding box (3,). core: the polygon (n, 2) that it fills there, or None.
        round: radius (m) of a circle about its centre that it fills there as well.
        inner: as ``Upright.inner``.
    """

    size: Array
    core: Array | None
    round: float = 0.0
    inner: Array | None = None

    @cached_property
    def key(self) -> bytes:
        """Equal for items of the same size, core and inner polygon."""
        some = (self.size, self.core, self.inner)
        return b"".join(b"" if each is None else each.tobytes() for each in some)

    @cached_property
    def area(self) -> float:
        """Of the core, m^2."""
        return 0.0 if self.core is None else area(self.core)

    @cached_property
    def extents(self) -> Array:
        """Sides (2, _TURNS) of the box around its turned bounding rectangle, by yaw.

        Of a composite, twice what it surely reaches to either side of its centre.
        """
        if self.inner is not None:
            x = (np.stack([_COS, _SIN], axis=1) @ self.inner.T).max(axis=1)
            x = 2.0 * np.minimum(x, np.roll(x, _TURNS // 2))[-np.arange(_TURNS)]
            return np.stack([x, np.roll(x, -_TURNS // 4)])
        c, s = np.abs(_COS), np.abs(_SIN)
        x, y = self.size[:2]
        return np.stack([c * x + s * y, s * x + c * y])

    @property
    def diagonal(self) -> float:
        """Of its bounding rectangle, m."""
        return float(np.hypot(*self.size[:2]))

    def yaws(self, sides: Array) -> NDArray[np.int64]:
        """Indices of the yaws at which it fits into a box (2,), or nearly.

        They include the nearest to every yaw at which it fits: the slope of a side is at most the
        diagonal.
        """
        slack = self.diagonal * _STEP / 2.0 + _SLACK
        return np.flatnonzero((self.extents <= sides[:, None] + slack).all(axis=0))

    @property
    def radius(self) -> float:
        """Of the circle about its centre that holds its core, m."""
        return 0.0 if self.core is None else float(np.hypot(*self.core.T).max())

    @property
    def inner_radius(self) -> float:
        """Of a circle about its centre that it fills, m; 0 where there is none."""
        if self.core is None:
            return 0.0
        return max(self.round, float(self._reach.min()) - self.radius * _STEP / 2.0)

    @cached_property
    def _reach(self) -> Array:
        """Reach (_TURNS,) of its core from the centre, by direction."""
        assert self.core is not None
        return np.asarray((np.stack([_COS, _SIN], axis=1) @ self.core.T).max(axis=1))

    def by_yaw(self, sides: Array) -> list[tuple[Array, Array]]:
        """Ways to turn it in a box (2,): sectors of yaws, of alike ones the first.

        Each with the least sides (2,) of the box around its rectangle, less what yaws between the
        listed ones could add, and the least reach (_TURNS,) of its core, by direction.
        """
        found: dict[bytes, tuple[Array, Array]] = {}
        yaws = self.yaws(sides)
        for sector in range(0, _TURNS, _SECTOR):
            some = yaws[(yaws >= sector) & (yaws < sector + _SECTOR)]
            if len(some):
                reach = np.min([np.roll(self._reach, yaw) for yaw in some], axis=0)
                least = self.extents[:, some].min(axis=1) - self.diagonal * _STEP / 2.0
                found.setdefault(np.round(reach, 9).tobytes(), (least, reach))
        return list(found.values())

    def depth(self, sides: Array) -> Array:
        """Least extent (_TURNS,) over all yaws, for each direction n.

        The sum of half its rectangle along n, which its centre keeps from the box, and the reach
        of its core from the centre along n.
        """
        x, y = self.extents / 2.0
        least = np.full(_TURNS, np.inf)
        direction = np.arange(_TURNS)
        for yaw in self.yaws(sides):
            along = np.abs(_COS) * x[yaw] + np.abs(_SIN) * y[yaw] + self._reach[direction - yaw]
            np.minimum(least, along, out=least)
        return least


def _at_height(
    uprights: Sequence[Upright], region: Region, taken: Sequence[Footprint], height: float
) -> dict[str, Any] | None:
    things = [
        _Thing(u.size, _core(u.layers, height), _round(u.layers, height), u.inner) for u in uprights
    ]
    boxes = region.boxes
    sides = boxes[:, 1, :2] - boxes[:, 0, :2]
    cores = [core for f in taken if (core := _core(f.layers, height)) is not None]
    used = [sum(_area_within(core, box) for core in cores) for box in boxes]
    room = np.prod(sides, axis=1) - used
    fit = [_boxes_for(thing, region) for thing in things]
    pairs: list[dict[str, Any]] = []
    clash: set[tuple[int, int, int]] = set()
    cache: dict[tuple[bytes, ...], float] = {}  # equal items overlap alike
    for (i, a), (j, b) in combinations(enumerate(things), 2):
        for k in sorted(set(fit[i]) & set(fit[j])):
            key = (*sorted((a.key, b.key)), sides[k].tobytes())
            if key not in cache:
                cache[key] = _overlap(a, b, sides[k])
            overlap = cache[key]
            if overlap > 0.0:
                clash.add((i, j, k))
                pairs.append({"things": [i, j], "part": k, "overlap_m": overlap})
    if np.prod([float(max(1, len(f))) for f in fit]) > _ASSIGNMENTS:
        return None
    proofs: dict[tuple[int, tuple[int, ...]], dict[str, Any] | None] = {}
    for assignment in product(*fit):
        shared = ((i, j) for i, j in _pairs(assignment) if assignment[i] == assignment[j])
        if any((i, j, assignment[i]) in clash for i, j in shared):
            continue
        load = np.zeros(len(boxes))
        for thing, k in zip(things, assignment, strict=True):
            load[k] += thing.area
        if (load > room + _SLACK).any():
            continue
        for k in range(len(boxes)):
            group = tuple(i for i, part in enumerate(assignment) if part == k)
            if (k, group) not in proofs:
                some = [things[i] for i in group]
                proof = _row_too_long(some, sides[k]) or _too_many(some, sides[k])
                proofs[k, group] = proof and {"things": list(group), "part": k, **proof}
            if proofs[k, group] is not None:
                break
        else:
            return None
    return {
        "kind": "packing",
        "region": region.name,
        "at_height_m": height,
        "parts": [
            {"sides_m": [float(v) for v in side], "taken_m2": float(u)}
            for side, u in zip(sides, used, strict=True)
        ],
        "things": [
            {"size_m": [float(v) for v in t.size], "area_m2": t.area, "fits_parts": list(f)}
            for t, f in zip(things, fit, strict=True)
        ],
        "not_together": pairs,
        "rows": [proof for proof in proofs.values() if proof and "axis" in proof],
        "crowds": [proof for proof in proofs.values() if proof and "most" in proof],
    }


def _pairs(assignment: tuple[int, ...]) -> combinations[tuple[int, int]]:
    return combinations(range(len(assignment)), 2)


def _boxes_for(thing: _Thing, region: Region) -> tuple[int, ...]:
    """The boxes into which it may fit alone, at some yaw."""
    found = []
    for k, (lower, upper) in enumerate(region.boxes):
        low = region.kind == "volume" and thing.size[2] > upper[2] - lower[2] + _SLACK
        if not low and len(thing.yaws((upper - lower)[:2])):
            found.append(k)
    return tuple(found)


def _overlap(a: _Thing, b: _Thing, sides: Array) -> float:
    """Least overlap (m) of two items within a box (2,); 0 if they may be apart.

    Two convex shapes at given yaws can be apart exactly if, along some direction n, their centres
    can be further apart than their reaches add up to. Each centre keeps half its rectangle from the
    box, so each item's term is independent of the other's yaw. What yaws between the listed ones
    could add (the slope of each term, times half a step) is subtracted.
    """
    if a.core is None or b.core is None:
        return 0.0
    apart = np.abs(_COS) * sides[0] + np.abs(_SIN) * sides[1]
    needed = a.depth(sides) + np.roll(b.depth(sides), -_TURNS // 2)
    reach = a.radius + b.radius
    # In n: the box's diagonal less the rectangles', and both reaches. In each yaw: its half
    # rectangle, whose two sides' slopes are at most the diagonal, and its reach.
    slope = float(np.hypot(*sides)) + 2.0 * reach + (a.diagonal + b.diagonal) / np.sqrt(2.0)
    least = float((needed - apart).min())
    return float(max(0.0, least - slope * _STEP / 2.0 - _SLACK))


def _too_many(things: Sequence[_Thing], sides: Array) -> dict[str, Any] | None:
    """Figures that prove that circles in the items are too many for a box (2,); None: no proof.

    The k items with the largest circles about their centres hold one of some radius r each, so the
    centres stay 2 r apart, and r from the box's sides. Two can't share a cell with a diagonal below
    2 r, so k is at most the number of cells; nor can it exceed the bound of N. Oler, "An inequality
    in the geometry of numbers", Acta Mathematica 105 (1961), for points in a convex set.
    """
    radii = np.array([thing.inner_radius for thing in things])
    order = np.argsort(-radii, kind="stable")
    for count in range(2, len(things) + 1):
        radius = float(radii[order[count - 1]])
        apart = 2.0 * radius - _SLACK
        if apart <= 0.0:
            return None
        x, y = np.maximum(0.0, sides - 2.0 * radius) / apart
        most = int(2.0 / np.sqrt(3.0) * x * y + x + y + 1.0 + _SLACK)
        for columns in range(int(x) + 1, count):
            across = max(_SLACK, np.sqrt(1.0 - (x / columns) ** 2))  # a cell's other side, at most
            most = min(most, columns * (int(y / across + _SLACK) + 1))
        if most < count:
            return {"circles": count, "radius_m": radius, "most": most}
    return None


def _row_too_long(things: Sequence[_Thing], sides: Array) -> dict[str, Any] | None:
    """Figures that prove that items are too long for a box (2,) in any order; None: no proof.

    Of two items next to each other in the order along an axis, the centres are at least some way
    apart along it: since they can differ little across, the direction that separates the items is
    never far from the axis. The first and the last also keep half their size from the ends.
    """
    if not 3 <= len(things) <= _LONGEST_ROW:
        return None
    if any(thing.core is None for thing in things):
        return None
    turned = [(i, *each) for i, thing in enumerate(things) for each in thing.by_yaw(sides)]
    owners = np.array([i for i, _, _ in turned])
    # Of alike things the first goes first, to save on orders.
    alike = [[j for j in range(i) if things[j].key == things[i].key] for i in range(len(things))]
    before = [np.flatnonzero(np.isin(owners, alike[i])) for i in owners]
    half = np.array([extents for _, extents, _ in turned]) / 2.0
    reach = np.array([each for _, _, each in turned])
    opposite = np.roll(reach, -_TURNS // 2, axis=1)
    # What directions and yaws between the listed ones could add.
    radius = np.array([things[i].radius for i in owners])
    slack = (float(np.hypot(*sides)) + 2.0 * (radius[:, None] + radius)) * _STEP / 2.0 + _SLACK
    for axis, along in enumerate((_COS, _SIN)):
        across = np.abs(_SIN if axis == 0 else _COS)
        room = np.maximum(0.0, sides[1 - axis] - half[:, None, 1 - axis] - half[:, 1 - axis])
        ahead = along > 1e-9
        apart = np.empty((len(turned), len(turned)))
        for k in range(len(turned)):
            beyond = reach[k] + opposite - room[k][:, None] * across - slack[k][:, None]
            least = (beyond[:, ahead] / along[ahead]).min(axis=1)
            # Unless some direction that does not point ahead separates them: side by side.
            apart[k] = np.where((beyond[:, ~ahead] > 0.0).all(axis=1), np.maximum(0.0, least), 0.0)
        needed = _least_length(owners, before, apart, half[:, axis])
        if needed > sides[axis] + _SLACK:
            return {"axis": axis, "least_m": needed, "side_m": float(sides[axis])}
    return None


def _least_length(
    owners: NDArray[np.int64], before: Sequence[NDArray[np.int64]], apart: Array, half: Array
) -> float:
    """Least length of a row of all things, each turned in one of its ways.

    Args:
        owners: the thing (m,) that is turned that way.
        before: for each of the m, which of them must not be left.
        apart: least distance (m, m) along the row from one to another that comes later.
        half: least half size (m,) along the row.
    """
    best, count = np.inf, len(np.unique(owners))

    def extend(left: NDArray[np.bool_], least: Array, end: float, placed_: int) -> None:
        nonlocal best
        if placed_ == count:
            best = min(best, end)
            return
        for k in map(int, np.flatnonzero(left)):
            if len(before[k]) and left[before[k]].any():
                continue
            to = max(end, float(least[k] + half[k]))
            if to < best:
                after = np.maximum(least, least[k] + apart[k])
                extend(left & (owners != owners[k]), after, to, placed_ + 1)

    extend(np.ones(len(owners), bool), half.copy(), 0.0, 0)
    return float(best)


def _core(layers: Sequence[Layer], height: float) -> Array | None:
    """The largest polygon of the layers at a height."""
    found = [layer.polygon for layer in layers if layer.low <= height <= layer.high]
    return max(found, key=area) if found else None


def _round(layers: Sequence[Layer], height: float) -> float:
    """The largest radius (m) of the layers' circles at a height."""
    return max((layer.round for layer in layers if layer.low <= height <= layer.high), default=0.0)


def _heights(layers: Sequence[Layer]) -> list[float]:
    """Heights between the ends of layers, those with the largest total area first."""
    ends = sorted({min(v, 1e3) for layer in layers for v in (layer.low, layer.high)})
    middles = [(a + b) / 2.0 for a, b in pairwise(ends) if b - a > 1e-6]
    middles.sort(key=lambda z: -sum(area(p.polygon) for p in layers if p.low <= z <= p.high))
    return middles[:_HEIGHTS] or [0.0]


def _area_within(polygon: Array, box: Array) -> float:
    """Area (m^2) of a polygon (n, 2) clipped to a box."""
    import shapely

    return float(shapely.clip_by_rect(shapely.Polygon(polygon), *box[:, :2].ravel()).area)
