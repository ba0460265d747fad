"""Arm configurations along the lines of a Manipulation: checked, timed and proven free.

Rejected candidates are counted by reason (``RejectionCounts``), for the message if none is left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from galley.collision.checker import ContactPair, Pair
from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import Array, frozen
from galley.domain.state import State, item_pose, placement_at
from galley.motion.motion import Motion, Record
from galley.motion.path import Path
from galley.motion.trajectory.timing import rest_to_rest, spline_through
from galley.motion.trajectory.trajectory import Trajectory
from galley.robots.kinematics import Kinematics
from galley.robots.model import JointGroup, RobotModel
from galley.skills.manipulation.context import PlanningContext, without
from galley.skills.manipulation.manipulation import GripperMotion, Line, Manipulation
from galley.skills.manipulation.proof import (
    CONTACT_CLEARANCE,
    CONTACT_MARGIN,
    held_reach,
    holding_contact_pairs,
    prove,
)

OUT_OF_REACH = "out of the arm's reach"
IN_COLLISION = "in collision"
TOO_NARROW = "nearer than the margin"
_SAMPLED_HITS = 25  # states in collision that are examined to name what is in the way
_FAR = 0.2  # rad, between knots this far from a limit the curve can't exceed it
_STROKE_STATES = 6  # states checked while the fingers open or close
_STROKE_SPEED = 0.5  # share of the fingers' limits that a stroke uses


@dataclass
class RejectionCounts:
    """Counts rejected candidates by reason.

    Attributes:
        tried: number of candidates tried.
        reasons: how often each reason occurred.
    """

    tried: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    _hits: list[Callable[[], tuple[str, ...]]] = field(default_factory=list)

    def hit(self, what: Callable[[], tuple[str, ...]], reason: str) -> None:
        """Count a collision; ``what`` returns the names that are hit, if they are needed."""
        self.reasons[reason] += 1
        self._hits.append(what)

    def bodies(self) -> Counter[str]:
        """How often each body or item was hit, in a sample of at most 25 of the collisions."""
        step = max(1, -(-len(self._hits) // _SAMPLED_HITS))
        return Counter(name for what in self._hits[::step] for name in what())

    def failure(self, what: str) -> Failure:
        """A ``budget`` Failure with the reasons; it proves nothing.

        Args:
            what: the task, for the message, after "no way found to".
        """
        reasons = [f"{reason} {n}x" for reason, n in self.reasons.most_common()]
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
class LineSegment:
    """The arm's motion along a Line.

    Attributes:
        path: arm configurations (n, 7) at the line's poses.
        trajectory: their timing.
        clearance: distance (m) that all pairs keep which may not touch, proven or measured.
        margin: distance (m) kept where free motions connect.
    """

    path: Path
    trajectory: Trajectory
    clearance: float
    margin: float

    def motion(self, line: Line, action_index: int, phase: str) -> Motion:
        """The Motion along the Line, as part of an action of the plan."""
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
            line.slide,
        )


@dataclass(frozen=True)
class ManipulationSolution:
    """A Manipulation with base and arm configurations.

    Attributes:
        manipulation: the lines and strokes.
        base: the base pose (3,).
        segments: the arm's segment for each Line, in order.
        reason: why this base pose was chosen, if there was a choice.
    """

    manipulation: Manipulation
    base: Array
    segments: tuple[LineSegment, ...]
    reason: str = ""

    @property
    def margin(self) -> float:
        """The margin (m) kept where the free motions before and after it connect."""
        return min(self.segments[0].margin, self.segments[-1].margin)

    @property
    def before(self) -> Array:
        """The arm configuration (7,) at the beginning of the first line."""
        return self.segments[0].path.start

    def state_after(self, robot: RobotModel) -> State:
        """The State after the last line, but with base and arm where they were before it all."""
        last = self.manipulation.steps[-1]
        assert isinstance(last, Line)
        strokes = [s for s in self.manipulation.steps if isinstance(s, GripperMotion)]
        q = last.state.q.copy()
        opening = strokes[-1].opening if strokes else self.manipulation.opening
        q[robot.slice("fingers")] = robot.fingers_at(opening)
        return last.state.with_robot(q)


@dataclass(frozen=True)
class ManipulationPart:
    """A Line, or a Stroke at the end of one, with the openings of the fingers.

    Attributes:
        line: the line; for a stroke the line before it, with the world as at its end.
        opening: distance of each finger from the middle (m) at its beginning.
        closing: the same at its end.
        stroke: whether the part is a stroke.
    """

    line: Line
    opening: float
    closing: float
    stroke: bool


def manipulation_parts(manipulation: Manipulation) -> tuple[ManipulationPart, ...]:
    """The steps of a Manipulation, each with the openings of the fingers."""
    parts: list[ManipulationPart] = []
    opening = manipulation.opening
    for step in manipulation.steps:
        if isinstance(step, GripperMotion):
            line = parts[-1].line  # the first step is a Line
            still = line.state if line.scene_q is None else line.state.with_scene(line.scene_q[-1])
            allowed = step.allowed | line.allowed
            line, closing = replace(line, state=still, scene_q=None, allowed=allowed), step.opening
        else:
            line, closing = step, opening
        parts.append(ManipulationPart(line, opening, closing, isinstance(step, GripperMotion)))
        opening = closing
    return tuple(parts)


def _count_hit(
    context: PlanningContext,
    state: State,
    allowed: frozenset[Pair],
    margin: float,
    Q: Array,
    scene_q: Array | None,
    tally: RejectionCounts,
    line: bool = False,
) -> None:
    """Count a collision, for none of the configurations Q (m, n) keeps a margin.

    The reason is the margin if some of them (for a ``line``: all) collide with nothing; else it is
    the collision.
    """
    checker = context.checker(state, allowed, margin)
    apart = context.checker(state, allowed, 0.0).free_many(Q, scene_q)
    q, joints = Q[0], None if scene_q is None else scene_q[0]
    reason = TOO_NARROW if (apart.all() if line else apart.any()) else IN_COLLISION
    tally.hit(lambda: touched(context, checker.contacts(q, joints)[:1]), reason)


def gripper_motion(
    context: PlanningContext, q: Array, stroke: GripperMotion, action_index: int, phase: str
) -> Motion:
    """The Motion of a Stroke from the robot's configuration q (n,)."""
    group = context.robot.group("fingers")
    path = Path(
        "fingers",
        np.stack([q[context.robot.slice("fingers")], context.robot.fingers_at(stroke.opening)]),
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


def gripper_states(context: PlanningContext, q: Array, opening: float) -> Array:
    """Configurations (m, n) of the robot while the fingers move from q (n,) to an opening (m)."""
    now = q[context.robot.slice("fingers")]
    then = context.robot.fingers_at(opening)
    return context.robot.with_groups(q, fingers=np.linspace(now, then, _STROKE_STATES))


def touched(context: PlanningContext, contacts: Sequence[ContactPair]) -> tuple[str, ...]:
    """Names of the bodies and items in some contacts, without the robot's links."""
    names = (name for contact in contacts for name in (contact.a, contact.b))
    return tuple(name for name in names if name not in context.robot.links)


def free_at_contact(
    context: PlanningContext,
    first: ManipulationPart,
    base: Array,
    options: Array,
    tally: RejectionCounts,
) -> Array:
    """Those of the arm configurations (k, 7) that are free at the end of the first line.

    If none is free, ``tally`` counts a collision.
    """
    line = first.line
    scene_q = None if line.scene_q is None else np.repeat(line.scene_q[-1:], len(options), axis=0)
    Q = assemble(context.robot, line.state.q, base, options, first.opening)
    free = context.checker(line.state, line.allowed, CONTACT_MARGIN).free_many(Q, scene_q)
    if not free.any():
        _count_hit(context, line.state, line.allowed, CONTACT_MARGIN, Q, scene_q, tally)
    return np.asarray(options[free])


def assemble(
    robot: RobotModel, q: Array, base: Array, arms: Array, openings: float | Array
) -> Array:
    """Configurations (m, n) of the robot: q (n,) with other values for base, arm and fingers.

    Args:
        base: base poses (3,) or (m, 3).
        arms: arm configurations (m, 7).
        openings: distance of each finger from the middle, metres: () or (m,).
    """
    Q = np.repeat(q[None], len(arms), axis=0)
    Q[:, robot.slice("base")] = base
    Q[:, robot.slice("arm")] = arms
    Q[:, robot.slice("fingers")] = robot.fingers_at(np.reshape(openings, -1))
    return Q


def follow_lines(
    context: PlanningContext,
    parts: tuple[ManipulationPart, ...],
    base: Array,
    contact: Array,
    tally: RejectionCounts,
) -> tuple[LineSegment, ...] | None:
    """The segments of all lines for an arm configuration (7,) at the contact, or None.

    The cheapest tests come first: can the arm follow the lines? Do the ends, where free motions
    connect, keep the margin? Are sampled states free of collision? Last come the proofs.
    """
    paths = _followed(parts, base, contact, context.robot.kinematics)
    if paths is None:
        tally.reasons["the arm can't follow the line"] += 1
        return None

    robot, first, last = context.robot, parts[0], parts[-1]
    spacing = robot.spacing

    def margin_kept(
        line: Line, arms: Array, some: slice, opening: float
    ) -> tuple[NDArray[np.int64], float] | None:
        """Indices of the poses of a line that keep a margin, and that margin (m).

        The full margin if any pose keeps it, else half of it; None if no pose keeps even that.
        """
        allowed = holding_contact_pairs(context, line.state)
        Q = assemble(robot, line.state.q, base, arms[some], opening)
        scene_q = None if line.scene_q is None else line.scene_q[some]
        for margin in (spacing.margin, spacing.narrow):
            free = context.checker(line.state, allowed, margin).free_many(Q, scene_q)
            if free.any():
                return np.flatnonzero(free), margin
        _count_hit(context, line.state, allowed, spacing.narrow, Q, scene_q, tally)
        return None

    # Free motions connect where a margin is kept: the first and the last line are cut there. Where
    # there is little room the hand comes and leaves by a shorter way, or the margin is half of it.
    begin = margin_kept(first.line, paths[0], slice(None, -1), first.opening)
    end = margin_kept(last.line, paths[-1], slice(1, None), last.closing)
    if begin is None or end is None:
        return None
    start, stop, margin = int(begin[0][0]), int(end[0][-1]) + 2, min(begin[1], end[1])
    first = replace(first, line=_between(first.line, start, None))
    parts = (first, *parts[1:-1], replace(last, line=_between(last.line, None, stop)))
    paths = [paths[0][start:], *paths[1:-1], paths[-1][:stop]]
    if not _sampled(context, parts, paths, base, tally):
        return None
    lines = [part for part in parts if not part.stroke]
    segments = []
    for part, arms in zip(lines, paths, strict=True):
        q = assemble(robot, part.line.state.q, base, arms[:1], part.opening)[0]
        segment = proven_line(context, part.line, q, arms, tally)
        if segment is None:
            return None
        segments.append(replace(segment, margin=margin))
    return tuple(segments)


def _followed(
    steps: tuple[ManipulationPart, ...], base: Array, contact: Array, kinematics: Kinematics
) -> list[Array] | None:
    """Arm configurations (n, 7) along each line; None if the arm can't follow one.

    The first line is followed backwards, for the arm is solved at its end, the contact.
    """
    paths: list[Array] = []
    for part in steps:
        if part.stroke:
            continue
        if not paths:
            path = kinematics.follow(contact, part.line.poses[::-1], base)
            path = None if path is None else path[::-1]
        else:
            path = kinematics.follow(paths[-1][-1], part.line.poses, base)
        if path is None:
            return None
        paths.append(path)
    return paths


def _between(line: Line, begin: int | None, end: int | None) -> Line:
    """The part of a line between two of its poses."""
    scene_q = None if line.scene_q is None else line.scene_q[begin:end]
    return replace(line, poses=line.poses[begin:end], scene_q=scene_q)


def _sampled(
    context: PlanningContext,
    parts: tuple[ManipulationPart, ...],
    paths: list[Array],
    base: Array,
    tally: RejectionCounts,
) -> bool:
    """Whether sampled states along lines and strokes are free; the first hit is counted."""
    robot = context.robot
    rest, arms = iter(paths), paths[0]
    for part in parts:
        line = part.line
        if part.stroke:
            openings = np.linspace(part.opening, part.closing, _STROKE_STATES)
            arms_there = np.repeat(arms[-1:], _STROKE_STATES, axis=0)
            Q = assemble(robot, line.state.q, base, arms_there, openings)
        else:
            arms = next(rest)
            Q = assemble(robot, line.state.q, base, arms, part.opening)
        # A pushed item moves along, so each state has a checker of its own.
        if line.slide is None or part.stroke:
            state = line.state
            free = context.checker(state, line.allowed, CONTACT_MARGIN).free_many(Q, line.scene_q)
        else:
            states = slide_states(context, line)
            checkers = (context.checker(s, line.allowed, CONTACT_MARGIN) for s in states)
            free = np.array([checker.free(q) for checker, q in zip(checkers, Q, strict=True)])
            state = states[int(free.argmin())]
        if not free.all():
            scene_q = None if line.scene_q is None else line.scene_q[~free]
            about = state, line.allowed, CONTACT_MARGIN, Q[~free], scene_q
            _count_hit(context, *about, tally, line=True)
            return False
    return True


def slide_states(context: PlanningContext, line: Line) -> list[State]:
    """The States at a line's poses, with the item that it pushes where it is predicted."""
    assert line.slide is not None
    scene, state = context.scene, line.state
    index = scene.item_index[line.slide.item]
    X_WI = item_pose(scene, state, index, np.eye(4))
    moved = line.slide.moved(X_WI, line.poses[:, :3, 3] - line.poses[0, :3, 3])
    placed = [placement_at(scene, frozen(X), state.scene_q) for X in moved]
    return [state.with_item(index, placement) for placement in placed]


def proven_line(
    context: PlanningContext, line: Line, q: Array, arms: Array, tally: RejectionCounts
) -> LineSegment | None:
    """The segment of a line, timed and proven to touch only allowed pairs; None if that fails.

    A pushed item is left out of the proof, but not of the states that were sampled before.

    Args:
        q: the robot's configuration (n,) at the beginning.
        arms: arm configurations (m, 7) at the line's poses.
        tally: counts the reason if there is no segment.
    """
    group, kinematics = context.robot.group("arm"), context.robot.kinematics
    path = Path("arm", arms)
    # The peak speed of the quintic is 15/8 of the mean.
    duration = line.length / line.speed * 1.875
    trajectory = spline_through(path, group, duration, context.settings.speed)
    breaks = trajectory.breaks
    middles = trajectory(0.5 * (breaks[:-1] + breaks[1:]))
    if not keeps_limits(trajectory, group):
        tally.reasons["the arm can't follow the line"] += 1
        return None
    # The proof covers the chords of the path. The spline bulges off them: require as much more
    # clearance as any point of the arm can move by that.
    off = _off_chord(trajectory(breaks), middles).max(axis=0)
    reach = held_reach(context, line.state)
    bulge = kinematics.travel_bound("arm", np.zeros(group.size), off, reach)
    state = line.state.with_robot(q)
    if line.slide is not None:
        state = without(state, (context.scene.item_index[line.slide.item],))
    proof = prove(
        context, state, path, line.allowed, CONTACT_CLEARANCE + bulge, line.scene_q, line=True
    )
    if proof.hit is not None:
        tally.reasons["too close on the way"] += 1
        return None
    return LineSegment(path, trajectory, proof.clearance, context.robot.spacing.margin)


def keeps_limits(trajectory: Trajectory, group: JointGroup) -> bool:
    """Whether a trajectory never exceeds its group's position limits."""
    # A quick test first, for finding the extremes takes longer.
    knots = trajectory(trajectory.breaks)
    spare = np.minimum(knots - group.lower, group.upper - knots).min(axis=0)
    if (spare > _FAR).all():
        return True
    low, high = trajectory.extremes()
    return bool((low >= group.lower).all() and (high <= group.upper).all())


def _off_chord(knots: Array, middles: Array) -> Array:
    """Deviation (n - 1, k) from the chords of the points in the middle between knots (n, k)."""
    chord, out = np.diff(knots, axis=0), middles - knots[:-1]
    share = (out * chord).sum(axis=1) / np.maximum((chord * chord).sum(axis=1), 1e-18)
    return np.asarray(np.abs(out - share[:, None] * chord))
