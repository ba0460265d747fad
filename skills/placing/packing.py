"""Whether several items fit into a region together: an arrangement, a proof that not, or neither.

The proof: the bounding rectangle of each item must lie within one of the region's boxes, and no two
items may overlap at any height. For one height it shows that every assignment of the items to the
boxes fails: by areas, by sizes, since two items overlap at all yaws, or since all of them take more
than the box's length in whatever order they stand along it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, pairwise, permutations, product
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
_ALONG = np.abs([_COS, _SIN])
_HEIGHTS = 5  # heights tried, at most
_LONGEST_ROW = 6  # items whose orders along a box are examined
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
    box, with their least overlap in metres; and which items are too long for an ``axis`` of a box
    (``rows``), with the least length that they take in any order. No assignment of items to boxes
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


@dataclass(frozen=True, eq=False)
class _Thing:
    """An item at one height.

    Attributes:
        size: bounding box (3,).
        rim: polygon (n, 2) that must lie within a box of the region: its bounding rectangle, or of
            a composite what it surely fills.
        core: polygon (n, 2) that it fills at that height, or None.
    """

    size: Array
    rim: Array
    core: Array | None
    _depths: dict[tuple[bytes, tuple[int, ...]], Array] = field(default_factory=dict)

    @classmethod
    def at(cls, upright: Upright, height: float) -> _Thing:
        """The upright item at a height above its floor, metres."""
        return cls(upright.size, upright.rim, _core(upright.layers, height))

    @property
    def area(self) -> float:
        """Of the core, m^2."""
        return 0.0 if self.core is None else area(self.core)

    @property
    def diagonal(self) -> float:
        """Of its bounding rectangle, m."""
        return float(np.hypot(*self.size[:2]))

    @property
    def radius(self) -> float:
        """Of the circle about its centre that holds its core, m."""
        return 0.0 if self.core is None else float(np.hypot(*self.core.T).max())

    @cached_property
    def half(self) -> Array:
        """How far (2, _TURNS) it surely reaches from its centre to either side of a box, by yaw."""
        x = _reach(self.rim)
        x = np.minimum(x, np.roll(x, _TURNS // 2))[-np.arange(_TURNS)]
        return np.stack([x, np.roll(x, -_TURNS // 4)])

    def yaws(self, sides: Array) -> NDArray[np.int64]:
        """Indices of the yaws at which it fits into a box (2,), or nearly.

        They include the nearest to every yaw at which it fits: the slope of a side is at most the
        diagonal.
        """
        slack = self.diagonal * _STEP / 2.0 + _SLACK
        return np.flatnonzero((2.0 * self.half <= sides[:, None] + slack).all(axis=0))

    def depth(self, sides: Array, axes: Sequence[int]) -> Array:
        """Least extent (_TURNS,) over all yaws in a box (2,), for each direction n.

        The sum of the reach of its core from its centre along n, and of what its centre keeps from
        the box along those of the ``axes``, taken along n.
        """
        assert self.core is not None
        key = (sides.tobytes(), tuple(axes))
        if key not in self._depths:
            reach, least = _reach(self.core), np.full(_TURNS, np.inf)
            for yaw in self.yaws(sides):
                kept = sum(_ALONG[axis] * self.half[axis, yaw] for axis in axes)
                np.minimum(least, np.roll(reach, yaw) + kept, out=least)
            self._depths[key] = least
        return self._depths[key]


def _at_height(
    uprights: Sequence[Upright], region: Region, taken: Sequence[Footprint], height: float
) -> dict[str, Any] | None:
    things = [_Thing.at(upright, height) for upright in uprights]
    boxes = region.boxes
    sides = boxes[:, 1, :2] - boxes[:, 0, :2]
    cores = [core for f in taken if (core := _core(f.layers, height)) is not None]
    used = [sum(_area_within(core, box) for core in cores) for box in boxes]
    room = np.prod(sides, axis=1) - used
    fit = [_boxes_for(thing, region) for thing in things]
    if np.prod([float(max(1, len(f))) for f in fit]) > _ASSIGNMENTS:
        return None
    proofs: dict[tuple[int, tuple[int, ...]], dict[str, Any] | None] = {}

    def refuted(part: int, group: tuple[int, ...]) -> bool:
        """Whether the things of a group can't stand in one box together."""
        if sum(things[i].area for i in group) > room[part] + _SLACK:
            return True
        for some in (*combinations(group, 2), group):
            if (part, some) not in proofs:
                proofs[part, some] = _refutation([things[i] for i in some], sides[part])
            if proofs[part, some] is not None:
                return True
        return False

    for assignment in product(*fit):
        groups = [tuple(i for i, p in enumerate(assignment) if p == k) for k in range(len(boxes))]
        if not any(refuted(part, group) for part, group in enumerate(groups)):
            return None
    found = [
        {"things": list(group), "part": part, **proof}
        for (part, group), proof in proofs.items()
        if proof is not None
    ]
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
        "not_together": [proof for proof in found if "overlap_m" in proof],
        "rows": [proof for proof in found if "axis" in proof],
    }


def _boxes_for(thing: _Thing, region: Region) -> tuple[int, ...]:
    """The boxes into which it may fit alone, at some yaw."""
    found = []
    for k, (lower, upper) in enumerate(region.boxes):
        low = region.kind == "volume" and thing.size[2] > upper[2] - lower[2] + _SLACK
        if not low and len(thing.yaws((upper - lower)[:2])):
            found.append(k)
    return tuple(found)


def _refutation(things: Sequence[_Thing], sides: Array) -> dict[str, Any] | None:
    """Figures that prove that items can't stand in a box (2,) together; None: no proof.

    Two convex shapes can be apart exactly if, along some direction n, their centres can be further
    apart than their reaches add up to. Each centre keeps some way from the box, so each item's term
    is independent of the other's yaw.
    """
    if len(things) < 2 or any(thing.core is None for thing in things):
        return None
    # What directions and yaws between the listed ones could add: the slope in n is at most the
    # box's diagonal and both reaches; in each yaw, its rectangle's and its reach.
    slope = float(np.hypot(*sides)) + 2.0 * sum(sorted(thing.radius for thing in things)[-2:])
    slope += sum(sorted(thing.diagonal for thing in things)[-2:]) / np.sqrt(2.0)
    slack = slope * _STEP / 2.0 + _SLACK
    if len(things) == 2:
        a, b = (thing.depth(sides, (0, 1)) for thing in things)
        overlap = float((a + _opposite(b) - sides @ _ALONG).min()) - slack
        return {"overlap_m": overlap} if overlap > 0.0 else None
    if len(things) > _LONGEST_ROW:
        return None
    for axis in (0, 1):
        least = _least_row(things, sides, axis, slack)
        if least > sides[axis] + _SLACK:
            return {"axis": axis, "least_m": least, "side_m": float(sides[axis])}
    return None


def _least_row(things: Sequence[_Thing], sides: Array, axis: int, slack: float) -> float:
    """Least length (m) along an axis of a box (2,) that items take, in whatever order they stand.

    The centres of two next to each other in that order are at least some way apart along the axis:
    since they can differ little across, the direction that separates the items is never far from
    the axis. The first and the last also keep their way from the ends.
    """
    depths = [thing.depth(sides, (1 - axis,)) for thing in things]
    ends = [float(thing.half[axis, thing.yaws(sides)].min()) - slack for thing in things]
    n = (_COS, _SIN)[axis]
    ahead = n > 1e-9
    apart = {}
    for i, j in permutations(range(len(things)), 2):  # j is ahead of i
        beyond = depths[i] + _opposite(depths[j]) - sides[1 - axis] * _ALONG[1 - axis] - slack
        beside = (beyond[~ahead] <= 0.0).any()
        apart[i, j] = 0.0 if beside else max(0.0, float((beyond[ahead] / n[ahead]).min()))
    return min(
        ends[order[0]] + sum(apart[pair] for pair in pairwise(order)) + ends[order[-1]]
        for order in permutations(range(len(things)))
    )


def _reach(polygon: Array) -> Array:
    """How far (_TURNS,) a polygon (n, 2) reaches from the origin, by direction."""
    return np.asarray((np.stack([_COS, _SIN], axis=1) @ polygon.T).max(axis=1))


def _opposite(by_direction: Array) -> Array:
    return np.roll(by_direction, -_TURNS // 2)


def _core(layers: Sequence[Layer], height: float) -> Array | None:
    """The largest polygon of the layers at a height."""
    found = [layer.polygon for layer in layers if layer.low <= height <= layer.high]
    return max(found, key=area) if found else None


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
