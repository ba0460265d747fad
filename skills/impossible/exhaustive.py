"""Proof that something is in the way: a stated grid without a solution, that has one without it.

The grid is over where the base stands, the value of joint 7 and all arm configurations for it, for
every manipulation listed. It proves nothing of what lies between its points; it says so. At each
point the planner's own tests are made in the planner's own order: arm configurations, the contact,
the lines. A hand in collision at a contact is so wherever the base stands: it is looked at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import Array, inverse, wrap
from galley.domain.scene.model import HAND, Handle, Stance
from galley.domain.state import State
from galley.reachability.arm import configurations, follow, reachable_bases
from galley.robots.panda.ik import A7, D1, DF, LIMITS
from galley.robots.panda.kinematics import X_FH, stretch
from galley.skills.manipulation.contacts import operations, picks, supports
from galley.skills.manipulation.grasps import CLEARANCE, grasps_at
from galley.skills.manipulation.lines import Tally, run_through, touched, whole
from galley.skills.manipulation.manipulation import Line, Manipulation, Stroke, handle_grasps
from galley.skills.solving.proof import CONTACT_MARGIN, grip
from galley.skills.solving.step import folded
from galley.skills.solving.workbench import OPEN, Workbench, without
from galley.worlds.checker import MARGIN

Listed = Callable[[Workbench, State], Sequence[Manipulation]]
"""All manipulations of one kind in a State: every grasp of an item, every way to take a handle."""

_SINGLES = 6  # things removed one at a time, those first that are in the way most often
_PAIRED = 4  # things removed two at a time
_ITEMS = 12  # items removed all together; of more only those that are in the way
_LOOKS = 24  # of the configurations in collision that are asked what they touch, a manipulation
_BATCH = 48  # base poses whose configurations are checked at a time
_INSET = 0.01  # rad, off the limits of joint 7
_X_HF = inverse(X_FH)


@dataclass(frozen=True)
class Grid:
    """The steps of the grid.

    Attributes:
        x, y: m, at most, between base positions. heading: rad, likewise.
        joint7: values of joint 7, evenly over its range.
        lines: how often the lines of a manipulation are followed and checked, at most.
    """

    x: float = 0.06
    y: float = 0.10
    heading: float = np.pi / 4
    joint7: int = 12
    lines: int = 400

    def bases(self, bench: Workbench, stance: Stance) -> Array:
        """Base poses (m, 3) in the stance set and within the base's limits; ends included."""
        base = bench.scene.robot.base
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
        within = (found >= np.array(base.lower)).all(axis=1)
        return np.asarray(found[within & (found <= np.array(base.upper)).all(axis=1)])

    def as_json(self) -> dict[str, Any]:
        """The steps, for a certificate."""
        return {
            "x_m": self.x,
            "y_m": self.y,
            "heading_rad": self.heading,
            "joint7": self.joint7,
            "lines": self.lines,
        }


def exhaustive(
    bench: Workbench,
    state: State,
    contacts: Listed,
    stance: Stance,
    what: str,
    grid: Grid | None = None,
) -> Failure | None:
    """Why ``what`` can't be done from anywhere in a stance set, proven on a grid; else None.

    ``BLOCKED``: the grid has no solution, and one without the things named (all of them).
    ``UNREACHABLE``: the arm reaches no contact from any of its points. None: it has a solution, or
    nothing can be said.

    Args:
        contacts: all the ways to do it, which is what the proof is about.
        what: is done, for the message: ``pick the sugar box``.
    """
    grid = Grid() if grid is None else grid
    ways = contacts(bench, state)
    found = search_grid(bench, state, ways, stance, grid)
    if found.solved or not found.complete or not ways:
        return None
    told: dict[str, Any] = {
        "kind": "exhaustive-grid",
        "stance": stance.name,
        "grid": {**grid.as_json(), **found.counts()},
        "ways": [way.name for way in ways],
        "solutions": 0,
    }
    if not found.kinematic:
        return Failure(
            FailureKind.UNREACHABLE,
            f"the arm can't {what} from any of {found.bases} base poses in stance set "
            f"'{stance.name}'",
            (),
            {"bases": float(found.bases), "ways": float(len(ways))},
            told,
        )

    def frees(names: tuple[str, ...]) -> bool:
        return search_grid(*cleared(bench, state, ways, names), stance, grid).solved

    names = _culprits(bench, _removable(bench, state, ways), found.blockers, frees)
    if names is None:
        return None
    verb = "is" if len(names) == 1 else "are"
    return Failure(
        FailureKind.BLOCKED,
        f"{' and '.join(names)} {verb} in the way: can't {what} from any of {found.bases} base "
        f"poses, but could without",
        names,
        {"bases": float(found.bases), "kinematic": float(found.kinematic)},
        {**told, "without": list(names), "solutions_without": 1},
    )


def every_pick(bench: Workbench, state: State, index: int) -> list[Manipulation]:
    """Each grasp of an item that stands, with the fingers fully and narrowly open; by name."""
    count = len(grasps_at(bench.scene, state, index))
    found = list(islice(picks(bench, state, index, np.random.default_rng(0)), count))
    ways = []
    for way in sorted(found, key=lambda way: way.name):
        half = next(step.opening for step in way.steps if isinstance(step, Stroke))
        for opening in sorted({OPEN, min(OPEN, half + CLEARANCE)}, reverse=True):
            ways.append(replace(way, opening=opening))
    return ways


def every_operation(
    bench: Workbench, state: State, handle: Handle, value: float
) -> list[Manipulation]:
    """Each way to take a handle and bring its joint to ``value`` (m or rad)."""
    X_WB = bench.scene.body_pose(handle.body, state.scene_q)
    count = len(handle_grasps(X_WB, handle, bench.robot.p_HT))
    return list(islice(operations(bench, state, handle, value, np.random.default_rng(0)), count))


def _culprits(
    bench: Workbench,
    removable: Sequence[str],
    blockers: Counter[str],
    frees: Callable[[tuple[str, ...]], bool],
) -> tuple[str, ...] | None:
    """Things without which there is a solution; None where none are found.

    One at a time, items first and the most frequent first; then two; then all items together, less
    those that are not needed for it: so none of them can be left out.
    """
    items = [name for name in removable if name in bench.scene.item_index]
    names = [name for name in blockers if name in removable]
    names.sort(key=lambda name: (name not in items, -blockers[name], name))
    for group in (*((name,) for name in names[:_SINGLES]), *combinations(names[:_PAIRED], 2)):
        if frees(group):
            return group
    # What is hit only where others are gone is none of the blockers yet.
    items = items if len(items) <= _ITEMS else [name for name in names if name in items]
    if len(items) < 2 or not frees(tuple(items)):
        return None
    for name in sorted(items, key=lambda name: blockers[name]):
        rest = tuple(other for other in items if other != name)
        if frees(rest):
            items = list(rest)
    return tuple(items)


def _removable(bench: Workbench, state: State, ways: Sequence[Manipulation]) -> list[str]:
    """What can be thought away: all but what the hand touches or holds, carriers and the floor."""
    scene = bench.scene
    needed = {body.parent for body in scene.bodies}
    for k, item in enumerate(scene.items):
        if state.items[k].parent == HAND:
            needed.add(item.name)
        else:
            needed.update((state.items[k].parent, *supports(bench, state, k)))
    for way in ways:
        for step in way.steps:
            needed.update(name for pair in step.allowed for name in pair)
    low = bench.kernel.constant_pairs("base")  # what the base drives over
    needed.update(name for pair in low for name in pair)
    names = [item.name for item in scene.items] + [body.name for body in scene.bodies]
    return [name for name in names if name not in needed]


def cleared(
    bench: Workbench, state: State, ways: Sequence[Manipulation], names: Sequence[str]
) -> tuple[Workbench, State, list[Manipulation]]:
    """The same manipulations in a world without some items and bodies."""
    index = bench.scene.item_index
    items = [index[name] for name in names if name in index]
    bodies = [name for name in names if name not in index]
    found = []
    for way in ways:
        steps = (
            replace(step, state=without(step.state, items)) if isinstance(step, Line) else step
            for step in way.steps
        )
        found.append(replace(way, steps=tuple(steps)))
    return bench.without(bodies) if bodies else bench, without(state, items), found


@dataclass
class Outcome:
    """What a grid holds.

    Attributes:
        bases: base poses in the grid. free: those where the robot finds room, the arm folded.
        kinematic: pairs of a manipulation and a base pose from which the arm reaches its contact.
        in_collision: arm configurations at contacts that touch what they must not.
        followed: how often lines were followed and checked.
        solved: whether the search ended with a solution.
        complete: False where it ended before the grid did.
        blockers: what is in the way, how often.
    """

    bases: int = 0
    free: int = 0
    kinematic: int = 0
    in_collision: int = 0
    followed: int = 0
    solved: bool = False
    complete: bool = True
    blockers: Counter[str] = field(default_factory=Counter)

    def counts(self) -> dict[str, int]:
        """The figures for a certificate."""
        names = ("bases", "free", "kinematic", "in_collision", "followed")
        return {name: int(getattr(self, name)) for name in names}


def search_grid(
    bench: Workbench, state: State, ways: Sequence[Manipulation], stance: Stance, grid: Grid
) -> Outcome:
    """Every manipulation from every base pose of the grid; ends at the first solution."""
    bases = grid.bases(bench, stance)
    found = Outcome(bases=len(bases))
    robot, spec = bench.robot, bench.scene.robot.base
    checker = bench.checker(state, grip(bench, state))
    arms = folded(bench, state)  # the arm as it is when the base arrives
    Q = np.repeat(state.q[None], len(bases), axis=0)
    Q[:, robot.slice("base")] = bases
    Q[:, robot.slice("arm")] = arms[0] if len(arms) else bench.tucked
    free = checker.free_many(Q) if len(bases) else np.zeros(0, dtype=bool)
    found.free = int(free.sum())
    q7 = np.linspace(LIMITS.lower[6] + _INSET, LIMITS.upper[6] - _INSET, grid.joint7)
    tally = Tally()
    for way in ways:
        near = np.flatnonzero(_in_ring(bench, way, bases))
        reached = near[reachable_bases(way.contact, bases[near], spec, q7)] if len(near) else near
        found.kinematic += len(reached)
        usable = reached[free[reached]]
        for k in _spread(reached[~free[reached]], _LOOKS if not len(usable) else 4):
            found.blockers.update(touched(bench, checker.contacts(Q[k])[:1]))
        if not len(usable):
            continue
        hits = _hand_hits(bench, way, bases[usable[0]], q7)
        if hits:
            found.blockers.update(dict.fromkeys(sorted(hits), len(usable)))
            found.in_collision += len(usable)
            continue
        for begin in range(0, len(usable), _BATCH):
            batch = bases[usable[begin : begin + _BATCH]]
            _try(bench, way, batch, q7, grid.lines, tally, found)
            if found.solved or not found.complete:
                return found
    found.blockers.update(tally.bodies())
    return found


def _try(
    bench: Workbench,
    way: Manipulation,
    bases: Array,
    q7: Array,
    lines: int,
    tally: Tally,
    found: Outcome,
) -> None:
    """One manipulation from some base poses (m, 3), until it can be run from one of them."""
    spec, line = bench.scene.robot.base, way.first
    each = [configurations(way.contact, base, spec, q7) for base in bases]
    arms, owner = np.concatenate(each), np.repeat(np.arange(len(bases)), [len(a) for a in each])
    Q = whole(bench.robot, bases[owner], arms, way.opening)
    scene_q = None if line.scene_q is None else np.repeat(line.scene_q[-1:], len(Q), axis=0)
    checker = bench.checker(line.state, line.allowed, CONTACT_MARGIN)
    free = checker.free_many(Q, scene_q)
    found.in_collision += int((~free).sum())
    for k in _spread(np.flatnonzero(~free), 4):
        value = None if scene_q is None else scene_q[k]
        found.blockers.update(touched(bench, checker.contacts(Q[k], value)[:1]))
    for k in np.flatnonzero(free):
        if found.followed == lines:
            found.complete = False
            return
        found.followed += 1
        if run_through(bench, way, bases[owner[k]], arms[k], tally) is not None:
            found.solved = True
            return


def _hand_hits(bench: Workbench, way: Manipulation, base: Array, q7: Array) -> set[str]:
    """What the hand touches at the contact or on the way there, wherever the base stands.

    Its pose is the manipulation's: any arm configuration shows it.
    """
    robot, spec, line = bench.robot, bench.scene.robot.base, way.first
    hand = {robot.palm, *robot.fingers}
    if line.state.held is not None:
        hand.add(bench.scene.items[line.state.held].name)
    contact = configurations(way.contact, base, spec, q7)[0]
    path = follow(contact, line.poses[::-1], base, spec)
    shown = [(-1, contact, False)]
    if path is not None:
        shown += [(len(path) // 2, path[::-1][len(path) // 2], False), (0, path[-1], True)]
    found: set[str] = set()
    for index, arm, full in shown:
        q = np.concatenate([base, arm, [way.opening] * 2])
        allowed = grip(bench, line.state) if full else line.allowed
        checker = bench.checker(line.state, allowed, MARGIN if full else CONTACT_MARGIN)
        scene_q = None if line.scene_q is None else line.scene_q[index]
        for hit in checker.contacts(q, scene_q):
            if len({hit.a, hit.b} & hand) == 1:
                found.update(set(touched(bench, (hit,))) - hand)
    return found


def _in_ring(bench: Workbench, way: Manipulation, bases: Array) -> NDArray[np.bool_]:
    """Of base poses (m, 3): whether a stretched arm could span the way to the contact at all."""
    spec = bench.scene.robot.base
    X_WF = way.contact @ _X_HF
    p_WC = X_WF[:3, 3] - DF * X_WF[:3, 2]  # the wrist lies on a circle of radius A7 about C
    height = float(p_WC[2]) - (spec.p_BA[2] + D1)
    c, s = np.cos(bases[:, 2]), np.sin(bases[:, 2])
    x = bases[:, 0] + c * spec.p_BA[0] - s * spec.p_BA[1] - p_WC[0]
    y = bases[:, 1] + s * spec.p_BA[0] + c * spec.p_BA[1] - p_WC[1]
    return np.asarray(x * x + y * y <= (stretch()[1] + A7) ** 2 - height**2)


def _spread(rows: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """At most so many of the rows, spread over them."""
    return rows[:: max(1, -(-len(rows) // most))]


def _steps(low: float, high: float, step: float) -> Array:
    """Values from low to high, both included, at most ``step`` apart."""
    return np.linspace(low, high, int(np.ceil((high - low) / step - 1e-9)) + 1)
