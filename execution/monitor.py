"""Execution monitor: runs a plan motion by motion, observes, and replans on deviations."""

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
from galley.motion.effects import outcome, seen_by
from galley.motion.motion import Motion
from galley.motion.thresholds import Thresholds
from galley.planning import GroundAction
from galley.robots.model import RobotModel
from galley.skills.manipulation.context import NOTHING_FAILED, FailedContacts

if TYPE_CHECKING:
    from galley.execution.recovery.replanning import TampReplanner

OBSERVATIONS = 10  # that are averaged: a third of the noise of one
_REST_PERIOD = 0.25  # s between two observations that tell whether everything is at rest
_REST_DISTANCE = 0.002  # m that an item at rest may have moved meanwhile, noise included
_REST_OBSERVATIONS = 8
_END = "the end"
_NEARER = 0.9  # of what was left before, that a push leaves at most
REST = 0.5  # s of standing still at the end of a run, so that items come to rest


@dataclass(frozen=True)
class Recovery:
    """One recovery from a deviation.

    Attributes:
        time: seconds into the run. motion: the one just run, empty before the first.
        noticed: the deviations. ended: why the motion ended early, if it did.
        how: ``resumed``, ``planned anew``, ``nothing left to do`` or ``failed``.
        plan: the actions from then on. motions: their number.
        planning_s: wall time of planning.
        correction: of a push that came nearer to its goal: it doesn't count as a recovery.
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
        """The report's form."""
        noticed = [vars(each) for each in self.noticed]
        found = vars(self) | {"time_s": self.time, "noticed": noticed, "plan": list(self.plan)}
        del found["time"]
        return found


@dataclass(frozen=True)
class Release:
    """A released item: its observed against its expected pose.

    Attributes:
        time_s: seconds into the run. item: its name.
        off_m: distance. turned_rad: angle.
    """

    time_s: float
    item: str
    off_m: float
    turned_rad: float


@dataclass
class ExecutionMonitor:
    """Runs a MotionPlan and its recoveries. Readable afterwards, also if interrupted.

    Attributes:
        executor, scene, robot, limits, replanner: to work with.
        listener: hears of progress.
        motions, recoveries, releases: in order.
        failed: grasps and placements that failed.
        pushes: how many were executed.
        facts: at the end, according to the plan.
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
    _left: dict[str, float] = field(default_factory=dict)  # least after a push of an item, m

    def run(self, current: MotionPlan) -> Failure | None:
        """Execute a plan and the recoveries that it takes; a Failure if one is impossible."""
        state = average_observations(self.executor)
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
                return None  # nothing to do about it: validation says what is missing
            current, off = following, ()

    def _deviations(
        self, expected: State, seen: State, motion: Motion | None = None
    ) -> tuple[Deviation, ...]:
        limits = self.limits
        if motion is not None and motion.slide is not None:
            limits = replace(limits, item_moved=limits.slid, item_turned=limits.slid_turn)
        return deviations(self.scene, self.robot, expected, seen, limits)

    def _execute(self, current: MotionPlan) -> _Interruption | None:
        """Run the motions until one ends with deviations."""
        expected = current.start
        last = self.recoveries[-1:]
        kind = "correction" if last and last[0].correction else "recovery"
        again = f"{kind} {len(self.recoveries)}: " if last else ""
        put: tuple[int, int] | None = None  # the action that put an item down, and the item
        for k, motion in enumerate(current.motions):
            self.listener.fraction("executing", k / len(current.motions))
            before, expected = expected, outcome(self.scene, self.robot, motion, expected)
            held = seen_by(self.robot.acting(motion.hand), before).held
            action = str(current.plan[motion.action_index]) if current.plan else "(end)"
            name = f"{again}{action} | {motion.phase}"
            self.motions.append(motion)
            self.listener.executing(name)
            observation = self.executor.execute(motion, name)
            if held is not None and held not in expected.in_hands:
                put = motion.action_index, held
                self._released(held, expected, observation)
            self.pushes += motion.slide is not None
            if not self._deviations(expected, observation.state, motion):
                continue
            state = self._wait_until_at_rest(observation.state)
            off = self._deviations(expected, state, motion)
            if off:
                empty = held is None and state.held is None
                if put is not None and put[0] == motion.action_index:
                    self._fell(put[1], expected, off)
                elif empty and not observation.ended.startswith("grip"):
                    self._missed(expected)
                end = observation.ended, observation.time
                return _Interruption(motion.action_index, motion, name, *end, off, state)
        return None

    def _missed(self, expected: State) -> None:
        """Remember the grasp by which an item should be held now."""
        if expected.held is None:
            return
        X_HI = expected.items[expected.held].X_PI
        p_HT = self.robot.acting(expected.hand).p_HT
        grasp = expected.held, inverse(X_HI) @ transform(None, p_HT)
        self.failed = replace(self.failed, grasps=(*self.failed.grasps, grasp))
        name = self.scene.items[expected.held].name
        self.listener.stage(f"the grasp of {name} closed on nothing: others come first")

    def _fell(self, index: int, expected: State, off: tuple[Deviation, ...]) -> None:
        """Remember where an item was put down, if it did not stay there."""
        name = self.scene.items[index].name
        if any(each.name == name and each.kind in ("toppled", "moved") for each in off):
            X_WI = item_pose(self.scene, expected, index, np.eye(4))  # it is in no hand
            placements = (*self.failed.placements, (index, X_WI))
            self.failed = replace(self.failed, placements=placements)
            self.listener.stage(f"{name} did not stay where it was put: other places come first")

    def _wait_until_at_rest(self, seen: State) -> State:
        """The State once nothing falls or rolls any more, or after a few observations."""
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
        X_WH = np.eye(4)  # unused: the item isn't held
        poses = [item_pose(self.scene, each, index, X_WH) for each in (expected, observation.state)]
        off, turned = pose_difference(*poses)
        name = self.scene.items[index].name
        if observation.state.held != index:
            self.releases.append(Release(observation.time, name, off, turned))

    def _corrects(self, interruption: _Interruption) -> str:
        """What a push left, if that is why it was interrupted, and less than ever before."""
        slide = None if interruption.motion is None else interruption.motion.slide
        if slide is None or any(
            each.name != slide.item or each.kind != "moved" for each in interruption.noticed
        ):
            return ""
        index = self.scene.item_index[slide.item]
        away, turn = slide.left(item_pose(self.scene, interruption.state, index, np.eye(4)))
        radius = 0.25 * float(self.scene.items[index].size[:2].sum())
        left = away + radius * turn
        if left >= _NEARER * self._left.get(slide.item, np.inf):
            return ""
        self._left[slide.item] = left
        return f"push {self.pushes}: {1e3 * away:.0f} mm and {np.degrees(turn):.0f} degrees left"

    def _recover(self, current: MotionPlan, interruption: _Interruption) -> MotionPlan | Failure:
        """The plan to continue with."""
        number = len(self.recoveries) + 1
        corrects = self._corrects(interruption)
        words = "; ".join(map(str, interruption.noticed))
        words += f" ({interruption.ended})" if interruption.ended else ""
        self.listener.stage(corrects or f"recovery {number}: {words}")
        counted = sum(not each.correction for each in self.recoveries) + 1
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
        found = self.replanner.replan(interrupted, interruption.state, number)
        following: MotionPlan | Failure
        plan: tuple[GroundAction, ...]
        if isinstance(found, Failure):
            following, how, plan, count = found, "failed", (), 0
        else:
            how, plan, count = found.how, found.plan, len(found.motions)
            motions = self.replanner.finish(found.motions, found.start)
            if isinstance(motions, Failure):
                following, how = motions, "failed"
            else:
                following = MotionPlan(plan, motions, found.start, found.facts)
        was = interruption
        actions, spent = tuple(map(str, plan)), time.perf_counter() - began
        told = was.time, was.name, was.noticed, was.ended, how, actions, count, spent
        self.recoveries.append(Recovery(*told, bool(corrects)))
        if isinstance(following, Failure):
            return following.within(f"after {words}")
        self.listener.stage(f"going on, {how}: {', '.join(actions) or 'no action'}")
        return following


@dataclass(frozen=True)
class _Interruption:
    """Where execution was interrupted: the action, the motion, and the observed State."""

    index: int
    motion: Motion | None
    name: str
    ended: str
    time: float
    noticed: tuple[Deviation, ...]
    state: State


def average_observations(executor: Executor, first: State | None = None) -> State:
    """The mean of several observations; two if they are equal.

    Positions are averaged; rotations by the rotation nearest to their mean (Horn 1987). Of an item
    whose parent changes, only observations with the last parent count.
    """
    states = [executor.observe() if first is None else first]
    for _ in range(OBSERVATIONS - 1):
        state = executor.observe()
        if len(states) == 1 and _same(state, states[0]):
            return state
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
    return (
        np.array_equal(a.q, b.q)
        and np.array_equal(a.scene_q, b.scene_q)
        and all(
            x.parent == y.parent and np.array_equal(x.X_PI, y.X_PI)
            for x, y in zip(a.items, b.items, strict=True)
        )
    )


def _mean(poses: Array) -> Array:
    """The mean of poses (m, 4, 4) near each other."""
    U, _, Vt = np.linalg.svd(poses[:, :3, :3].mean(axis=0))
    turn = np.diag([1.0, 1.0, np.sign(np.linalg.det(U @ Vt))])
    return transform(U @ turn @ Vt, poses[:, :3, 3].mean(axis=0))
