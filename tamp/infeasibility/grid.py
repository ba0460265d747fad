"""Exhaustive search on a grid: evidence that a task may be impossible, never a proof.

The grid is over base poses, values of the redundant joint, all arm configurations for these, and
a list of manipulations. Each point gets the planner's own tests in the planner's order: arm
configurations, the contact, the lines. A hand that collides at a contact does so from every base
pose, so that is tested once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from galley.collision.checker import MARGIN
from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import Array, transform, wrap
from galley.domain.scene.model import Handle, Stance
from galley.domain.state import State
from galley.skills.base_placement.stances import in_ring
from galley.skills.manipulation.contacts import handle_manipulations, pick_with
from galley.skills.manipulation.context import PlanningContext
from galley.skills.manipulation.fans import CLEARANCE, widest_opening
from galley.skills.manipulation.grasps import grasps_at, leaning_grasps
from galley.skills.manipulation.hand import first_overlaps, hand_bounds, obstacles
from galley.skills.manipulation.lines import Tally, assemble, follow_lines, touched
from galley.skills.manipulation.manipulation import Manipulation, handle_grasps
from galley.skills.manipulation.proof import CONTACT_MARGIN, holding_contact_pairs
from galley.skills.manipulation.step import folded_configurations

_NAMED = 3  # obstacles named in the message
_SAMPLED_HITS = 24  # colliding configurations of a manipulation whose contacts are examined
_BATCH = 48  # base poses whose configurations are checked together at first, then ever more
_GROWTH = 4  # from one batch to the next: most manipulations are solved soon or not at all


@dataclass(frozen=True)
class Grid:
    """The steps of the grid.

    Attributes:
        x, y: largest step of the base, m. heading: likewise, rad.
        joint7: number of values of the redundant joint, evenly over its range.
        lines: limit on how often lines are followed and checked.
    """

    x: float = 0.06
    y: float = 0.10
    heading: float = np.pi / 4
    joint7: int = 12
    lines: int = 400

    def bases(self, context: PlanningContext, stance: Stance) -> Array:
        """Base poses (m, 3) in the stance set and within the base's limits, ends included."""
        base = context.robot.group("base")
        low = np.maximum(stance.lower[:2], base.lower[:2])
        high = np.minimum(stance.upper[:2], base.upper[:2])
        if (low > high).any():
            return np.empty((0, 3))
        x, y = (_steps(low[k], high[k], step) for k, step in ((0, self.x), (1, self.y)))
        span = min(float(stance.upper[2] - stance.lower[2]), 2.0 * np.pi)
        turns = _steps(float(stance.lower[2]), float(stance.lower[2]) + span, self.heading)
        if span > 2.0 * np.pi - 1e-9:
            turns = turns[:-1]
        found = np.stack(np.meshgrid(x, y, wrap(turns), indexing="ij"), axis=-1).reshape(-1, 3)
        within = (found >= base.lower) & (found <= base.upper)
        return np.asarray(found[within.all(axis=1)])

    def as_json(self) -> dict[str, Any]:
        """The steps for a certificate."""
        return {
            "x_m": self.x,
            "y_m": self.y,
            "heading_rad": self.heading,
            "joint7": self.joint7,
            "lines": self.lines,
        }


def tried(
    context: PlanningContext,
    state: State,
    ways: Sequence[Manipulation],
    stances: Sequence[Stance],
    what: str,
    grid: Grid | None = None,
) -> Failure | None:
    """A ``budget`` Failure if the grid has no solution, else None.

    Args:
        context, state: the world.
        ways: the manipulations to try.
        stances: the stance sets to try.
        what: the task, for the message: ``take the sugar box``.
        grid: its steps; default: ``Grid()``.
    """
    grid = Grid() if grid is None else grid
    evidence: list[dict[str, Any]] = []
    blockers: Counter[str] = Counter()
    for stance in stances:
        found = search_grid(context, state, ways, stance, grid)
        if found.solved:
            return None
        blockers.update(found.blockers)
        entry = {"kind": "grid", "stance": stance.name, "grid": grid.as_json()}
        evidence.append({**entry, **found.counts(), "complete": found.complete})
    pairs = sum(each["pairs"] for each in evidence)
    message = f"can't {what}: none of {pairs:,} grasp and stance pairs tried gets there"
    names = tuple(name for name, _ in blockers.most_common(_NAMED))
    if names:
        message += f" (most often in the way: {', '.join(names)})"
    numbers = {"pairs": float(pairs)}
    return Failure(FailureKind.BUDGET, message, names, numbers, evidence=tuple(evidence))


def all_picks(context: PlanningContext, state: State, index: int) -> list[Manipulation]:
    """All listed grasps of an item, with the fingers fully and narrowly open."""
    taken = pick_with(context, state, index)
    gripper, item = context.robot.gripper, context.scene.items[index]
    grasps = (
        *grasps_at(context.scene, state, index, gripper),
        *leaning_grasps(context.scene, state, index, gripper),
    )
    return [
        taken(grasp, opening)
        for grasp in grasps
        for opening in sorted(
            {
                widest_opening(item, grasp.X_IT, grasp.width, gripper) / 2.0,
                min(gripper.open, grasp.width / 2.0 + CLEARANCE),
            },
            reverse=True,
        )
    ]


def all_operations(
    context: PlanningContext, state: State, handle: Handle, value: float
) -> list[Manipulation]:
    """All listed grasps of a handle, to move its joint to ``value`` (m or rad)."""
    X_WB = context.scene.body_pose(handle.body, state.scene_q)
    count = len(handle_grasps(X_WB, handle, context.robot.p_HT))
    return list(
        islice(handle_manipulations(context, state, handle, value, np.random.default_rng(0)), count)
    )


@dataclass
class GridResult:
    """The outcome of a grid search, in counts.

    Attributes:
        pairs: pairs of a grasp and a base pose.
        without_room: manipulations at whose contact the hand alone overlaps something.
        bases: base poses. free: of these without collision, the arm folded.
        kinematic: pairs of a manipulation and a base pose from which the arm reaches its contact.
        in_collision: arm configurations at contacts that collide.
        followed: how often lines were followed and checked.
        solved: whether a solution was found.
        complete: False if the limit ended the search.
        blockers: how often each body or item was in the way.
    """

    pairs: int = 0
    without_room: int = 0
    bases: int = 0
    free: int = 0
    kinematic: int = 0
    in_collision: int = 0
    followed: int = 0
    solved: bool = False
    complete: bool = True
    blockers: Counter[str] = field(default_factory=Counter)

    def counts(self) -> dict[str, int]:
        """The counts for a certificate."""
        names = ("pairs", "without_room", "bases", "free", "kinematic", "in_collision", "followed")
        return {name: int(getattr(self, name)) for name in names}


def search_grid(
    context: PlanningContext, state: State, ways: Sequence[Manipulation], stance: Stance, grid: Grid
) -> GridResult:
    """Try every manipulation from every base pose of the grid, until one is solved."""
    bases = grid.bases(context, stance)
    found = GridResult(bases=len(bases))
    robot, kinematics = context.robot, context.robot.kinematics
    checker = context.checker(state, holding_contact_pairs(context, state))
    arms = folded_configurations(context, state)  # the arm as it is when the base arrives
    arm = arms[0] if len(arms) else context.folded_arm
    Q = robot.with_groups(state.q, base=bases, arm=arm)
    free = checker.free_many(Q) if len(bases) else np.zeros(0, dtype=bool)
    found.free = int(free.sum())
    q7 = np.linspace(*kinematics.redundant_range, grid.joint7)
    tally = Tally()
    contacts: set[bytes] = set()
    near = reached = np.zeros(0, dtype=np.int64)
    arms_from: dict[int, Array] = {}  # by row of bases: configurations at the present contact
    at_base: dict[int, tuple[str, ...]] = {}  # what the folded robot collides with there
    latest: Array | None = None
    for way, hit in zip(ways, _overlapped(context, state, ways), strict=True):
        if way.contact.tobytes() not in contacts:
            contacts.add(way.contact.tobytes())
            found.pairs += len(bases)
        if hit is not None:
            found.without_room += 1
            found.blockers[hit] += len(bases)
            continue
        if latest is None or not np.array_equal(way.contact, latest):  # not just another opening
            latest, arms_from = way.contact, {}
            near = np.flatnonzero(in_ring(way.contact, bases, robot))
            reached = (
                near[kinematics.reachable_bases(way.contact, bases[near], q7)]
                if len(near)
                else near
            )
        found.kinematic += len(reached)
        usable = reached[free[reached]]
        for k in _spread(reached[~free[reached]], _SAMPLED_HITS if not len(usable) else 4):
            if k not in at_base:
                at_base[k] = touched(context, checker.contacts(Q[k])[:1])
            found.blockers.update(at_base[k])
        if not len(usable):
            continue
        hits = _hand_hits(context, way, bases[usable[0]], q7)
        if hits:
            found.blockers.update(dict.fromkeys(sorted(hits), len(usable)))
            found.in_collision += len(usable)
            continue
        begin, size = 0, _BATCH
        while begin < len(usable):
            batch = usable[begin : begin + size]
            for k in batch:
                if k not in arms_from:
                    arms_from[k] = kinematics.configurations(way.contact, bases[k], q7)
            each = [arms_from[k] for k in batch]
            _try(context, way, bases[batch], each, grid.lines, tally, found)
            if found.solved or not found.complete:
                return found
            begin, size = begin + size, _GROWTH * size
    found.blockers.update(tally.bodies())
    return found


def _try(
    context: PlanningContext,
    way: Manipulation,
    bases: Array,
    each: Sequence[Array],
    lines: int,
    tally: Tally,
    found: GridResult,
) -> None:
    """Try one manipulation from base poses (m, 3), with the configurations (k, 7) of each.

    Counts go into ``found``.
    """
    line = way.first
    arms, owner = np.concatenate(each), np.repeat(np.arange(len(bases)), [len(a) for a in each])
    Q = assemble(context.robot, bases[owner], arms, way.opening)
    scene_q = None if line.scene_q is None else np.repeat(line.scene_q[-1:], len(Q), axis=0)
    checker = context.checker(line.state, line.allowed, CONTACT_MARGIN)
    free = checker.free_many(Q, scene_q)
    found.in_collision += int((~free).sum())
    for k in _spread(np.flatnonzero(~free), 4):
        value = None if scene_q is None else scene_q[k]
        found.blockers.update(touched(context, checker.contacts(Q[k], value)[:1]))
    for k in np.flatnonzero(free):
        if found.followed == lines:
            found.complete = False
            return
        found.followed += 1
        if follow_lines(context, way, bases[owner[k]], arms[k], tally) is not None:
            found.solved = True
            return


def _overlapped(
    context: PlanningContext, state: State, ways: Sequence[Manipulation]
) -> list[str | None]:
    """For each manipulation an obstacle that the hand overlaps at its contact, or None."""
    X_HT = transform(None, context.robot.p_HT)
    found: list[str | None] = [None] * len(ways)
    for opening in sorted({way.opening for way in ways}):
        rows = [k for k, way in enumerate(ways) if way.opening == opening]
        touched = next(
            n for p in ways[rows[0]].first.allowed for n in p if n not in context.robot.links
        )
        X_WT = np.array([ways[k].contact @ X_HT for k in rows])
        others = obstacles(context, state, (), hand_bounds(context.robot, X_WT[:, :3, 3]))
        names = first_overlaps(context.robot, others, touched, X_WT, opening)
        for k, name in zip(rows, names, strict=True):
            found[k] = name
    return found


def _hand_hits(context: PlanningContext, way: Manipulation, base: Array, q7: Array) -> set[str]:
    """What the hand hits at the contact or during the approach, whatever the base pose.

    The hand's poses are given, so one arm configuration is enough.
    """
    robot, kinematics, line = context.robot, context.robot.kinematics, way.first
    hand = {robot.palm, *robot.fingers}
    if line.state.held is not None:
        hand.add(context.scene.items[line.state.held].name)
    contact = kinematics.configurations(way.contact, base, q7)[0]
    path = kinematics.follow(contact, line.poses[::-1], base)
    shown = [(-1, contact, False)]
    if path is not None:
        shown += [(len(path) // 2, path[::-1][len(path) // 2], False), (0, path[-1], True)]
    found: set[str] = set()
    for index, arm, full in shown:
        q = assemble(robot, base, arm[None], way.opening)[0]
        allowed = holding_contact_pairs(context, line.state) if full else line.allowed
        checker = context.checker(line.state, allowed, MARGIN if full else CONTACT_MARGIN)
        scene_q = None if line.scene_q is None else line.scene_q[index]
        for hit in checker.contacts(q, scene_q):
            if len({hit.a, hit.b} & hand) == 1:
                found.update(set(touched(context, (hit,))) - hand)
    return found


def _spread(rows: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """At most ``most`` of the rows, evenly spaced."""
    return rows[:: max(1, -(-len(rows) // most))]


def _steps(low: float, high: float, step: float) -> Array:
    """Values from low to high, at most ``step`` apart."""
    return np.linspace(low, high, int(np.ceil((high - low) / step - 1e-9)) + 1)
