"""Whether several things can stand in a region together: an arrangement, a proof, or neither."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from galley.domain.frames import Array
from galley.domain.scene import Item, Region
from galley.skills.footprints import Footprint, Upright, gaps, padded, placed
from galley.skills.packing_proof import disproof

GAP = 0.005  # m, the least between two things that stand side by side
_GAPS = (0.03, 0.01)  # m, left between things that are packed: for fingers; where room is scarce
_TRIES = 40  # greedy packings before the answer is "not found"
_CHUNK = 48  # spots checked at a time


def packable(
    sizes: Sequence[Array | Item],
    region: Region,
    taken: Sequence[Footprint],
    rng: np.random.Generator,
) -> bool | None:
    """Whether upright things find room in a region beside what is there.

    Args:
        sizes: items, or sizes (x, y) or (x, y, height) of boxes.
        taken: what stands there already and stays.

    Returns:
        True: an arrangement was found. False: there is none, which ``packing_certificate`` proves.
        None: none was found.
    """
    things = [_upright(size) for size in sizes]
    polygons = [footprint.outline for footprint in taken]
    # A short search first: the proof takes longer than it.
    for gap, tries in ((_GAPS[1], 8), (GAP, 8)):
        if pack(things, region, polygons, gap, rng, tries) is not None:
            return True
    if disproof(things, region, taken) is not None:
        return False
    return True if pack(things, region, polygons, GAP, rng, _TRIES) is not None else None


def packing_certificate(
    sizes: Sequence[Array | Item], region: Region, taken: Sequence[Footprint] = ()
) -> dict[str, Any] | None:
    """The figures that prove that the things can't all stand in the region; None: no proof.

    They say for each part of the region (``parts``) its sides and the area that is taken; for each
    thing its size, the area that it covers ``at_height_m`` and the parts that it fits into alone;
    and which two can't share a part, with by how many metres they overlap at the least. No way of
    spreading the things over the parts respects all of these.
    """
    return disproof([_upright(size) for size in sizes], region, taken)


def pack(
    things: Sequence[Upright],
    region: Region,
    taken: Sequence[Array],
    gap: float,
    rng: np.random.Generator,
    tries: int,
) -> Array | None:
    """Poses (n, 4) of x, y, yaw and box for all things, at least ``gap`` apart; None: not found.

    Each try puts one after the other, larger ones rather earlier, into the free spot that lies
    furthest towards a corner drawn at random.
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
                    return None  # not even this one, so that no other order helps
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
    """Spots (m, 4) of x, y, yaw and box, square to the region, at its corners and at others.

    Each coordinate is where the thing stands ``insets`` metres off a side of the region, or
    ``distances`` metres beside another's bounding box; one of the two may be drawn at random.
    Whether a spot is free is not looked at.
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
    """The first of the spots (m, 4) at which the thing keeps the gap to all polygons."""
    if not polygons:
        return spots[0] if len(spots) else None
    others = padded(list(polygons))
    for begin in range(0, len(spots), _CHUNK):
        chunk = spots[begin : begin + _CHUNK]
        free = gaps(placed(thing.outline, chunk), others).min(axis=1) >= gap - 1e-9
        if free.any():
            return np.asarray(chunk[int(np.argmax(free))])
    return None


def _upright(thing: Array | Item) -> Upright:
    return Upright.of(thing) if isinstance(thing, Item) else Upright.box(np.asarray(thing))
