"""Finds base and arm configurations that run a Manipulation, checked state by state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import Array, inverse
from galley.domain.scene import Stance
from galley.domain.state import State, item_pose
from galley.motion.edges import bisection_order
from galley.motion.path import Path
from galley.motion.timing import through
from galley.motion.trajectory import Trajectory
from galley.reachability.arm import configurations, follow, joint7_values, reachable
from galley.reachability.stances import sample_stance, shortfall
from galley.robots.panda import X_FH
from galley.robots.travel import travel_bound
from galley.skills.grasps import grasps_of, hand_in_item
from galley.skills.manipulation import Line, Manipulation, Stroke
from galley.skills.proof import CONTACT, held_reach, prove
from galley.skills.workbench import Workbench
from galley.worlds.checker import MARGIN, Pair, held_pairs

CONTACT_MARGIN = 0.001  # m that undeclared pairs keep while the hand is in contact
_Q7 = 12  # values of joint 7 tried at a contact
_SOLUTIONS = 6  # arm configurations tried at a contact
_STROKE_STATES = 6  # of the fingers on their way open or closed
_X_HF = inverse(X_FH)


@dataclass(frozen=True)
class Segment:
    """A Line with the arm's configurations (n, 7) at its poses and the timing that passes them.

    Attributes:
        clearance: m, least measured to anything undeclared.
    """

    path: Path
    trajectory: Trajectory
    clearance: float


@dataclass(frozen=True)
class Reached:
    """A Manipulation with the configurations that run it.

    Attributes:
        base: (3,). segments: one for each Line, in order.
    """

    manipulation: Manipulation
    base: Array
    segments: tuple[Segment, ...]

    @property
    def before(self) -> Array:
        """Arm configuration (7,) in which the first line begins."""
        return self.segments[0].path.start

    @property
    def after(self) -> Array:
        """Arm configuration (7,) in which the last line ends."""
        return self.segments[-1].path.end

    @property
    def held_after(self) -> State:
        """The world after the last line (the robot's arm and base left as they were)."""
        last = self.manipulation.steps[-1]
        assert isinstance(last, Line)
        strokes = [s for s in self.manipulation.steps if isinstance(s, Stroke)]
        q = last.state.q.copy()
        q[10:] = strokes[-1].opening if strokes else self.manipulation.opening
        return last.state.with_robot(q)


@dataclass
class Tally:
    """Why candidates were turned down, to say so if none is left."""

    tried: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    bodies: Counter[str] = field(default_factory=Counter)

    def failure(self, what: str) -> Failure:
        """An honest "tried so often": it proves nothing."""
        parts = [f"{reason} {n}x" for reason, n in self.reasons.most_common()]
        message = f"no way found to {what} in {self.tried} tries"
        if parts:
            message += f" ({', '.join(parts)})"
        named = [body for body, _ in self.bodies.most_common(3)]
        if named:
            message += f"; most often in the way: {', '.join(named)}"
        return Failure(
            FailureKind.BUDGET, message, tuple(named), numbers={"tries": float(self.tried)}
        )


def solve(
    bench: Workbench,
    manipulation: Manipulation,
    base: Array,
    rng: np.random.Generator,
    tally: Tally,
) -> Reached | None:
    """Arm configurations for all lines from a given base pose, or None."""
    tally.tried += 1
    spec = bench.scene.robot.base
    options = configurations(manipulation.contact, base, spec, joint7_values(_Q7, rng))
    if not len(options):
        tally.reasons["out of the arm's reach"] += 1
        return None
    for q in rng.permutation(options)[:_SOLUTIONS]:
        found = _lines(bench, manipulation, base, q, tally)
        segments = None if found is None else _segments(bench, manipulation, base, found, tally)
        if segments is not None:
            return Reached(manipulation, base, segments)
    return None


def _segments(
    bench: Workbench,
    manipulation: Manipulation,
    base: Array,
    lines: tuple[Array, ...],
    tally: Tally,
) -> tuple[Segment, ...] | None:
    """Timing for the lines, and the proof that nothing but the declared touches on the way."""
    group, spec = bench.robot.group("arm"), bench.scene.robot.base
    found: list[Segment] = []
    opening, arms = manipulation.opening, iter(lines)
    for step in manipulation.steps:
        if isinstance(step, Stroke):
            opening = step.opening
            continue
        path = Path("arm", next(arms))
        # The quintic's peak speed is 15/8 of its mean.
        duration = step.length / step.speed * 1.875
        trajectory = through(path, group, duration, bench.settings.speed)
        middles = trajectory(0.5 * (trajectory.breaks[:-1] + trajectory.breaks[1:]))
        if (middles < group.lower).any() or (middles > group.upper).any():
            tally.reasons["the arm can't keep the line"] += 1
            return None
        off = _off_chord(trajectory(trajectory.breaks), middles).max(axis=0)
        bulge = travel_bound("arm", spec, np.zeros(7), off, held_reach(bench, step.state))
        q = np.concatenate([base, path.start, [opening, opening]])
        state = step.state.with_robot(q)
        proof = prove(bench, state, path, step.allowed, CONTACT + bulge, step.scene_q)
        if proof.hit is not None:
            tally.reasons["too near on the way"] += 1
            return None
        found.append(Segment(path, trajectory, proof.clearance))
    return tuple(found)


def _off_chord(knots: Array, middles: Array) -> Array:
    """How far (n - 1, k) each point between two knots (n, k) lies off the chord between them."""
    chord, out = np.diff(knots, axis=0), middles - knots[:-1]
    share = (out * chord).sum(axis=1) / np.maximum((chord * chord).sum(axis=1), 1e-18)
    return np.asarray(np.abs(out - share[:, None] * chord))


def _lines(
    bench: Workbench, manipulation: Manipulation, base: Array, contact: Array, tally: Tally
) -> tuple[Array, ...] | None:
    spec = bench.scene.robot.base
    found: list[Array] = []
    q = contact
    opening = manipulation.opening
    line: Line | None = None
    for step in manipulation.steps:
        if isinstance(step, Stroke):
            assert line is not None, "the first step is a Line"
            swept = replace(line, allowed=step.allowed | line.allowed)
            strokes = np.linspace(opening, step.opening, _STROKE_STATES)
            if not _states_free(bench, swept, [-1] * len(strokes), base, q, strokes, tally):
                return None
            opening = step.opening
            continue
        first = line is None
        # The contact itself is the dearest state to get right: look there before following a line.
        last = [len(step.poses) - 1]
        if first and not _states_free(bench, step, last, base, q, opening, tally):
            return None
        if first:
            path = follow(q, step.poses[::-1], base, spec)
            path = None if path is None else path[::-1]
        else:
            path = follow(q, step.poses, base, spec)
        if path is None:
            tally.reasons["the arm can't keep the line"] += 1
            return None
        order = bisection_order(len(path))
        if not _states_free(bench, step, order, base, path[order], opening, tally):
            return None
        found.append(path)
        line, q = step, path[-1]
    # Free motions join on with the full margin.
    lines = [s for s in manipulation.steps if isinstance(s, Line)]
    ends = ((lines[0], found[0][0], manipulation.opening), (lines[-1], found[-1][-1], opening))
    for k, (line, q_end, fingers) in enumerate(ends):
        index = 0 if k == 0 else len(line.poses) - 1
        if not _states_free(bench, line, [index], base, q_end, fingers, tally, full=True):
            return None
    return tuple(found)


def _states_free(
    bench: Workbench,
    line: Line,
    indices: list[int],
    base: Array,
    arms: Array,
    opening: float | Array,
    tally: Tally,
    full: bool = False,
) -> bool:
    """Whether states along a line are free, in this order; the first that isn't is tallied.

    Args:
        indices: of the line's poses, for what else moves along it.
        arms: (7,) for all of them, or (n, 7).
        opening: of each finger, for all of them or (n,).
        full: with the margin of free motions.
    """
    state, where = line.state, bench.robot.slice("fingers")
    allowed = grip(bench, state) if full else line.allowed
    checker = bench.checker(state, allowed, MARGIN if full else CONTACT_MARGIN)
    Q = np.empty((len(indices), bench.robot.size))
    Q[:, bench.robot.slice("base")] = base
    Q[:, bench.robot.slice("arm")] = arms
    Q[:, where] = np.broadcast_to(opening, len(indices))[:, None]
    scene_q = None if line.scene_q is None else line.scene_q[indices]
    free = checker.free_many(Q, scene_q)
    if free.all():
        return True
    tally.reasons["in collision"] += 1
    k = int(np.argmin(free))
    for contact in checker.contacts(Q[k], None if scene_q is None else scene_q[k])[:1]:
        for name in (contact.a, contact.b):
            if name not in bench.robot.links:
                tally.bodies[name] += 1
    return False


def stances(
    bench: Workbench,
    manipulations: Iterator[Manipulation],
    stance: Stance,
    arm_q: Array,
    state: State,
    rng: np.random.Generator,
    tally: Tally,
    limit: int | None = None,
) -> Iterator[Reached]:
    """Base poses in the stance set from which a manipulation can be run, lazily, in random order.

    ``arm_q`` (7,) is the folded configuration in which the base will arrive: it must be free there.
    Ends after ``limit`` tries (default: the settings').
    """
    spec = bench.scene.robot.base
    checker = bench.checker(state, grip(bench, state))
    limit = bench.settings.placements if limit is None else limit
    for manipulation in manipulations:
        if tally.tried >= limit:
            return
        X_WF = manipulation.contact @ _X_HF
        base = sample_stance(X_WF, stance, spec, rng)
        if base is None:
            tally.tried += 1
            tally.reasons["no stance there"] += 1
            continue
        # Cheapest test first: is there any arm configuration, before any collision is looked for.
        if not reachable(manipulation.contact, base, spec, joint7_values(6, rng)):
            tally.tried += 1
            tally.reasons["out of the arm's reach"] += 1
            continue
        q = np.concatenate([base, arm_q, state.q[10:]])
        if not checker.free(q):
            tally.tried += 1
            tally.reasons["no room for the base"] += 1
            continue
        reached = solve(bench, manipulation, base, rng, tally)
        if reached is not None:
            yield reached


def grip(bench: Workbench, state: State) -> frozenset[Pair]:
    """The pairs that always touch while an item is held: it and the fingers."""
    return held_pairs(bench.scene, bench.robot, state)


def out_of_reach(bench: Workbench, state: State, index: int, stance: Stance) -> Failure | None:
    """A Failure with a distance bound if no stance in the set lets the hand reach an item.

    Whichever grasp is taken, the flange is at most ``hand`` away from the item's centre.
    """
    scene = bench.scene
    item = scene.items[index]
    p_WI = item_pose(scene, state, index, np.eye(4))[:3, 3]
    held = [hand_in_item(grasp, bench.robot.p_HT)[:3, 3] for grasp in grasps_of(item)]
    hand = max((float(np.linalg.norm(p)) for p in held), default=0.0)
    gap = shortfall(p_WI, stance, scene.robot.base) - hand
    if gap <= 0.0:
        return None
    return Failure(
        FailureKind.UNREACHABLE,
        f"{item.name} is at least {gap:.2f} m out of reach from everywhere in stance set "
        f"'{stance.name}'",
        (item.name,),
        {"shortfall_m": gap},
        {"kind": "distance-bound", "point_m": p_WI.tolist(), "stance": stance.name},
    )
