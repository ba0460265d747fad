"""Arm configurations along the lines of a Manipulation, checked, timed and proven.

Candidates that are turned down are tallied, to say why if none is left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import Array
from galley.domain.scene.base_spec import MobileBaseSpec
from galley.motion.motion import Motion, Record
from galley.motion.path import Path
from galley.motion.planners.rrt import bisection_order
from galley.motion.trajectory.timing import rest_to_rest, through
from galley.motion.trajectory.trajectory import Trajectory
from galley.reachability.arm import follow
from galley.robots.model import JointGroup, RobotModel
from galley.robots.panda.mobile import travel_bound
from galley.skills.manipulation.manipulation import Line, Manipulation, Stroke
from galley.skills.solving.context import PlanningContext
from galley.skills.solving.proof import (
    CONTACT,
    CONTACT_MARGIN,
    free_view,
    held_reach,
    holding_contact_pairs,
    prove,
)
from galley.worlds.checker import MARGIN, Checker, Contact

_LOOKED_AT = 100  # of the states in collision: enough to see what is in the way most often
_FAR = 0.2  # rad, knots farther than this from a limit leave no doubt about the curve between them
_STROKE_STATES = 6  # of the fingers on their way open or closed
_STROKE_SPEED = 0.5  # share of the fingers' limits


@dataclass
class Tally:
    """Why candidates were turned down, to say so if none is left.

    Attributes:
        tried: how many candidates.
        reasons: how often each reason came up.
    """

    tried: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    _hits: list[Callable[[], tuple[str, ...]]] = field(default_factory=list)

    def hit(self, what: Callable[[], tuple[str, ...]]) -> None:
        """One more in collision; ``what`` names what it hits, and is asked only where needed."""
        self.reasons["in collision"] += 1
        self._hits.append(what)

    def bodies(self) -> Counter[str]:
        """How often each body or item was in the way, among 100 of the candidates at most."""
        step = max(1, -(-len(self._hits) // _LOOKED_AT))
        return Counter(name for what in self._hits[::step] for name in what())

    def failure(self, what: str) -> Failure:
        """An honest "tried so often": it proves nothing."""
        parts = [f"{reason} {n}x" for reason, n in self.reasons.most_common()]
        message = f"no way found to {what} in {self.tried} tries"
        if not self.tried:
            message = f"no room found to {what}"
        if parts:
            message += f" ({', '.join(parts)})"
        named = [body for body, _ in self.bodies().most_common(3)]
        if named:
            message += f"; most often in the way: {', '.join(named)}"
        return Failure(
            FailureKind.BUDGET, message, tuple(named), numbers={"tries": float(self.tried)}
        )


@dataclass(frozen=True)
class Segment:
    """A Line with the arm's configurations (n, 7) at its poses and the timing that passes them.

    Attributes:
        clearance: m, proven or measured to anything undeclared.
    """

    path: Path
    trajectory: Trajectory
    clearance: float

    def motion(self, line: Line, action_index: int, phase: str) -> Motion:
        """The Motion that runs the Line."""
        record = Record("straight", length_rrt=self.path.length, min_clearance_m=self.clearance)
        return Motion(
            action_index,
            phase,
            "arm",
            self.path,
            self.trajectory,
            line.attachments,
            line.allowed,
            line.guard,
            record,
        )


@dataclass(frozen=True)
class ManipulationPart:
    """A Line, or a Stroke at the end of one, with the fingers' openings.

    Attributes:
        line: the line; of a stroke the one before it, at whose end it stands still.
        opening: of each finger (m) at its beginning. closing: at its end.
        stroke: whether the fingers move at the line's end.
        checker: makes the one of its states, with the margin in contact, once it is needed.
    """

    line: Line
    opening: float
    closing: float
    stroke: bool
    checker: Callable[[], Checker]


def parts(context: PlanningContext, manipulation: Manipulation) -> tuple[ManipulationPart, ...]:
    """A Manipulation's steps with the fingers' openings. Equal checkers are the same."""
    found: list[ManipulationPart] = []
    opening = manipulation.opening
    for step in manipulation.steps:
        if isinstance(step, Stroke):
            assert found, "the first step is a Line"
            line = found[-1].line
            still = line.state if line.scene_q is None else line.state.with_scene(line.scene_q[-1])
            allowed = step.allowed | line.allowed
            line, closing = replace(line, state=still, scene_q=None, allowed=allowed), step.opening
        else:
            line, closing = step, opening
        checker = found[-1].checker if found and _same_world(found[-1].line, line) else None
        if checker is None:
            checker = cache(partial(context.checker, line.state, line.allowed, CONTACT_MARGIN))
        found.append(ManipulationPart(line, opening, closing, isinstance(step, Stroke), checker))
        opening = closing
    return tuple(found)


def _same_world(a: Line, b: Line) -> bool:
    """Whether two lines' states are the same but for the robot, and nothing moves along."""
    return (
        a.scene_q is None
        and b.scene_q is None
        and a.allowed == b.allowed
        and a.state.items == b.state.items
        and np.array_equal(a.state.scene_q, b.state.scene_q)
    )


@dataclass(frozen=True)
class _Look:
    """Configurations to be looked at: Q (m, n), with scene joints (m, nj) or None."""

    context: PlanningContext
    checker: Checker
    Q: Array
    scene_q: Array | None = None

    def free(self) -> NDArray[np.bool_]:
        """Which keep the margin (m,)."""
        return self.checker.free_many(self.Q, self.scene_q)

    def touching(self, k: int) -> tuple[str, ...]:
        """What the k-th is nearest to, the robot's own links left out."""
        scene_q = None if self.scene_q is None else self.scene_q[k]
        return touched(self.context, self.checker.contacts(self.Q[k], scene_q)[:1])

    def passes(self, tally: Tally) -> bool:
        """Whether all keep it; the first that doesn't is tallied."""
        free = self.free()
        if free.all():
            return True
        tally.hit(lambda: self.touching(int(np.argmin(free))))
        return False


def stroke_motion(
    context: PlanningContext, q: Array, stroke: Stroke, action_index: int, phase: str
) -> Motion:
    """The Motion of a Stroke of the fingers from the robot's configuration q (n,)."""
    path = Path(
        "fingers", np.stack([q[context.robot.slice("fingers")], np.full(2, stroke.opening)])
    )
    trajectory = rest_to_rest(path, context.robot.group("fingers"), _STROKE_SPEED)
    return Motion(
        action_index,
        phase,
        "fingers",
        path,
        trajectory,
        stroke.attachments,
        stroke.allowed,
        stroke.guard,
        Record("direct"),
    )


def stroke_states(context: PlanningContext, q: Array, opening: float) -> Array:
    """Configurations (m, n) of the robot on the way of its fingers from q (n,) to an opening."""
    where = context.robot.slice("fingers")
    Q = np.repeat(q[None], _STROKE_STATES, axis=0)
    Q[:, where] = np.linspace(q[where], opening, _STROKE_STATES)
    return Q


def touched(context: PlanningContext, contacts: Sequence[Contact]) -> tuple[str, ...]:
    """What is touched, the robot's own links left out."""
    names = (name for contact in contacts for name in (contact.a, contact.b))
    return tuple(name for name in names if name not in context.robot.links)


def at_contact(
    context: PlanningContext,
    steps: tuple[ManipulationPart, ...],
    base: Array,
    options: Array,
    tally: Tally,
) -> Array:
    """Those of the arm configurations (k, 7) at the contact that are free there."""
    first = steps[0]
    moved = first.line.scene_q
    scene_q = None if moved is None else np.repeat(moved[-1:], len(options), axis=0)
    look = _Look(
        context, first.checker(), whole(context.robot, base, options, first.opening), scene_q
    )
    free = look.free()
    if not free.any():
        tally.hit(lambda: look.touching(0))
    return np.asarray(options[free])


def whole(robot: RobotModel, base: Array, arms: Array, openings: float | Array) -> Array:
    """Configurations (m, n) of the robot: base (3,) or (m, 3), arms (m, 7), openings (m,).

    The opening is that of each finger; one number where they have all the same.
    """
    Q = np.empty((len(arms), robot.size))
    Q[:, robot.slice("base")] = base
    Q[:, robot.slice("arm")] = arms
    Q[:, robot.slice("fingers")] = np.reshape(openings, (-1, 1))
    return Q


def run_through(
    context: PlanningContext,
    manipulation: Manipulation,
    base: Array,
    contact: Array,
    tally: Tally,
    steps: tuple[ManipulationPart, ...] | None = None,
) -> tuple[Segment, ...] | None:
    """The segments of all lines from an arm configuration (7,) at the contact, or None.

    The cheapest tests first: whether the arm can follow; sampled states, the full margin at both
    ends, where free motions join on; then the proofs.

    Args:
        steps: the manipulation's ``parts``, where they have been made.
    """
    steps = parts(context, manipulation) if steps is None else steps
    paths = _followed(steps, base, contact, context.scene.robot.base)
    if paths is None:
        tally.reasons["the arm can't keep the line"] += 1
        return None
    if not _sampled(context, steps, paths, base, tally):
        return None
    lines = [part for part in steps if not part.stroke]
    found = []
    for part, arms in zip(lines, paths, strict=True):
        q = np.concatenate([base, arms[0], [part.opening] * 2])
        segment = proven_line(context, part.line, q, arms, tally)
        if segment is None:
            return None
        found.append(segment)
    return tuple(found)


def _followed(
    steps: tuple[ManipulationPart, ...], base: Array, contact: Array, spec: MobileBaseSpec
) -> list[Array] | None:
    """Arm configurations (n, 7) along each line; the first is followed backwards."""
    found: list[Array] = []
    for part in steps:
        if part.stroke:
            continue
        if not found:
            path = follow(contact, part.line.poses[::-1], base, spec)
            path = None if path is None else path[::-1]
        else:
            path = follow(found[-1][-1], part.line.poses, base, spec)
        if path is None:
            return None
        found.append(path)
    return found


def _sampled(
    context: PlanningContext,
    steps: tuple[ManipulationPart, ...],
    paths: list[Array],
    base: Array,
    tally: Tally,
) -> bool:
    """Whether the states along lines and strokes are free; the first that isn't is tallied."""
    first, last = steps[0], steps[-1]
    if not _margin_kept(context, first, 0, paths[0][0], first.opening, base, tally):
        return False
    if not all(look.passes(tally) for look in _looks(context, steps, paths, base)):
        return False
    if context.compiled and _joins_on(context, last, paths[-1][-1], base):
        return True
    return _margin_kept(context, last, -1, paths[-1][-1], last.closing, base, tally)


def _looks(
    context: PlanningContext, steps: tuple[ManipulationPart, ...], paths: list[Array], base: Array
) -> Iterator[_Look]:
    """What to look at, in order: lines and strokes with the same checker at once."""
    rest = iter(paths)
    arms = paths[0]
    for checker, group in groupby(steps, key=lambda part: part.checker):
        rows, scene_q = [], None
        for part in group:
            if part.stroke:
                openings = np.linspace(part.opening, part.closing, _STROKE_STATES)
                still = np.repeat(arms[-1:], _STROKE_STATES, axis=0)
                rows.append(whole(context.robot, base, still, openings))
                continue
            arms = next(rest)
            order = _order(len(arms))
            rows.append(whole(context.robot, base, arms[order], part.opening))
            scene_q = None if part.line.scene_q is None else part.line.scene_q[order]
        yield _Look(context, checker(), np.concatenate(rows) if len(rows) > 1 else rows[0], scene_q)


@cache
def _order(n: int) -> NDArray[np.int64]:
    """The ends first, then ever finer between them: hits are found early."""
    return np.array(bisection_order(n), dtype=np.int64)


def _margin_kept(
    context: PlanningContext,
    part: ManipulationPart,
    index: int,
    arm: Array,
    opening: float,
    base: Array,
    tally: Tally,
) -> bool:
    """Whether at one end of a line, pose ``index``, the margin of free motions is kept."""
    line = part.line
    checker = context.checker(line.state, holding_contact_pairs(context, line.state), MARGIN)
    scene_q = None if line.scene_q is None else line.scene_q[index][None]
    Q = whole(context.robot, base, arm[None], opening)
    return _Look(context, checker, Q, scene_q).passes(tally)


def _joins_on(context: PlanningContext, last: ManipulationPart, arm: Array, base: Array) -> bool:
    """Whether the arm (7,) has the full margin after the last line.

    In the view in which the free motion that follows is searched: it is made but once.
    """
    line = last.line
    state = line.state.with_robot(np.concatenate([base, arm, [last.closing] * 2]))
    if line.scene_q is not None:
        state = state.with_scene(line.scene_q[-1])
    return free_view(context, state, "arm", holding_contact_pairs(context, state)).free(arm)


def proven_line(
    context: PlanningContext, line: Line, q: Array, arms: Array, tally: Tally
) -> Segment | None:
    """The timing for a line, and the proof that nothing but the declared touches on the way.

    Args:
        q: the robot's configuration (n,) at its beginning. arms: (m, 7), at the line's poses.
        tally: told why, where there is none.
    """
    group, spec = context.robot.group("arm"), context.scene.robot.base
    path = Path("arm", arms)
    # The quintic's peak speed is 15/8 of its mean.
    duration = line.length / line.speed * 1.875
    trajectory = through(path, group, duration, context.settings.speed)
    breaks = trajectory.breaks
    middles = trajectory(0.5 * (breaks[:-1] + breaks[1:]))
    if not keeps_limits(trajectory, group):
        tally.reasons["the arm can't keep the line"] += 1
        return None
    off = _off_chord(trajectory(breaks), middles).max(axis=0)
    bulge = travel_bound("arm", spec, np.zeros(7), off, held_reach(context, line.state))
    state = line.state.with_robot(q)
    proof = prove(context, state, path, line.allowed, CONTACT + bulge, line.scene_q, line=True)
    if proof.hit is not None:
        tally.reasons["too near on the way"] += 1
        return None
    return Segment(path, trajectory, proof.clearance)


def keeps_limits(trajectory: Trajectory, group: JointGroup) -> bool:
    """Whether a trajectory stays within its group's position limits at all times."""
    knots = trajectory(trajectory.breaks)
    spare = np.minimum(knots - group.lower, group.upper - knots).min(axis=0)
    if (spare > _FAR).all():
        return True
    low, high = trajectory.extremes()
    return bool((low >= group.lower).all() and (high <= group.upper).all())


def _off_chord(knots: Array, middles: Array) -> Array:
    """How far (n - 1, k) each point between two knots (n, k) lies off the chord between them."""
    chord, out = np.diff(knots, axis=0), middles - knots[:-1]
    share = (out * chord).sum(axis=1) / np.maximum((chord * chord).sum(axis=1), 1e-18)
    return np.asarray(np.abs(out - share[:, None] * chord))
