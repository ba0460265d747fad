"""Execution monitor: runs a plan motion by motion, observes, and replans on deviations.

After each motion the monitor compares the observed State with the one that the motion should have
led to (``deviations``). How a grasp is executed:

1. The plan has a motion of the fingers, with a guard. The guard's force is ``grip_force`` (0.5) of
   the scene's ``finger_force`` (default 40 N): 20 N.
2. The executor closes the fingers. In ``physics.executor`` the motors of each finger press with at
   most ``finger_force``, and the motion ends with ``grip, ... N`` once both fingers have pressed
   with the guard's force for ``grip_time`` (0.05 s). Without a grip it ends with ``closed on
   nothing`` or ``no grip``.
3. The executor observes which item is held: one that both fingers press on with at least
   ``held_force`` (2 N).
4. The expected State has the item in the hand. If the observed State has not, the deviation
   ``not-held`` interrupts the plan, and the next search tries other grasps first. The deviation
   ``slipped`` does so if the item lies elsewhere in the hand.

The shares, times and forces are ``motion.thresholds.Thresholds``. The fingers keep pressing with
``finger_force`` until a motion opens them.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import Array, frozen, inverse, transform
from galley.domain.listener import Listener
from galley.domain.scene.model import Scene
from galley.domain.state import Placement, State, item_pose, item_poses
from galley.execution.deviations import Deviation, deviations, pose_difference
from galley.execution.executor import Executor, Observation
from galley.execution.recovery.plans import Facts, InterruptedPlan, MotionPlan
from galley.motion.effects import state_after_grasp, with_acting_hand
from galley.motion.motion import Motion
from galley.motion.thresholds import Thresholds
from galley.planning import GroundAction
from galley.robots.model import RobotModel
from galley.skills.manipulation.context import NOTHING_FAILED, FailedContacts

if TYPE_CHECKING:
    from galley.execution.recovery.replanning import TampReplanner

OBSERVATIONS = 10  # number averaged: their mean has a third of the noise of one
_REST_PERIOD = 0.25  # s between two observations that show whether everything is at rest
_REST_DISTANCE = 0.002  # m by which an item at rest may seem to move in that time, by noise
_REST_OBSERVATIONS = 8  # at most, after which execution goes on
_END = "the end"
_NEARER = 0.9  # a push makes progress if it leaves less than this share of the error before it
REST = 0.5  # s of standing still at the end of a run, so that items come to rest


@dataclass(frozen=True)
class Recovery:
    """One recovery from a deviation.

    Attributes:
        time: seconds into the run.
        motion: label of the motion just run; empty before the first, ``the end`` after the last.
        noticed: the deviations.
        ended: why the motion ended early; empty if it did not.
        how: ``resumed``, ``planned anew``, ``nothing left to do`` or ``failed``.
        plan: the actions from then on.
        motions: the number of their motions.
        planning_s: wall time of planning, seconds.
        correction: whether it only corrects a push that came nearer to its goal; then it doesn't
            count as a recovery.
    """

    time: float
    motion: str
    noticed: tuple[Deviation, ...]
    ended: str
    how: str
    plan: tuple[str, ...]
    motions: int
    planning_s: float
    correction: bool = False

    def as_json(self) -> dict[str, object]:
        """The recovery as plain data, as ``report.json`` has it."""
        noticed = [vars(deviation) for deviation in self.noticed]
        plain = vars(self) | {"time_s": self.time, "noticed": noticed, "plan": list(self.plan)}
        del plain["time"]
        return plain


@dataclass(frozen=True)
class Release:
    """The release of an item, with the error of its observed pose.

    Attributes:
        time_s: seconds into the run.
        item: the item's name.
        off_m: distance from the expected position, m.
        turned_rad: angle from the expected orientation, rad.
    """

    time_s: float
    item: str
    off_m: float
    turned_rad: float


@dataclass
class ExecutionMonitor:
    """Runs a MotionPlan and its recoveries, and records them.

    The record can be read after ``run``, also if an exception ended it.

    Attributes:
        executor: runs and observes motions.
        scene: the scene as planned.
        robot: the robot's model.
        limits: thresholds of deviations, and the largest number of recoveries.
        replanner: finds a plan from an observed State.
        listener: reports progress.
        motions: the motions executed, in order.
        recoveries: the recoveries, in order, corrections of pushes included.
        releases: the releases of items, in order.
        failed: grasps and placements that failed; later plans try others first.
        pushes: number of pushes executed.
        facts: the facts after the last plan, by the effects of its actions.
    """

    executor: Executor
    scene: Scene
    robot: RobotModel
    limits: Thresholds
    replanner: TampReplanner
    listener: Listener
    motions: list[Motion] = field(default_factory=list)
    recoveries: list[Recovery] = field(default_factory=list)
    releases: list[Release] = field(default_factory=list)
    failed: FailedContacts = NOTHING_FAILED
    pushes: int = 0
    facts: Facts = frozenset()
    _left: dict[str, float] = field(default_factory=dict)  # least error after a push, m, by item

    def run(self, current: MotionPlan) -> Failure | None:
        """Execute a plan and the recoveries that it needs.

        The loop executes the current plan until a deviation interrupts it or it ends. At the end
        the goal is checked in the observed State; a part that doesn't hold interrupts as well.
        After an interruption the replanner's plan becomes the current one.

        Args:
            current: the plan to execute first.

        Returns:
            A Failure if a recovery is impossible or there were too many, else None.
        """
        state = average_observations(self.executor)
        # The world may differ from the plan before the first motion.
        off = self._deviations(current.start, state)
        while True:
            at_start = _Interruption(0, None, "", "", 0.0, off, state) if off else None
            interruption = at_start or self._execute(current)
            if interruption is None:
                self.executor.wait(REST)
                self.facts = current.facts[-1]
                state = average_observations(self.executor)
                missing = self.replanner.unmet(state, self.facts)
                if not missing:
                    return None
                noticed = tuple(Deviation("goal", "", 0.0, "", words) for words in missing)
                interruption = _Interruption(len(current.plan), None, _END, "", 0.0, noticed, state)
            following = self._recover(current, interruption)
            if isinstance(following, Failure):
                self.executor.wait(REST)
                return following
            if interruption.name == _END and not following.motions:
                return None  # no plan repairs the goal: the validator reports what is missing
            current, off = following, ()

    def _deviations(
        self, expected: State, seen: State, motion: Motion | None = None
    ) -> tuple[Deviation, ...]:
        """The deviations of ``seen`` from ``expected``, after ``motion`` if there was one."""
        limits = self.limits
        # A pushed item must not keep an error as large as a standing one may have.
        if motion is not None and motion.slide is not None:
            limits = replace(limits, item_moved=limits.slid, item_turned=limits.slid_turn)
        return deviations(self.scene, self.robot, expected, seen, limits)

    def _execute(self, current: MotionPlan) -> _Interruption | None:
        """Run the motions until one ends with deviations, which interrupt the plan; else None.

        The expected State is predicted from motion to motion, by the effects of each. It is never
        reset to the observed one, so errors can't add up unnoticed.
        """
        expected = current.start
        last = self.recoveries[-1:]
        kind = "correction" if last and last[0].correction else "recovery"
        prefix = f"{kind} {len(self.recoveries)}: " if last else ""
        put: tuple[int, int] | None = None  # the action that put an item down, and the item
        for k, motion in enumerate(current.motions):
            self.listener.fraction("executing", k / len(current.motions))
            before, expected = expected, state_after_grasp(self.scene, self.robot, motion, expected)
            held = with_acting_hand(self.robot.acting(motion.hand), before).held
            action = str(current.plan[motion.action_index]) if current.plan else "(end)"
            name = f"{prefix}{action} | {motion.phase}"
            self.motions.append(motion)
            self.listener.executing(name)
            observation = self.executor.execute(motion, name)
            if held is not None and held not in expected.in_hands:
                put = motion.action_index, held
                self._released(held, expected, observation)
            self.pushes += motion.slide is not None
            if not self._deviations(expected, observation.state, motion):
                continue
            # A single observation is noisy, and something may still be falling: look again.
            state = self._wait_until_at_rest(observation.state)
            off = self._deviations(expected, state, motion)
            if off:
                empty = held is None and state.held is None
                # Blame the placement if the same action has put an item down; blame the grasp if
                # the hand was empty before and still is, and the fingers gripped nothing.
                if put is not None and put[0] == motion.action_index:
                    self._fell(put[1], expected, off)
                elif empty and not observation.ended.startswith("grip"):
                    self._missed(expected)
                end = observation.ended, observation.time
                return _Interruption(motion.action_index, motion, name, *end, off, state)
        return None

    def _missed(self, expected: State) -> None:
        """Record as failed the grasp by which ``expected`` holds an item."""
        if expected.held is None:
            return
        X_HI = expected.items[expected.held].X_PI
        p_HT = self.robot.acting(expected.hand).p_HT
        grasp = expected.held, inverse(X_HI) @ transform(None, p_HT)
        self.failed = replace(self.failed, grasps=(*self.failed.grasps, grasp))
        name = self.scene.items[expected.held].name
        self.listener.stage(f"the grasp of {name} closed on nothing: other grasps come first")

    def _fell(self, index: int, expected: State, off: tuple[Deviation, ...]) -> None:
        """Record an item's placement as failed if the item did not stay there."""
        name = self.scene.items[index].name
        if any(d.name == name and d.kind in ("toppled", "moved") for d in off):
            X_WI = item_pose(self.scene, expected, index, np.eye(4))  # it is in no hand
            placements = (*self.failed.placements, (index, X_WI))
            self.failed = replace(self.failed, placements=placements)
            self.listener.stage(f"{name} did not stay where it was put: other places come first")

    def _wait_until_at_rest(self, seen: State) -> State:
        """Wait until nothing falls or rolls any more, for a few observations at most.

        Returns:
            The State observed last.
        """
        state = average_observations(self.executor, seen)
        for _ in range(_REST_OBSERVATIONS):
            self.executor.wait(_REST_PERIOD)
            before, state = state, average_observations(self.executor)
            hand_pose = self.robot.acting(state.hand).kinematics.hand_pose
            poses = [item_poses(self.scene, s, hand_pose(s.q)) for s in (before, state)]
            moved = (pose_difference(*pair)[0] for pair in zip(*poses, strict=True))
            if max(moved, default=0.0) < _REST_DISTANCE:
                break
        return state

    def _released(self, index: int, expected: State, observation: Observation) -> None:
        """Record the release of an item, unless it is still in the hand."""
        X_WH = np.eye(4)  # unused: the item isn't held
        poses = [item_pose(self.scene, s, index, X_WH) for s in (expected, observation.state)]
        off, turned = pose_difference(*poses)
        name = self.scene.items[index].name
        if observation.state.held != index:
            self.releases.append(Release(observation.time, name, off, turned))

    def _corrects(self, interruption: _Interruption) -> str:
        """A message on the error that a push has left, if another push is to correct it.

        It is if the pushed item's error is the only deviation, and the smallest so far. Otherwise
        the result is empty, and the deviation counts as a recovery.
        """
        slide = None if interruption.motion is None else interruption.motion.slide
        if slide is None or any(
            d.name != slide.item or d.kind != "moved" for d in interruption.noticed
        ):
            return ""
        index = self.scene.item_index[slide.item]
        away, turn = slide.left(item_pose(self.scene, interruption.state, index, np.eye(4)))
        # The turn counts as the way of the item's rim: half its mean side times the angle.
        radius = 0.25 * float(self.scene.items[index].size[:2].sum())
        left = away + radius * turn
        if left >= _NEARER * self._left.get(slide.item, np.inf):
            return ""
        self._left[slide.item] = left
        return f"push {self.pushes}: {1e3 * away:.0f} mm and {np.degrees(turn):.0f} degrees left"

    def _recover(self, current: MotionPlan, interruption: _Interruption) -> MotionPlan | Failure:
        """The plan to continue with after an interruption; a Failure if there is none.

        The replanner finds a plan and its motions, which are then optimized and checked. Every
        outcome is added to ``recoveries``.
        """
        number = len(self.recoveries) + 1
        corrects = self._corrects(interruption)
        words = "; ".join(map(str, interruption.noticed))
        words += f" ({interruption.ended})" if interruption.ended else ""
        self.listener.stage(corrects or f"recovery {number}: {words}")
        counted = sum(not recovery.correction for recovery in self.recoveries) + 1
        if not corrects and counted > self.limits.recoveries:
            return Failure(
                FailureKind.BUDGET,
                f"the world was not as planned {counted} times, the last time: {words}",
                tuple(d.name for d in interruption.noticed if d.name),
                {"recoveries": float(self.limits.recoveries)},
            )
        began = time.perf_counter()
        facts = current.facts[min(interruption.index, len(current.facts) - 1)]
        interrupted = InterruptedPlan(
            current.plan, interruption.index, facts, interruption.motion, self.failed
        )
        recovery = self.replanner.replan(interrupted, interruption.state, number)
        following: MotionPlan | Failure
        plan: tuple[GroundAction, ...]
        if isinstance(recovery, Failure):
            following, how, plan, count = recovery, "failed", (), 0
        else:
            how, plan, count = recovery.how, recovery.plan, len(recovery.motions)
            motions = self.replanner.finish(recovery.motions, recovery.start)
            if isinstance(motions, Failure):
                following, how = motions, "failed"
            else:
                following = MotionPlan(plan, motions, recovery.start, recovery.facts)
        was = interruption
        actions, spent = tuple(map(str, plan)), time.perf_counter() - began
        record = was.time, was.name, was.noticed, was.ended, how, actions, count, spent
        self.recoveries.append(Recovery(*record, bool(corrects)))
        if isinstance(following, Failure):
            return following.within(f"after {words}")
        self.listener.stage(f"going on, {how}: {', '.join(actions) or 'no action'}")
        return following


@dataclass(frozen=True)
class _Interruption:
    """Where execution was interrupted, and why.

    Attributes:
        index: of the interrupted action; the length of the plan after its last one.
        motion: the motion just run; None before the first and after the last.
        name: its label in the log; ``the end`` after the last motion.
        ended: why it ended early, if it did.
        time: seconds into the run.
        noticed: the deviations.
        state: as observed, at rest.
    """

    index: int
    motion: Motion | None
    name: str
    ended: str
    time: float
    noticed: tuple[Deviation, ...]
    state: State


def average_observations(executor: Executor, first: State | None = None) -> State:
    """The mean of ``OBSERVATIONS`` observations; of the first two only, if these are equal.

    Positions are averaged; of rotations it takes the one nearest to their mean (Horn 1987). If an
    item's parent changes, only the observations with the last parent count.

    Args:
        executor: observes.
        first: an observation made already, which counts as the first.
    """
    states = [executor.observe() if first is None else first]
    for _ in range(OBSERVATIONS - 1):
        state = executor.observe()
        if len(states) == 1 and _same(state, states[0]):
            return state  # no noise: more observations would be the same
        states.append(state)
    latest = states[-1]
    items = []
    for index, placement in enumerate(latest.items):
        poses = [s.items[index].X_PI for s in states if s.items[index].parent == placement.parent]
        items.append(Placement(placement.parent, frozen(_mean(np.array(poses)))))
    return replace(
        latest,
        q=frozen(np.mean([s.q for s in states], axis=0)),
        scene_q=frozen(np.mean([s.scene_q for s in states], axis=0)),
        items=tuple(items),
    )


def _same(a: State, b: State) -> bool:
    """Whether two States are equal to the last bit."""
    return (
        np.array_equal(a.q, b.q)
        and np.array_equal(a.scene_q, b.scene_q)
        and all(
            x.parent == y.parent and np.array_equal(x.X_PI, y.X_PI)
            for x, y in zip(a.items, b.items, strict=True)
        )
    )


def _mean(poses: Array) -> Array:
    """The mean (4, 4) of poses (m, 4, 4) near each other.

    The rotation is the orthogonal matrix nearest to the mean of the matrices, by their SVD.
    """
    U, _, Vt = np.linalg.svd(poses[:, :3, :3].mean(axis=0))
    # The last sign makes the result a rotation, never a reflection.
    turn = np.diag([1.0, 1.0, np.sign(np.linalg.det(U @ Vt))])
    return transform(U @ turn @ Vt, poses[:, :3, 3].mean(axis=0))
