"""Plans the Motions of an action one by one: free motions, lines in contact, gripper motions.

``MotionBuilder`` keeps the State after the last Motion. A free motion (``free_motion``) moves the
arm or the base to a goal with the full margin to everything: RRT-Connect or the baseline RRT
searches for a path and checks sampled states of its edges, on the kernel or in PyBullet; the path
is shortcut, and then proven free between its states (``PathPlanner.prove``).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from galley.collision.view import View
from galley.compiled.build import PLANNERS, ensure
from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import Array, nearest_turn, transform
from galley.domain.state import State
from galley.motion.certify import Certificate
from galley.motion.effects import state_after, with_acting_hand
from galley.motion.motion import Motion, Record
from galley.motion.path import Path
from galley.motion.planners import compiled_search
from galley.motion.planners.compiled_search import SearchOptions
from galley.motion.planners.drives import drivable
from galley.motion.planners.planning import search
from galley.motion.planners.rrt import RRT, EndRegion, joint_space, path_free, view_space
from galley.motion.trajectory.timing import rest_to_rest
from galley.skills.manipulation.context import PlanningContext
from galley.skills.manipulation.escape import escape
from galley.skills.manipulation.lines import ManipulationSolution, gripper_motion, gripper_states
from galley.skills.manipulation.manipulation import GripperMotion, Line
from galley.skills.manipulation.proof import (
    free_view,
    held_attachment,
    holding_contact_pairs,
    prove,
)

BOTH = "base+arm"
_RADIUS = 0.6  # longest edge of a tree, in the metric of the group
_FINENESS = (1.0, 0.5, 0.25)  # edge resolution of each search, relative to that of the space


@dataclass
class MotionBuilder:
    """Plans an action's Motions one by one.

    Methods return None if they have added their Motions, else a Failure.

    Attributes:
        context: the scene, robot, world and settings.
        state: the State after the last Motion added.
        action_index: position of the action in the plan.
        rng: the source of randomness.
        motions: the Motions added so far.
    """

    context: PlanningContext
    state: State
    action_index: int
    rng: np.random.Generator
    motions: list[Motion] = field(default_factory=list)

    def add(self, motion: Motion) -> None:
        """Append a Motion, and update the State to the one after it."""
        touching = self.context.always_touching(self.state)
        hand, allowed = self.context.robot.hand, motion.allowed | touching
        if touching or hand:
            motion = replace(motion, allowed=allowed, hand=hand)
        self.motions.append(motion)
        self.state = state_after(self.context.scene, self.context.robot, motion, self.state)

    def move_base(self, goal: Array, step: str, reason: str = "") -> Failure | None:
        """Fold the arm if necessary, then drive to the base pose ``goal`` (3,).

        Nothing moves if the base is there.

        Args:
            step: prefix of the phases' names.
            reason: why this goal was chosen, for the report.
        """
        q = self.state.q[self.context.robot.slice("base")]
        base = self.context.robot.group("base")
        heading = nearest_turn(goal[2], q[2], base.lower[2], base.upper[2])
        goal = np.array([*goal[:2], heading])
        if np.abs(q - goal).max() < 1e-9:
            return None
        lying = self.context.lying_on_base(self.state)
        if lying:
            names = tuple(sorted(set().union(*lying) & set(self.context.scene.item_index)))
            message = f"{' and '.join(names)} on the robot's base would be carried along"
            return Failure(FailureKind.BUDGET, message, names).within(f"{step}drive")
        aside = escape(self.context, self.state)  # the robot may start too near to something
        if isinstance(aside, Failure):
            return aside.within(f"{step}give way")
        for motion in aside:
            self.add(replace(motion, action_index=self.action_index, phase=step + motion.phase))
        failed = self.fold(f"{step}fold the arm", goal)
        return failed or self.free("base", goal[None], f"{step}drive", reason)

    def fold(self, phase: str, base: Array | None = None) -> Failure | None:
        """Move the arm into a folded configuration, unless it is in one.

        If possible, into one that is free of collision at another base pose ``base`` (3,), too.
        """
        context, robot = self.context, self.context.robot
        arm, goals = self.state.q[robot.slice("arm")], folded_configurations(context, self.state)
        if base is not None and len(goals):
            checker = context.checker(self.state, holding_contact_pairs(context, self.state))
            there = checker.free_many(robot.with_groups(self.state.q, base=base, arm=goals))
            goals = goals[there] if there.any() else goals
        if len(goals) and np.abs(goals - arm).max(axis=1).min() <= 1e-6:
            return None
        return self.free("arm", goals, phase) if len(goals) else _no_room(phase)

    def free(self, group: str, goals: Array, phase: str, reason: str = "") -> Failure | None:
        """Move a joint group to one of the goals (m, k), without contact."""
        motion = free_motion(
            self.context, self.state, group, goals, phase, self.action_index, self.rng
        )
        if isinstance(motion, Failure):
            return motion
        self.add(replace(motion, record=replace(motion.record, reason=reason)))
        return None

    def run(self, reached: ManipulationSolution, step: str = "") -> Failure | None:
        """Add the Motions of a whole manipulation: drive, reach, lines and strokes."""
        opening = reached.manipulation.opening
        failed = self.move_base(reached.base, step, reached.reason)
        if failed is not None:
            return failed
        # Where obstacles are close, the fingers open only after the arm has moved.
        opens_first = self._room_for(opening)
        if opens_first:
            self.move_fingers(opening, step)
        failed = self.free("arm", reached.before[None], f"{step}reach")
        if failed is not None:
            return failed
        if not opens_first:
            if not self._room_for(opening):
                return Failure(
                    FailureKind.BUDGET, "no room to open the fingers, before or after the reach"
                ).within(f"{step}open fingers")
            self.move_fingers(opening, step)
        segments = iter(reached.segments)
        for part in reached.manipulation.steps:
            if isinstance(part, Line):
                line = next(segments).motion(part, self.action_index, step + part.phase)
                self.add(line)
            else:
                self._stroke(part, step)
        return None

    def move_fingers(self, opening: float, step: str) -> None:
        """Move the empty fingers until each is ``opening`` (m) from the middle."""
        robot = self.context.robot
        q = self.state.q[robot.slice("fingers")]
        if self.state.held is None and np.abs(q - robot.fingers_at(opening)).max() > 1e-9:
            verb = "open" if opening > robot.half_width(q) else "partly close"
            self._stroke(GripperMotion(f"{verb} fingers", opening, frozenset(), ()), step)

    def _stroke(self, part: GripperMotion, step: str) -> None:
        """Add the Motion of a stroke."""
        q = self.state.q
        self.add(gripper_motion(self.context, q, part, self.action_index, step + part.phase))

    def _room_for(self, opening: float) -> bool:
        """Whether the empty fingers can move to ``opening`` (m) where the hand is."""
        Q = gripper_states(self.context, self.state.q, opening)
        if self.state.held is not None or np.abs(Q[-1] - Q[0]).max() <= 1e-9:
            return True
        return bool(self.context.checker(self.state).free_many(Q).all())


def _no_room(phase: str) -> Failure:
    """The Failure if no folded configuration is free of collision."""
    return Failure(FailureKind.BUDGET, "the folded arm has no room").within(phase)


def at_rest(
    context: PlanningContext, state: State, action_index: int, rng: np.random.Generator
) -> tuple[tuple[Motion, ...], State]:
    """Motions that fold the arms of the hands which don't act, and the State after them.

    The arm of the hand that acted last is folded first. An arm for which no path is found stays
    where it is.
    """
    robot, motions = context.robot, list[Motion]()
    for hand in dict.fromkeys((state.hand, *robot.views)):
        if hand != robot.hand:
            other = context.acting(hand)
            builder = MotionBuilder(other, with_acting_hand(other.robot, state), action_index, rng)
            builder.fold(f"rest the {hand} arm")
            motions, state = motions + builder.motions, builder.state
    return tuple(motions), with_acting_hand(robot, state)


def folded_configurations(context: PlanningContext, state: State) -> Array:
    """Folded arm configurations (m, n) that are free at the current stance, best first.

    They are variants of the arm's configuration at the start, which leave room for a held item.
    Empty if none is free.
    """
    checker = context.checker(state, holding_contact_pairs(context, state))
    group = context.robot.group("arm")
    for arms in context.robot.kinematics.folded(context.folded_arm):
        arms = arms[((arms >= group.lower) & (arms <= group.upper)).all(axis=1)]
        arms = arms[checker.free_many(context.robot.with_groups(state.q, arm=arms))]
        if len(arms):
            break
    return arms


def free_motion(
    context: PlanningContext,
    state: State,
    group: str,
    goals: Array,
    phase: str,
    action_index: int,
    rng: np.random.Generator,
) -> Motion | Failure:
    """Move one joint group from ``state`` to one of ``goals`` (m, k).

    1. The planner of the settings finds a path (for the base RRT-Connect, in PyBullet always the
       baseline RRT). If the arm alone has no path, base and arm move together.
    2. The path is shortcut. With the setting ``shortest`` the baseline QP shortens an arm's path
       instead, if its result is proven free.
    3. The path is proven free. If the proof finds a collision between sampled states, the search
       is repeated with finer edges.

    The trajectory stops at each corner; ``optimize`` makes the final one. If start or goal has room
    for no more, half of the margin must do.
    """
    began = time.perf_counter()
    goals, start = np.atleast_2d(goals), state.q[context.robot.slice(group)]
    margin = _margin(context, state, group, start, goals)
    for finer in _FINENESS:
        # Where the proof finds a hit between sampled states, search again with finer edges.
        finder = PathPlanner(context, state, group, finer, margin, rng)
        planned, planner = finder.search(start, goals)
        blocked = isinstance(planned, Failure) and planned.kind is FailureKind.BUDGET
        if group == "arm" and blocked and context.robot.holonomic:
            # The base makes room for the arm and comes back.
            group, start = BOTH, state.q[context.robot.slice(BOTH)]
            base = np.repeat(state.q[None, context.robot.slice("base")], len(goals), axis=0)
            goals = np.hstack([base, goals])
            finder = PathPlanner(context, state, group, finer, margin, rng)
            planned, planner = finder.search(start, goals)
        if isinstance(planned, Failure):
            return planned.within(phase)
        record = Record(planner, length_rrt=planned.length, margin_m=margin)
        if group == "arm" and context.settings.optimize == "shortest":
            path, record = _optimized(planned, finder, record)
            if path is not None:
                break
        path = finder.shortcut(planned)
        if path is None:
            continue
        certificate = finder.prove(path)
        if certificate.hit is None:
            record = replace(
                record, length_shortcut=path.length, min_clearance_m=certificate.clearance
            )
            break
    else:
        why = "no path could be proven free" if path else "no room was found to turn along a path"
        return Failure(
            FailureKind.BUDGET,
            f"{why} in {len(_FINENESS)} searches",
            numbers={"searches": float(len(_FINENESS))},
        ).within(phase)
    spent = 1e3 * (time.perf_counter() - began)
    record = replace(record, planning_ms=spent - record.optimization_ms)
    held, allowed = held_attachment(context, state), finder.allowed
    trajectory = rest_to_rest(
        path, context.robot.group(path.group), context.speed(state, path.group)
    )
    return Motion(action_index, phase, group, path, trajectory, held, allowed, record=record)


class PathPlanner:
    """Plans paths of one joint group in one State, on the kernel or with PyBullet's checks.

    Args:
        group: the joint group that moves.
        finer: factor on the distance between the states that are checked on an edge.
        margin: distance (m) that the sampled states keep; half of it is proven.
        rng: the source of randomness.
    """

    def __init__(
        self,
        context: PlanningContext,
        state: State,
        group: str,
        finer: float,
        margin: float,
        rng: np.random.Generator,
    ) -> None:
        self.context, self.state, self.group, self.rng = context, state, group, rng
        self.margin = margin
        self.allowed = holding_contact_pairs(context, state)
        self._rrt = RRT(iterations=context.settings.rrt_iterations)
        self._view: View | None = None
        self._free: Callable[[Array], bool]
        if context.compiled:
            view = free_view(context, state, group, self.allowed, margin)
            self._view = view = view if finer == 1.0 else view.finer(finer)
            self._seed = int(rng.integers(2**62))
            self._rrt = replace(self._rrt, radius=_RADIUS)
            self._space, self._free = view_space(view), view.free
        else:
            self._space = joint_space(context.robot, group).finer(finer)
            self._free = context.free(state, group, self.allowed, margin)

    def search(self, start: Array, goals: Array) -> tuple[Path | Failure, str]:
        """A path from start (k,) to one of goals (m, k), and the planner's name."""
        settings, view = self.context.settings, self._view
        if self.group == "arm" and (view is None or settings.planner == "rrt"):
            return self.by_region(start, goals), "rrt"
        if view is None:
            return self.rrt(start, goals, None), "rrt"
        options = SearchOptions(radius=_RADIUS, iterations=settings.iterations, shortcuts=0)
        path = search(view, start, goals, self._seed, "rrt-connect", options)
        return path, "rrt-connect"

    def rrt(self, start: Array, goals: Array, region: EndRegion | None) -> Path | Failure:
        """A path of the baseline RRT into a region or, if that is None, to one of goals (m, k)."""
        return self._rrt.plan(self._space, self._free, start, region, goals, self.rng)

    def shortcut(self, path: Path) -> Path | None:
        """The path, shortened on the kernel, which also proves the new edges.

        In PyBullet it stays as it is, and ``optimize`` shortens it. For a differential base it then
        consists of turns and straight drives; None if there is no room for these.
        """
        path, base = self._shortened(path), self.context.robot.group(self.group)
        if not base.differential:
            return path
        way = drivable(path.waypoints, base, lambda points: self.free(Path(self.group, points)))
        return None if way is None else Path(self.group, way)

    def _shortened(self, path: Path) -> Path:
        """The path with shortcuts; unchanged without a kernel."""
        if self._view is None:
            return path
        shortcuts = self.context.settings.shortcuts
        options = SearchOptions(shortcuts=shortcuts, required=0.5 * self.margin)
        # The spheres alone are faster, if the path is free by them.
        view = self._view.spheres_only if self.free(path) else self._view
        ensure(PLANNERS)
        return compiled_search.shorten(path, view, self._seed, options)

    def prove(self, path: Path) -> Certificate:
        """Certify that the path keeps half of the margin."""
        required = 0.5 * self.margin
        if self._view is None:
            return prove(self.context, self.state, path, self.allowed, required, margin=self.margin)
        unproven = self._view.unproven(path.waypoints, required)  # (edge, share of it)
        hit = None if unproven is None else sum(unproven)
        return Certificate(hit, required, len(path.waypoints))

    def free(self, path: Path) -> bool:
        """Whether the path's sampled states are free."""
        if self._view is None:
            return path_free(self._space, self._free, path)
        points = path.waypoints
        return bool(self._view.edges_free(points[:-1], points[1:]).all())

    def by_region(self, start: Array, goals: Array) -> Path | Failure:
        """A path of the RRT into a region around the hand's pose at the first goal, then to a goal.

        The path may arrive with another elbow position than the goals (m, k) have. The next motion
        starts at a goal, so connect to one of them by an edge, or plan to one of them instead.
        """
        hand, l1 = self.context.hand(self.state), self.context.settings.l1
        X_HT = transform(None, self.context.robot.p_HT)

        def pose(arm: Array) -> Array:
            return hand(arm) @ X_HT

        region = EndRegion(pose, pose(goals[0]), radius=0.02 if l1 else 0.01, l1=l1)
        path = self.rrt(start, goals, region)
        if isinstance(path, Failure) or (np.abs(goals - path.end).max(axis=1) < 1e-9).any():
            return path
        for goal in goals:
            if self.free(Path(self.group, np.stack([path.end, goal]))):
                return Path(self.group, np.vstack([path.waypoints, goal]))
        return self.rrt(start, goals, None)


def _margin(
    context: PlanningContext, state: State, group: str, start: Array, goals: Array
) -> float:
    """The margin (m) that start (k,) and one of goals (m, k) keep: the full one, or half of it."""
    allowed = holding_contact_pairs(context, state)
    spacing = context.robot.spacing
    for margin in (spacing.margin, spacing.narrow):
        free = (
            free_view(context, state, group, allowed, margin).free
            if context.compiled
            else context.free(state, group, allowed, margin)
        )
        if free(start) and any(map(free, goals)):
            return margin
    return spacing.margin  # the planner will say what is in collision


def _optimized(path: Path, finder: PathPlanner, record: Record) -> tuple[Path | None, Record]:
    """The path of the QP if it is proven free, else None; and the record, with the outcome."""
    from galley.optimization.shortest import shortest  # late: it loads a QP solver

    began = time.perf_counter()
    result = shortest(path)
    proven = None
    if isinstance(result, Failure):
        outcome = f"kept the planned path: {result.message}"
    else:
        outcome = "kept the planned path: the QP's result is in collision"
        # Sampled states first: they find most hits and are cheaper than a proof.
        if finder.free(result):
            certificate = finder.prove(result)
            if certificate.hit is None:
                proven, outcome = result, "shortest"
                record = replace(
                    record,
                    length_optimized=result.length,
                    min_clearance_m=certificate.clearance,
                )
    spent = 1e3 * (time.perf_counter() - began)
    return proven, replace(record, optimizer=outcome, optimization_ms=spent)
