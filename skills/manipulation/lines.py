"""Arm configurations along the lines of a Manipulation: checked, timed and proven.

Rejected candidates are counted by reason, for the message if none is left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from galley.collision.checker import MARGIN, Checker, Contact
from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import Array
from galley.motion.motion import Motion, Record
from galley.motion.path import Path
from galley.motion.planners.rrt import bisection_order
from galley.motion.trajectory.timing import rest_to_rest, spline_through
from galley.motion.trajectory.trajectory import Trajectory
from galley.robots.kinematics import Kinematics
from galley.robots.model import JointGroup, RobotModel
from galley.skills.manipulation.context import PlanningContext
from galley.skills.manipulation.manipulation import Line, Manipulation, Stroke
from galley.skills.manipulation.proof import (
    CONTACT_CLEARANCE,
    CONTACT_MARGIN,
    free_view,
    held_reach,
    holding_contact_pairs,
    prove,
)

OUT_OF_REACH = "out of the arm's reach"
_SAMPLED_HITS = 100  # states in collision that are examined for what is in the way
_FAR = 0.2  # rad, between knots this far from a limit the curve can't exceed it
_STROKE_STATES = 6  # checked while the fingers open or close
_STROKE_SPEED = 0.5  # share of the fingers' limits


@dataclass
class Tally:
    """Counts rejected candidates by reason.

    Attributes:
        tried: number of candidates.
        reasons: how often each reason occurred.
        short: least distance (m) beyond the stretched arm, of those that are out of its reach.
    """

    tried: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    short: float = np.inf
    _hits: list[Callable[[], tuple[str, ...]]] = field(default_factory=list)

    def hit(self, what: Callable[[], tuple[str, ...]]) -> None:
        """Count a collision; ``what`` returns the names of what is hit and is called if needed."""
        self.reasons["in collision"] += 1
        self._hits.append(what)

    def out_of_reach(self, short: float = 0.0) -> None:
        """Count a candidate ``short`` metres beyond the arm, or that no configuration reaches."""
        self.reasons[OUT_OF_REACH] += 1
        self.short = min(self.short, short)

    def bodies(self) -> Counter[str]:
        """How often each body or item was hit, in a sample of at most 100 candidates."""
        step = max(1, -(-len(self._hits) // _SAMPLED_HITS))
        return Counter(name for what in self._hits[::step] for name in what())

    def failure(self, what: str) -> Failure:
        """A ``budget`` Failure with the reasons; it proves nothing."""
        reasons = [f"{reason} {n}x" for reason, n in self.reasons.most_common()]
        if 0.0 < self.short < np.inf:
            far = f", by {self.short:.2f} m at least"
            reasons = [r + far if r.startswith(OUT_OF_REACH) else r for r in reasons]
        message = f"no way found to {what} in {self.tried} tries"
        if not self.tried:
            message = f"no room found to {what}"
        if reasons:
            message += f" ({', '.join(reasons)})"
        named = [body for body, _ in self.bodies().most_common(3)]
        if named:
            message += f"; most often in the way: {', '.join(named)}"
        return Failure(
            FailureKind.BUDGET, message, tuple(named), numbers={"tries": float(self.tried)}
        )


@dataclass(frozen=True)
class Segment:
    """A Line with arm configurations (n, 7) at its poses and their timing.

    Attributes:
        clearance: m, to all undeclared bodies, proven or measured.
    """

    path: Path
    trajectory: Trajectory
    clearance: float

    def motion(self, line: Line, action_index: int, phase: str) -> Motion:
        """The Motion along the Line."""
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
    """A Line, or a Stroke at the end of one, with the openings of the fingers.

    Attributes:
        line: the line; for a stroke the line before it.
        opening: of each finger (m) at its beginning. closing: at its end.
        stroke: whether it is a stroke.
        checker: makes the checker of its states, with the margin in contact, when it is needed.
    """

    line: Line
    opening: float
    closing: float
    stroke: bool
    checker: Callable[[], Checker]


def manipulation_parts(
    context: PlanningContext, manipulation: Manipulation
) -> tuple[ManipulationPart, ...]:
    """A Manipulation's steps with openings. Steps in the same world share a checker."""
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
    """Whether two lines have the same world and allowed pairs, and move no joint."""
    return (
        a.scene_q is None
        and b.scene_q is None
        and a.allowed == b.allowed
        and a.state.items == b.state.items
        and np.array_equal(a.state.scene_q, b.state.scene_q)
    )


@dataclass(frozen=True)
class _StateCheck:
    """A check of configurations Q (m, n), with scene joints (m, nj) or None."""

    context: PlanningContext
    checker: Checker
    Q: Array
    scene_q: Array | None = None

    def free(self) -> NDArray[np.bool_]:
        """Which configurations keep the margin (m,)."""
        return self.checker.free_many(self.Q, self.scene_q)

    def touching(self, k: int) -> tuple[str, ...]:
        """What the k-th configuration is nearest to, other than robot links."""
        scene_q = None if self.scene_q is None else self.scene_q[k]
        return touched(self.context, self.checker.contacts(self.Q[k], scene_q)[:1])

    def passes(self, tally: Tally) -> bool:
        """Whether all are free; the first that isn't is counted."""
        free = self.free()
        if free.all():
            return True
        tally.hit(lambda: self.touching(int(np.argmin(free))))
        return False


def stroke_motion(
    context: PlanningContext, q: Array, stroke: Stroke, action_index: int, phase: str
) -> Motion:
    """The Motion of a Stroke from the robot's configuration q (n,)."""
    group = context.robot.group("fingers")
    path = Path(
        "fingers",
        np.stack([q[context.robot.slice("fingers")], np.full(group.size, stroke.opening)]),
    )
    trajectory = rest_to_rest(path, group, _STROKE_SPEED)
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
    """Configurations (m, n) while the fingers move from q (n,) to an opening."""
    now = q[context.robot.slice("fingers")]
    return context.robot.with_groups(q, fingers=np.linspace(now, opening, _STROKE_STATES))


def touched(context: PlanningContext, contacts: Sequence[Contact]) -> tuple[str, ...]:
    """Names of the bodies and items in some contacts."""
    names = (name for contact in contacts for name in (contact.a, contact.b))
    return tuple(name for name in names if name not in context.robot.links)


def free_at_contact(
    context: PlanningContext,
    steps: tuple[ManipulationPart, ...],
    base: Array,
    options: Array,
    tally: Tally,
) -> Array:
    """The collision-free ones of the arm configurations (k, 7) at the contact."""
    first = steps[0]
    moved = first.line.scene_q
    scene_q = None if moved is None else np.repeat(moved[-1:], len(options), axis=0)
    Q = assemble(context.robot, base, options, first.opening)
    look = _StateCheck(context, first.checker(), Q, scene_q)
    free = look.free()
    if not free.any():
        tally.hit(lambda: look.touching(0))
    return np.asarray(options[free])


def assemble(robot: RobotModel, base: Array, arms: Array, openings: float | Array) -> Array:
    """Configurations (m, n) from bases (3,) or (m, 3), arms (m, 7), openings () or (m,).

    An opening (m) is that of each finger.
    """
    Q = np.empty((len(arms), robot.size))
    Q[:, robot.slice("base")] = base
    Q[:, robot.slice("arm")] = arms
    Q[:, robot.slice("fingers")] = np.reshape(openings, (-1, 1))
    return Q


def follow_lines(
    context: PlanningContext,
    manipulation: Manipulation,
    base: Array,
    contact: Array,
    tally: Tally,
    steps: tuple[ManipulationPart, ...] | None = None,
) -> tuple[Segment, ...] | None:
    """The segments of all lines for an arm configuration (7,) at the contact, or None.

    The cheapest tests come first: whether the arm can follow; sampled states, with the full margin
    at both ends, where free motions connect; then the proofs.

    Args:
        steps: its ``manipulation_parts``, if made already.
    """
    steps = manipulation_parts(context, manipulation) if steps is None else steps
    paths = _followed(steps, base, contact, context.robot.kinematics)
    if paths is None:
        tally.reasons["the arm can't keep the line"] += 1
        return None
    if not _sampled(context, steps, paths, base, tally):
        return None
    lines = [part for part in steps if not part.stroke]
    found = []
    for part, arms in zip(lines, paths, strict=True):
        q = assemble(context.robot, base, arms[:1], part.opening)[0]
        segment = proven_line(context, part.line, q, arms, tally)
        if segment is None:
            return None
        found.append(segment)
    return tuple(found)


def _followed(
    steps: tuple[ManipulationPart, ...], base: Array, contact: Array, kinematics: Kinematics
) -> list[Array] | None:
    """Arm configurations (n, 7) along each line; the first line is followed backwards."""
    found: list[Array] = []
    for part in steps:
        if part.stroke:
            continue
        if not found:
            path = kinematics.follow(contact, part.line.poses[::-1], base)
            path = None if path is None else path[::-1]
        else:
            path = kinematics.follow(found[-1][-1], part.line.poses, base)
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
    """Whether sampled states along lines and strokes are free; the first hit is counted."""
    first, last = steps[0], steps[-1]
    if not _margin_kept(context, first, 0, paths[0][0], first.opening, base, tally):
        return False
    if not all(look.passes(tally) for look in _state_checks(context, steps, paths, base)):
        return False
    stays = all(part.line.scene_q is None for part in steps)  # else the base may be too near, too
    if stays and context.compiled and _free_motion_can_start(context, last, paths[-1][-1], base):
        return True
    return _margin_kept(context, last, -1, paths[-1][-1], last.closing, base, tally)


def _state_checks(
    context: PlanningContext, steps: tuple[ManipulationPart, ...], paths: list[Array], base: Array
) -> Iterator[_StateCheck]:
    """The checks in order; lines and strokes with the same checker make one."""
    rest = iter(paths)
    arms = paths[0]
    for checker, group in groupby(steps, key=lambda part: part.checker):
        rows, scene_q = [], None
        for part in group:
            if part.stroke:
                openings = np.linspace(part.opening, part.closing, _STROKE_STATES)
                still = np.repeat(arms[-1:], _STROKE_STATES, axis=0)
                rows.append(assemble(context.robot, base, still, openings))
                continue
            arms = next(rest)
            order = _order(len(arms))
            rows.append(assemble(context.robot, base, arms[order], part.opening))
            scene_q = None if part.line.scene_q is None else part.line.scene_q[order]
        Q = np.concatenate(rows) if len(rows) > 1 else rows[0]
        yield _StateCheck(context, checker(), Q, scene_q)


@cache
def _order(n: int) -> NDArray[np.int64]:
    """Indices of n states: the ends, then by bisection, to find hits early."""
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
    """Whether pose ``index`` of a line, one of its ends, keeps the margin of free motions."""
    line = part.line
    checker = context.checker(line.state, holding_contact_pairs(context, line.state), MARGIN)
    scene_q = None if line.scene_q is None else line.scene_q[index][None]
    Q = assemble(context.robot, base, arm[None], opening)
    return _StateCheck(context, checker, Q, scene_q).passes(tally)


def _free_motion_can_start(
    context: PlanningContext, last: ManipulationPart, arm: Array, base: Array
) -> bool:
    """Whether the arm (7,) has the full margin after the last line.

    Checked in the view that the next free motion uses, so that it is built only once.
    """
    line = last.line
    state = line.state.with_robot(assemble(context.robot, base, arm[None], last.closing)[0])
    if line.scene_q is not None:
        state = state.with_scene(line.scene_q[-1])
    return free_view(context, state, "arm", holding_contact_pairs(context, state)).free(arm)


def proven_line(
    context: PlanningContext, line: Line, q: Array, arms: Array, tally: Tally
) -> Segment | None:
    """A line's timing, with proof that only declared pairs touch; None if there is none.

    Args:
        q: the robot's configuration (n,) at the beginning. arms: (m, 7), at the line's poses.
        tally: gets the reason for None.
    """
    group, kinematics = context.robot.group("arm"), context.robot.kinematics
    path = Path("arm", arms)
    # The peak speed of the quintic is 15/8 of the mean.
    duration = line.length / line.speed * 1.875
    trajectory = spline_through(path, group, duration, context.settings.speed)
    breaks = trajectory.breaks
    middles = trajectory(0.5 * (breaks[:-1] + breaks[1:]))
    if not keeps_limits(trajectory, group):
        tally.reasons["the arm can't keep the line"] += 1
        return None
    off = _off_chord(trajectory(breaks), middles).max(axis=0)
    reach = held_reach(context, line.state)
    bulge = kinematics.travel_bound("arm", np.zeros(group.size), off, reach)
    state = line.state.with_robot(q)
    proof = prove(
        context, state, path, line.allowed, CONTACT_CLEARANCE + bulge, line.scene_q, line=True
    )
    if proof.hit is not None:
        tally.reasons["too near on the way"] += 1
        return None
    return Segment(path, trajectory, proof.clearance)


def keeps_limits(trajectory: Trajectory, group: JointGroup) -> bool:
    """Whether a trajectory never exceeds its group's position limits."""
    knots = trajectory(trajectory.breaks)
    spare = np.minimum(knots - group.lower, group.upper - knots).min(axis=0)
    if (spare > _FAR).all():
        return True
    low, high = trajectory.extremes()
    return bool((low >= group.lower).all() and (high <= group.upper).all())


def _off_chord(knots: Array, middles: Array) -> Array:
    """Deviation (n - 1, k) of the points between knots (n, k) from the chords."""
    chord, out = np.diff(knots, axis=0), middles - knots[:-1]
    share = (out * chord).sum(axis=1) / np.maximum((chord * chord).sum(axis=1), 1e-18)
    return np.asarray(np.abs(out - share[:, None] * chord))
