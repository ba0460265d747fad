"""Whether several items fit into a region together: an arrangement, a proof of none, or neither.

The conditions: the bounding rectangle of each item lies within one of the region's boxes, and no
two items overlap at any height. The proof shows for one height that every assignment of the items
to the boxes fails: the areas are too large, or some items have no arrangement in a box together
(``arrangements``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, islice, pairwise, product
from typing import Any

import numpy as np

from galley.domain.frames import Array
from galley.domain.scene.model import Item, Region
from galley.domain.scene.stable_poses import allowed_poses
from galley.skills.placing.arrangements import TOUCHING, Outline, arrange
from galley.skills.placing.footprints import Footprint, Layer, Upright, area, gaps, padded, placed

GAP = 0.005  # m, least gap between neighbours
_GAPS = (0.01, GAP)  # m, gaps between packed items; the second is tried where room is scarce
_FEW = 8  # greedy packings with each gap before a proof is tried
_TRIES = 40  # greedy packings before the answer is "not found"
_CHUNK = 48  # spots checked together
_HEIGHTS = 5  # heights tried for a proof, at most
_MOST, _BESIDE = 6, 12  # most items arranged together, and most that stand there already
_PAIRS = 200_000  # pairs of items compared for that, at most
_ASSIGNMENTS = 4096  # assignments of items to boxes that are examined, at most
_POSES = 81  # combinations of ways in which items may lie that are examined, at most
_SLACK = 1e-9


def packable(
    items: Sequence[Item],
    region: Region,
    taken: Sequence[Footprint],
    rng: np.random.Generator,
) -> bool | None:
    """Whether upright items fit into a region together.

    Args:
        items: the items.
        region: the region in whose boxes they must stand.
        taken: footprints of the things that stand there and stay.
        rng: the source of randomness.

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
    """Figures that prove that the items don't fit into the region together; None if none do.

    The certificate has, for each box of the region (``parts``), its sides and the area taken there
    ``at_height_m``; for each item, its size, its area and outline at that height, and the boxes
    that it fits into alone; and the groups that can't share a box (``not_together``), with the
    number of ``cells`` into which their poses were divided to prove it. No assignment of the items
    to the boxes respects all of this.
    """
    things = [Upright.of(item) for item in items]
    layers = [layer for thing in things for layer in thing.layers]
    layers += [layer for footprint in taken for layer in footprint.layers]
    for height in _heights(layers):
        certificate = _at_height(things, region, taken, height)
        if certificate is not None:
            return certificate
    return None


def in_every_pose(
    items: Sequence[Item], prove: Callable[[Sequence[Item]], dict[str, Any] | None]
) -> dict[str, Any] | None:
    """A certificate that holds for every way in which items may lie; None if one has no proof.

    Args:
        items: the items.
        prove: returns a certificate for items that stand upright, or None.
    """
    proofs = []
    for turned in turned_together(items):
        proof = None if turned is None else prove(turned)
        if proof is None:
            return None
        proofs.append(proof)
    return proofs[0] if len(proofs) == 1 else {**proofs[0], "in_every_pose": proofs}


def turned_together(items: Sequence[Item]) -> Iterator[Sequence[Item] | None]:
    """Yield the items turned in each way in which they may lie; None last if there are too many.

    Faces on which an item has the same bounding box count once, except for composite items.
    """
    ways = []
    for item in items:
        poses = reversed(allowed_poses(item))
        alike = {p if item.composite else p.box: p.item for p in poses}
        ways.append(list(alike.values())[::-1])
    yield from islice(product(*ways), _POSES)
    if math.prod(map(len, ways)) > _POSES:
        yield None


def pack(
    things: Sequence[Upright],
    region: Region,
    taken: Sequence[Array],
    gap: float,
    rng: np.random.Generator,
    tries: int,
) -> Array | None:
    """Poses x, y, yaw and box (n, 4) for all items, at least ``gap`` (m) apart; None if not found.

    Each of the greedy ``tries`` places one item after the other, the larger ones mostly first, at
    the free spot that is farthest towards a random corner. For the smallest gap a search over all
    yaws follows, with all items in one box.
    """
    poses = np.empty((len(things), 4))
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
                break
            poses[k] = row
            polygons.append(placed(things[k].outline, row[None])[0])
        else:
            return poses
        if len(polygons) == len(taken):
            break  # the first item doesn't fit alone: no other order helps
    return _at_any_yaw(things, region, taken, gap) if gap == GAP else None


def _at_any_yaw(
    things: Sequence[Upright], region: Region, taken: Sequence[Array], gap: float
) -> Array | None:
    """``pack`` by a search over all positions and yaws, with all items in the same box."""
    shapes = [(_grown(thing.outline, gap), thing.outline) for thing in things]
    grown, tallest = [_grown(p, gap) for p in taken], max(thing.size[2] for thing in things)
    for k, box in enumerate(region.boxes):
        if region.kind == "volume" and tallest > box[1, 2] - box[0, 2] + _SLACK:
            continue
        fixed = [p - box[0, :2] for p in grown if _area_within(p, box) > 0.0]
        poses = _arranged(shapes, fixed, (box[1] - box[0])[:2])
        if isinstance(poses, np.ndarray):
            corner = [*box[0, :2], 0.0]
            return np.column_stack([poses + corner, np.full(len(poses), float(k))])
    return None


def tight_spots(
    thing: Upright,
    region: Region,
    others: Sequence[Array],
    distances: Sequence[float],
    insets: Sequence[float],
    rng: np.random.Generator,
) -> Array:
    """Spots x, y, yaw and box (m, 4) next to the region's sides and to other items.

    The item is parallel to the sides. In each coordinate it is one of the ``insets`` (m) from a
    side of the region, or one of the ``distances`` (m) from another item's bounding box; one
    coordinate may be random. The spots need not be free.
    """
    boxes = region.boxes[:, :, :2]
    if region.kind == "volume" and thing.size[2] > np.ptp(region.boxes[0, :, 2]) + 1e-9:
        return np.empty((0, 4))
    low_high = np.array([(p.min(axis=0), p.max(axis=0)) for p in others]).reshape(-1, 2, 2)
    batches = []
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
            batches.append(spots)
    return np.concatenate(batches) if batches else np.empty((0, 4))


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


def _at_height(
    uprights: Sequence[Upright], region: Region, taken: Sequence[Footprint], height: float
) -> dict[str, Any] | None:
    """The certificate from one height (m), or None.

    Each item fills a core at this height, or nothing. An assignment of the items to the boxes is
    refuted if the cores in a box have a larger area than its room, or if one, two or all of them
    have no arrangement there. The items don't fit if all assignments are refuted.
    """
    cores = [_core(upright.layers, height) for upright in uprights]
    areas = [0.0 if core is None else area(core) for core in cores]
    boxes = region.boxes
    sides = boxes[:, 1, :2] - boxes[:, 0, :2]
    found = [core for f in taken if (core := _core(f.layers, height)) is not None]
    stuck = [[c - box[0, :2] for c in found if _area_within(c, box) > 0.0] for box in boxes]
    used = [sum(_area_within(c, box) for c in found) for box in boxes]
    room = np.prod(sides, axis=1) - used
    fit = [_boxes_for(upright, region) for upright in uprights]
    if np.prod([float(max(1, len(f))) for f in fit]) > _ASSIGNMENTS:
        return None
    proofs: dict[tuple[int, tuple[int, ...]], int | None] = {}

    def cells(part: int, group: tuple[int, ...]) -> int | None:
        """How many cells prove that a group of items can't share a box; None without a proof."""
        if (part, group) not in proofs:
            shapes = [(c, uprights[i].rim) for i in group if (c := cores[i]) is not None]
            answer = _arranged(shapes, stuck[part], sides[part])
            proofs[part, group] = answer if isinstance(answer, int) else None
        return proofs[part, group]

    def refuted(part: int, group: tuple[int, ...]) -> bool:
        """Whether a group of items surely doesn't fit into a box."""
        if sum(areas[i] for i in group) > room[part] + _SLACK:
            return True
        some = (g for size in (1, 2) for g in combinations(group, size))
        return any(cells(part, g) is not None for g in (*some, group))

    for assignment in product(*fit):
        groups = [tuple(i for i, p in enumerate(assignment) if p == k) for k in range(len(boxes))]
        if not any(refuted(part, group) for part, group in enumerate(groups)):
            return None
    return {
        "kind": "packing",
        "region": region.name,
        "at_height_m": height,
        "parts": [
            {
                "sides_m": [float(v) for v in side],
                "taken_m2": float(u),
                "taken_m": [core.tolist() for core in there],
            }
            for side, u, there in zip(sides, used, stuck, strict=True)
        ],
        "things": [
            {
                "size_m": [float(v) for v in thing.size],
                "area_m2": extent,
                "outline_m": [] if core is None else core.tolist(),
                "fits_parts": list(parts),
            }
            for thing, core, extent, parts in zip(uprights, cores, areas, fit, strict=True)
        ],
        "not_together": [
            {"things": list(group), "part": part, "cells": count}
            for (part, group), count in proofs.items()
            if count is not None
        ],
    }


def _boxes_for(thing: Upright, region: Region) -> tuple[int, ...]:
    """Indices of the boxes into which an item may fit alone, at some yaw."""
    boxes = []
    for k, (lower, upper) in enumerate(region.boxes):
        low = region.kind == "volume" and thing.size[2] > upper[2] - lower[2] + _SLACK
        alone = [(thing.rim, thing.rim)]
        if not low and not isinstance(_arranged(alone, (), (upper - lower)[:2]), int):
            boxes.append(k)
    return tuple(boxes)


def _arranged(
    shapes: Sequence[tuple[Array, Array]], fixed: Sequence[Array], sides: Array
) -> Array | int | None:
    """``arrange`` for pairs of body and rim; None if there are too many shapes, or none.

    Args:
        fixed: polygons (n, 2) that no body may overlap.
        sides: sides of the box (2,), m.
    """
    if not 0 < len(shapes) <= _MOST or len(fixed) > _BESIDE:
        return None
    known = tuple(Outline.of(body, rim) for body, rim in shapes)
    others = tuple(polygon.tobytes() for polygon in fixed)
    return arrange(known, others, (float(sides[0]), float(sides[1])), _PAIRS)


def _core(layers: Sequence[Layer], height: float) -> Array | None:
    """The largest polygon that layers fill at a height (m); None if they fill nothing there."""
    polygons = [layer.polygon for layer in layers if layer.low <= height <= layer.high]
    return max(polygons, key=area) if polygons else None


def _grown(polygon: Array, gap: float) -> Array:
    """The polygon (n, 2) with its edges moved out, so that two that touch are ``gap`` apart."""
    import shapely

    grown = shapely.buffer(shapely.Polygon(polygon), (gap + TOUCHING) / 2.0, join_style="mitre")
    return np.array(grown.normalize().exterior.coords)[:0:-1]


def _heights(layers: Sequence[Layer]) -> list[float]:
    """A few heights (m) between the ends of layers, those with the largest total area first."""
    ends = sorted({min(v, 1e3) for layer in layers for v in (layer.low, layer.high)})
    middles = [(a + b) / 2.0 for a, b in pairwise(ends) if b - a > 1e-6]
    middles.sort(key=lambda z: -sum(area(p.polygon) for p in layers if p.low <= z <= p.high))
    return middles[:_HEIGHTS] or [0.0]


def _area_within(polygon: Array, box: Array) -> float:
    """Area (m^2) of a polygon (n, 2) clipped to a box."""
    import shapely

    return float(shapely.clip_by_rect(shapely.Polygon(polygon), *box[:, :2].ravel()).area)
