"""Sampling of placements: poses in a region, clear of other items, with room for later ones.

Only footprints are checked here, not whether the robot can reach the poses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from galley.domain.frames import Array, frozen, rotation_z, transform
from galley.domain.scene.model import Item, Region, Scene, Spot
from galley.domain.scene.stable_poses import StablePose, allowed_poses
from galley.domain.state import State
from galley.skills.placing.footprints import (
    Footprint,
    Upright,
    furniture_on,
    gaps,
    moving_with,
    padded,
    placed,
    solid_furniture,
)
from galley.skills.placing.packing import GAP, pack, tight_spots

FINGERS = 0.025  # m, a gap with room for a finger beside the item
_DISTANCES = (0.03, 0.01)  # m, distances of tight spots from other items
_INSETS = (0.0, 0.02)  # m, distances of tight spots from the region's sides
_FIRST, _BATCH = 8, 24  # poses drawn together, at first and later
_IDLE = 12  # batches in a row without a free pose, after which the sampling ends
_RESORT = 3  # batches in a row without a free pose, after which all tight spots are tried
_SEVERAL = 4  # batches in a row without room for later items, after which these are ignored
_ENOUGH = 60  # poses yielded, after which poses without room for later items follow, too
_KEPT = 12  # arrangements of the later items that are cached
_PACKS = 2  # packings tried for a pose that fits no cached arrangement
_ARRANGED = (2, 4, 8)  # packings of all items tried with wide, narrow and smallest gaps
_VAIN = 3  # failures in a row to arrange all items, after which that isn't tried again
_RARE = 0.1  # share of poses without room for fingers, while there are others
HEADROOM = 0.20  # m that the hand needs above a volume
_UPRIGHT = 3  # upright placements for each one in which the item lies on a face
_LEAST = 0.02  # m, narrower strips are ignored


@dataclass(frozen=True)
class LaterItem:
    """An item that a later action puts into the region.

    Attributes:
        item: the item.
        spot: its exact place; None if it may stand anywhere in the region.
    """

    item: Item
    spot: Spot | None = None

    def footprint(self, region: Region) -> Footprint:
        """The item's footprint at its spot in a region, with yaw 0 if the spot gives none."""
        assert self.spot is not None
        pose = np.array([[*self.spot.xy, self.spot.yaw or 0.0]])
        outline = Upright.of(_smallest(self.item, region)).outline
        return Footprint(placed(outline, pose)[0], self.item.name)


def placements_in(
    scene: Scene,
    state: State,
    poses: Sequence[StablePose],
    region: Region,
    later: Sequence[LaterItem],
    spot: Spot | None,
    rng: np.random.Generator,
) -> Iterator[Array]:
    """Poses X_BI (4, 4) of an item in a region in ``state``, mostly where no furniture is above it.

    Args:
        scene: the scene.
        state: where everything is.
        poses: the ways in which it may lie, which take turns; upright ones come more often.
        region: the region; B is the frame of its body.
        later: items that later actions put into the region.
        spot: the exact place; None for anywhere.
        rng: the source of randomness.
    """

    def upright(item: Item) -> Iterator[Array]:
        """Placements of an item, turned so that it stands upright as it may lie."""
        found = (Footprint.from_item(scene, state, k, region) for k in range(len(scene.items)))
        taken = [footprint for footprint in found if footprint is not None]
        taken += furniture_on(scene, state.scene_q, region, float(item.size[2]))
        loose = [_smallest(each.item, region) for each in later if each.spot is None]
        reserved = [each.footprint(region) for each in later if each.spot is not None]
        anywhere = placements(item, region, taken, loose, spot, rng)
        if reserved:
            # Keep the exact places of later items clear, if that leaves any placement.
            clear = placements(item, region, [*taken, *reserved], loose, spot, rng)
            first = next(clear, None)
            if first is not None:
                taken, anywhere = [*taken, *reserved], chain((first,), clear)
        open_to_above = exposed_part(scene, state, region) if spot is None else None
        if open_to_above is None:
            yield from anywhere
            return
        # The part that isn't under a worktop is easier to reach; the rest may do for small items.
        shares = (placements(item, open_to_above, taken, loose, spot, rng),) * 3 + (anywhere,)
        yield from _in_turn(shares)

    ways = []
    for pose in poses:
        way = upright(pose.item)
        if pose.down[2] < -0.5:  # upright
            ways += [way] * (_UPRIGHT if len(poses) > 1 else 1)
        else:
            ways.append(map(partial(_turned, transform(pose.R_SI, np.zeros(3))), way))
    return _in_turn(ways)


def _turned(X_SI: Array, X_BS: Array) -> Array:
    """The pose X_BI (4, 4) of an item, from the pose X_BS of the item as turned by X_SI."""
    return np.asarray(X_BS @ X_SI)


def _smallest(item: Item, region: Region) -> Item:
    """The item turned to the pose with the smallest footprint in which it may lie in a region."""
    turned = [pose.item for pose in allowed_poses(item)]
    low = [i for i in turned if region.kind == "surface" or not _too_tall(i, region).all()]
    return min(low or turned, key=lambda i: float(np.prod(i.size[:2])))


def _too_tall(item: Item, region: Region) -> NDArray[np.bool_]:
    """For each box of a volume, whether an upright item is higher than it: (k,)."""
    return np.asarray(item.size[2] > region.boxes[:, 1, 2] - region.boxes[:, 0, 2] + 1e-9)


def _in_turn(ways: Sequence[Iterator[Array]]) -> Iterator[Array]:
    """Take one pose from each iterator in turn, until all have ended."""
    left = list(ways)
    while left:
        for way in tuple(left):
            pose = next(way, None)
            if pose is None:
                left.remove(way)
            else:
                yield pose


def placements(
    item: Item,
    region: Region,
    taken: Sequence[Footprint],
    later: Sequence[Item],
    spot: Spot | None,
    rng: np.random.Generator,
) -> Iterator[Array]:
    """Poses X_BI (4, 4) of the upright item, its footprint within one of the region's boxes.

    Endless, unless no free pose is found any more. All poses keep 5 mm from the things that stand
    there; most keep enough for the fingers, if possible. Poses that leave room for later items come
    first.

    Args:
        item: the item to be placed.
        region: the region; B is the frame of its body.
        taken: footprints of the things that stand there.
        later: items that later actions put into the same region.
        spot: the exact place, with or without yaw. On a surface the footprint may then stick out
            of the region, if no yaw keeps it inside.
        rng: the source of randomness.
    """
    thing = Upright.of(item)
    boxes = region.boxes
    if region.kind == "volume" and _too_tall(item, region).all():
        return
    polygons = [footprint.outline for footprint in taken]
    draw = _PoseSampler(thing, region, polygons, spot, rng)
    room = _RoomForLater([Upright.of(other) for other in later], region, polygons, rng)
    idle = full = yielded = 0
    while idle < _IDLE:
        poses = draw.batch(idle == yielded == 0, idle == _RESORT, room)
        idle = 0 if len(poses) else idle + 1
        # Hold back poses without room for later items, until there seem to be no others.
        if later and len(poses):
            leaves = room.left(thing, poses)
            full = 0 if leaves.any() else full + 1
            if full < _SEVERAL and yielded < _ENOUGH:
                poses = poses[leaves]
            else:
                poses = np.concatenate([poses[leaves], poses[~leaves]])
        for x, y, yaw, k in poses:
            yielded += 1
            height = float(boxes[int(k), 0, 2]) + float(item.size[2]) / 2.0
            yield transform(rotation_z(float(yaw)), (x, y, height))


@dataclass
class _PoseSampler:
    """Samples free poses (x, y, yaw, box) of an item in a region.

    Attributes:
        thing: the upright item.
        region: the region.
        taken: outlines of the things that stand there.
        spot: the exact place, or None.
        rng: the source of randomness.
        unlucky: whether few poses of the last batch were free, so that tight spots are tried, too.
    """

    thing: Upright
    region: Region
    taken: list[Array]
    spot: Spot | None
    rng: np.random.Generator
    unlucky: bool = False

    def batch(self, first: bool, resort: bool, room: _RoomForLater) -> Array:
        """Free poses (m, 4), possibly none; most have room for the fingers.

        Args:
            first: whether nothing was yielded yet.
            resort: whether to try an arrangement of all items, as a last resort.
            room: arranges the later items.
        """
        poses = self._anywhere(_FIRST if first else _BATCH)
        arranged = 0
        if self.spot is None:
            parts = [poses]
            if self.unlucky:
                near = tight_spots(
                    self.thing, self.region, self.taken, _DISTANCES, _INSETS, self.rng
                )
                near[:, 2] += np.pi * self.rng.integers(2, size=len(near))
                parts.insert(0, self.rng.permutation(near)[: 2 * _BATCH])
            if resort or (room.later and (self.unlucky or first)):
                parts.insert(0, room.arranged(self.thing))
                arranged = len(parts[0])
            poses = np.concatenate(parts)
        drawn = max(1, len(poses))
        if self.taken and len(poses):
            others = padded(self.taken)
            gap = gaps(placed(self.thing.outline, poses), others).min(axis=1)
            wide = gap >= FINGERS
            # Keep few poses without room for a finger, and the one with room for later items.
            if wide.any():
                tight = (gap >= GAP) & (self.rng.random(len(poses)) < _RARE)
                tight[:arranged] = gap[:arranged] >= GAP
                poses = poses[wide | tight]
            else:
                poses = poses[gap >= GAP]
        self.unlucky = len(poses) < 0.25 * drawn
        return poses

    def _anywhere(self, count: int) -> Array:
        """Poses (m, 4), m <= count, uniform in the region; half of them parallel to its sides."""
        rng, boxes = self.rng, self.region.boxes[:, :, :2]
        squares = rng.integers(4, size=count) * (np.pi / 2.0)
        yaw = np.where(rng.random(count) < 0.5, squares, rng.uniform(-np.pi, np.pi, count))
        if self.spot is not None:
            return self._at_spot(self.spot, yaw)
        areas = np.prod(boxes[:, 1] - boxes[:, 0], axis=1)
        k = rng.choice(len(areas), count, p=areas / areas.sum())
        low, high = self._centres(yaw, k)
        xy = low + rng.random((count, 2)) * (high - low)
        return np.column_stack([xy, yaw, k])[(low <= high).all(axis=1)]

    def _at_spot(self, spot: Spot, yaw: Array) -> Array:
        """Poses (m, 4) at an exact place, at the yaws (n,) at which the item stays inside a box.

        If there are none on a surface, all those over a box: there the item may stick out.
        """
        yaw = yaw[:1] * 0.0 + spot.yaw if spot.yaw is not None else yaw
        poses = np.empty((0, 4))
        for k in range(len(self.region.boxes)):
            low, high = self._centres(yaw, np.full(len(yaw), k))
            fits = ((spot.xy >= low - 1e-9) & (spot.xy <= high + 1e-9)).all(axis=1)
            rows = np.column_stack([np.tile(spot.xy, (len(yaw), 1)), yaw, np.full(len(yaw), k)])
            if fits.any():
                return np.asarray(rows[fits])
            over = (spot.xy >= self.region.boxes[k, 0, :2]).all()
            over &= (spot.xy <= self.region.boxes[k, 1, :2]).all()
            if over and self.region.kind == "surface":
                poses = rows
        return poses

    def _centres(self, yaw: Array, k: NDArray[np.int64]) -> tuple[Array, Array]:
        """Lowest and highest x, y (m, 2) of the centre, for each yaw (m,) and its box (m,)."""
        if self.thing.composite:
            turned = placed(self.thing.outline, np.column_stack([0.0 * yaw, 0.0 * yaw, yaw]))
            lower, upper = self.region.boxes[k, :, :2].swapaxes(0, 1)
            return lower - turned.min(axis=1), upper - turned.max(axis=1)
        c, s = np.abs(np.cos(yaw)), np.abs(np.sin(yaw))
        x, y = self.thing.size[:2] / 2.0
        half = np.stack([c * x + s * y, s * x + c * y], axis=1)
        # The cosine of a quarter turn is 1e-17, not 0: an exact fit must fit at all of them.
        low, high = self.region.boxes[k, 0, :2] + half, self.region.boxes[k, 1, :2] - half
        return low, np.where(np.abs(high - low) < 1e-9, low, high)


@dataclass
class _RoomForLater:
    """Checks whether later items still find room.

    Attributes:
        later: the later items, upright.
        region: the region.
        taken: outlines of the things that stand there.
        rng: the source of randomness.
        failures: how often in a row no arrangement of all items was found.
        known: arrangements of the later items found so far, polygons (n, v, 2) each.
    """

    later: list[Upright]
    region: Region
    taken: list[Array]
    rng: np.random.Generator
    failures: int = 0
    known: list[Array] = field(default_factory=list)

    def arranged(self, thing: Upright) -> Array:
        """The pose (1, 4) of the item in an arrangement with all later ones, or none (0, 4)."""
        if self.failures == _VAIN:
            return np.empty((0, 4))
        for gap, tries in zip((*_DISTANCES, GAP), _ARRANGED, strict=True):
            poses = pack([thing, *self.later], self.region, self.taken, gap, self.rng, tries)
            if poses is not None:
                self.failures = 0
                if self.later:
                    self._remember(poses[1:])
                return poses[:1]
        self.failures += 1
        return np.empty((0, 4))

    def left(self, thing: Upright, poses: Array) -> NDArray[np.bool_]:
        """Which poses (m, 4) of the item leave an arrangement of the later ones: (m,)."""
        polygons = placed(thing.outline, poses)
        leaves = np.zeros(len(poses), dtype=bool)
        # A pose is good if it is clear of all items of any known arrangement.
        if self.known:
            n = len(self.later)
            clear = gaps(polygons, np.concatenate(self.known)) >= GAP
            compatible = np.all(clear.reshape(len(poses), -1, n), axis=2)
            leaves |= np.any(compatible, axis=1)
        # For some of the others look for a new arrangement.
        for row in np.flatnonzero(~leaves)[:_PACKS]:
            taken = [*self.taken, polygons[row]]
            packed = pack(self.later, self.region, taken, _DISTANCES[1], self.rng, 1)
            if packed is not None:
                leaves[row] = True
                self._remember(packed)
        return leaves

    def _remember(self, poses: Array) -> None:
        """Cache the outlines of the later items at these poses (n, 4), and forget the oldest."""
        shown = [placed(t.outline, p[None])[0] for t, p in zip(self.later, poses, strict=True)]
        self.known = [*self.known[-_KEPT + 1 :], padded(shown)]


def exposed_part(scene: Scene, state: State, region: Region) -> Region | None:
    """The part of a volume that has no furniture within ``HEADROOM`` above it.

    For each piece of furniture above, one straight cut beside its bounding box leaves the largest
    rectangle. None if all or nothing of the volume is exposed, or if the region is a surface.
    """
    if region.kind != "volume":
        return None
    box = region.boxes[0]
    own, left = moving_with(scene, region.body), box[:, :2]
    scene_q = state.scene_q.tobytes()
    for body, _, _, (low, high) in solid_furniture(scene, scene_q, region.body):
        if body in own or low[2] < box[0, 2] + 1e-6 or low[2] > box[1, 2] + HEADROOM:
            continue
        if (high[:2] > left[0]).all() and (low[:2] < left[1]).all():
            cuts = [left.copy() for _ in range(4)]
            for axis in (0, 1):
                cuts[axis][1, axis] = low[axis]
                cuts[axis + 2][0, axis] = high[axis]
            left = max(cuts, key=lambda cut: float(np.prod(np.maximum(0.0, cut[1] - cut[0]))))
    if (left[1] - left[0] < _LEAST).any():
        return None
    part = np.column_stack([left, box[:, 2]])
    return None if np.array_equal(part, box) else replace(region, boxes=frozen(part[None]))
