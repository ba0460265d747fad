"""Whether a kitchen can be solved at all, by exhaustive search on grids.

Independent of ``galley.tamp`` and of what skills prove. Items are moved one at a time from place to
place, until the goal holds or no new arrangement is left. An item can be taken, or put down in the
same way backwards, if for some grasp, base pose and value of the redundant joint the arm comes
straight and lifts it; PyBullet checks that. ``packing`` says whether items fit together where they
are wanted, and how. A negative answer of its is a proof, any other holds for the grid.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np

from galley.bench.tamp.packing import packed
from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.collision.checker import MARGIN, Pair, pairs
from galley.domain.frames import Array, inverse, rotation_about, rotation_z, transform
from galley.domain.pddl.formula import Literal
from galley.domain.scene.model import HAND, WORLD, Item, Region, Stance
from galley.domain.state import Placement, State
from galley.tamp.task import TampTask

LEAN, TURN = np.pi / 12, np.pi / 6  # rad between grasps; half of it before no hand fits
BASE, HEADINGS, REDUNDANT = 0.15, 8, 8  # m between bases; headings; values of the redundant joint
BACK, UP = np.arange(9) * 0.01, np.arange(3) * 0.01  # m back from a hold, and up with the item
PAD, OPEN, NEAR = 0.01, 0.006, 0.001  # m: of a pad; beside each finger; kept from other things
GAP, PLACES = 0.0045, 3  # m between what is put down and the rest; places in a row on a region
AROUND = 0.5  # m from an item to what may be in its way
RIGID = {"panda_link7", "panda_hand", "panda_leftfinger", "panda_rightfinger"}


class Hold(NamedTuple):
    """A grasp: its number, X_IT (4, 4) of the frame between the fingertips, a finger's opening."""

    number: int
    X_IT: Array
    opening: float


@cache
def holds(item: Item, fine: int, widest: float) -> tuple[Hold, ...]:
    """Grasps from above and from the sides on a grid, ``fine`` times as fine."""
    half, found = item.size / 2.0, []
    leans = np.linspace(-np.pi / 2, np.pi / 2, round(np.pi / LEAN) * fine + 1)
    ups = np.linspace(1.0, -1.0, 4 * fine + 1) * max(0.0, half[2] - PAD)
    for axis in (0,) if item.round else (0, 1):
        along = 0.0 if item.round else max(0.0, half[1 - axis] - PAD)
        offs = np.linspace(-along, along, 2 * fine + 1) if along else (0.0,)
        turns = np.arange(0.0, 2.0 * np.pi, TURN / fine if item.round else np.pi)
        for up, lean, turn, off in product(ups, leans, turns, offs):
            R = rotation_z(turn)
            y, z = R[:, axis], rotation_about(R[:, axis], lean) @ [0.0, 0.0, -1.0]
            p = np.array([0.0, 0.0, up]) + off * R[:, 1 - axis]
            X_IT = transform(np.stack([np.cross(y, z), y, z], axis=1), p)
            if 2.0 * half[axis] <= widest:
                found.append(Hold(fine * 100_000 + len(found), X_IT, min(0.04, half[axis] + OPEN)))
    return tuple(found)


class Kitchen:
    """A task, and what is known by now of the ways to take its items."""

    def __init__(self, task: TampTask, world: PyBulletWorld) -> None:
        self.task, self.world, self.robot = task, world, world.robot
        self.goal = {g.args[0]: g.args[1] for g in task.problem.goal if isinstance(g, Literal)}
        bound = [b for name, b in task.bindings.items() if task.problem.object(name)]
        self._index = {b.object: task.scene.item_index[b.target] for b in bound if b.kind == "item"}
        self._regions: dict[str, tuple[Stance, Region]] = {
            b.object: (task.scene.stance(b.target), region)
            for b in bound
            if b.region and (region := task.scene.region(b.region)).kind == "surface"
        }
        on = dict(fact.args for fact in task.problem.init if fact.predicate == "on")
        self._at = {name: on[name] for name in self._index}
        self._known: dict[object, bool] = {}
        self._fine: dict[str, int] = {}
        self._spots: dict[tuple[int, str], Array] = {}
        self._free: dict[str, Array] = {}

    def solved(self) -> bool:
        """Whether some sequence of moves, two and one more for each item, reaches the goal."""
        depth = {name: self.task.start.items[k].X_PI[0, 3] for name, k in self._index.items()}
        wanted = [name for name, place in self.goal.items() if place != self._at[name]]
        seen: dict[bytes, int] = {}

        def reached(state: State, at: dict[str, str], moves: int) -> bool:
            if all(at[name] == place for name, place in self.goal.items()):
                return True
            where = np.array([state.items[self._index[name]].X_PI[:2, 3] for name in at])
            if seen.get(key := where.round(3).tobytes(), 0) >= moves:
                return False
            seen[key] = moves
            # What was moved waits until all is done for which others had to make way.
            done = all(at[name] == self.goal[name] for name in wanted)

            def rank(name: str) -> tuple[bool, bool, float]:
                waits = not done and at[name] != self._at[name]
                return waits, at[name] == self.goal.get(name), depth[name]

            return any(
                reached(moved, {**at, name: place}, moves - 1)
                for name in sorted(at, key=rank)
                for place, moved in self._moves(state, name, at[name])
            )

        likely = all(self._packed(place) for place in dict.fromkeys(self.goal.values()))
        likely = likely and all(self._alone(name) for name in wanted)
        return likely and reached(self.task.start, self._at, 2 * len(self._at) + 1)

    def _packed(self, place: str) -> bool:
        """Whether all items that are wanted in a place fit there; where is kept for ``_places``."""
        names = [name for name, where in self.goal.items() if where == place]
        region = self._regions[place][1]
        if len(names) < 2 or len(region.boxes) > 1:
            return True
        items = [self._index[name] for name in names]
        poses = packed([self.task.scene.items[k] for k in items], *region.boxes[0, :, :2])
        for k, (x, y, yaw) in () if poses is None else zip(items, poses, strict=True):
            p = x, y, region.boxes[0, 0, 2] + self.task.scene.items[k].size[2] / 2.0
            self._spots[k, region.name] = transform(rotation_z(yaw), p)
        return poses is not None

    def _alone(self, name: str) -> bool:
        """Whether an item could be taken and stand where it is wanted if there were no others."""
        k, state, wanted = self._index[name], self.task.start, self.goal[name]
        for j in set(self._index.values()) - {k}:
            state = state.with_item(j, Placement(WORLD, transform(None, [0.0, 5.0 * j, -50.0])))
        for fine in (1, 2):
            self._fine[name] = fine
            # Places where it is wanted come first.
            if next(self._moves(state, name, self._at[name]), ("", state))[0] == wanted:
                return True
        return False

    def _moves(self, state: State, name: str, here: str) -> Iterator[tuple[str, State]]:
        """What can come of moving an item: first where it is wanted, or else away from there."""
        k, stance, wanted = self._index[name], self._regions[here][0], self.goal.get(name)
        item, widest = self.task.scene.items[k], self.robot.gripper.widest
        grid = holds(item, self._fine.get(name, 1), widest)
        grid = grid if any(self._way(state, k, stance, hold) for hold in grid) else ()
        for place in sorted(self._regions, key=lambda p: (p == wanted) == (here == wanted)):
            there, region = self._regions[place]
            for X_WI in self._places(k, region) if grid else ():
                moved = state.with_item(k, Placement(WORLD, X_WI))
                if self._stands(moved, k, region) and any(
                    self._way(state, k, stance, h) and self._way(moved, k, there, h) for h in grid
                ):
                    yield place, moved

    def _places(self, k: int, region: Region) -> Iterator[Array]:
        """Where item k is put: where it was found, if that is there, and on a grid."""
        item, found = self.task.scene.items[k], self.task.start.items[k].X_PI
        for low, high in region.boxes[:, :, :2]:
            if (found[:2, 3] > low).all() and (found[:2, 3] < high).all():
                yield found
            if (k, region.name) in self._spots:
                yield self._spots[k, region.name]
            for yaw in (0.0,) if item.round else (0.0, np.pi / 2):
                half = np.abs(rotation_z(yaw)[:2, :2]) @ item.size[:2] / 2.0
                if (half > (high - low) / 2.0).any():
                    continue
                for share in product(np.linspace(0.0, 1.0, PLACES), repeat=2):
                    xy = low + half + share * (high - low - 2.0 * half)
                    z = region.boxes[0, 0, 2] + item.size[2] / 2.0
                    yield transform(rotation_z(yaw), [*xy, z])

    def _stands(self, state: State, k: int, region: Region) -> bool:
        """Whether item k keeps the gap to all but the body that carries it."""
        self.world.set_state(state)
        name = self.task.scene.items[k].name
        near = self.world.near_pairs(GAP, (k,))
        return all(name not in pair or region.body in pair for pair in near)

    def _way(self, state: State, k: int, stance: Stance, hold: Hold) -> bool:
        """Whether an arm can take item k by a hold; looked up where nothing has changed nearby."""
        p = np.array([placed.X_PI[:3, 3] for placed in state.items])
        near = np.linalg.norm(p - p[k], axis=1) < AROUND
        key = (k, stance.name, hold.number, near.tobytes(), p[near].round(3).tobytes())
        if key not in self._known:
            self._known[key] = self._search(state, k, stance, hold)
        return self._known[key]

    def _search(self, state: State, k: int, stance: Stance, hold: Hold) -> bool:
        """Whether from some base an arm comes straight to a hold of item k and lifts it."""
        robot, X_WI = self.robot, state.items[k].X_PI
        X_WH = X_WI @ hold.X_IT @ transform(None, -robot.p_HT)
        held = state.with_item(k, Placement(HAND, inverse(X_WH) @ X_WI))
        touch = pairs(robot.fingers, (self.task.scene.items[k].name,))
        back = np.array([X_WH @ transform(None, [0.0, 0.0, -s]) for s in BACK])
        up = np.array([transform(None, [0.0, 0.0, s]) @ X_WH for s in UP])
        redundant = np.linspace(*robot.kinematics.redundant_range, REDUNDANT)
        for base in self._bases(stance, X_WH):
            for arm in robot.kinematics.configurations(X_WH, base, redundant):
                hit = ""
                for world, poses, begin in ((state, back, 0), (held, up, 1)):
                    path = None if hit else robot.kinematics.follow(arm, poses, base)
                    if path is not None:
                        hit = self._hit(world, base, path[begin:], hold, touch)
                    hit = hit or ("arm" if path is None else "")
                if hit != "arm":
                    return not hit  # what the hand hits is the same from every base
        return False

    def _hit(
        self, state: State, base: Array, path: Array, hold: Hold, touch: frozenset[Pair]
    ) -> str:
        """What hits something along arm configurations (n, 7): ``hand``, ``arm`` or nothing."""
        checker, links = self.world.checker(state, touch, NEAR), set(self.robot.links)
        for arm in path:
            fingers = np.array([hold.opening] * 2)
            q = self.robot.with_groups(state.q, base=base, arm=arm, fingers=fingers)[0]
            hits = [links & {contact.a, contact.b} for contact in checker.contacts(q)]
            if hits:
                return "hand" if any(len(own) < 2 and own <= RIGID for own in hits) else "arm"
        return ""

    def _bases(self, stance: Stance, X_WH: Array) -> Array:
        """Base poses (m, 3) of a grid that are free with the arm folded, the best first."""
        if stance.name not in self._free:
            group = self.robot.group("base")
            low, high = np.maximum(stance.lower, group.lower), np.minimum(stance.upper, group.upper)
            axes = [np.arange(low[i], high[i] + 1e-9, BASE) for i in (0, 1)]
            turns = np.arange(HEADINGS) * 2.0 * np.pi / HEADINGS - np.pi
            grid = np.array(list(product(*axes, turns)))
            checker = self.world.checker(self.task.start, frozenset(), MARGIN)
            free = checker.free_many(self.robot.with_groups(self.task.start.q, base=grid))
            self._free[stance.name] = grid[free]
        bases, reach = self._free[stance.name], self.robot.kinematics.reach
        away = np.linalg.norm(bases[:, :2] - (X_WH @ [*reach.p_HC, 1.0])[:2], axis=1)
        order = np.argsort(np.abs(away - 0.6), kind="stable")
        return bases[order[away[order] < reach.to_C + 0.05]]
