"""From a Manipulation that was reached to the Motions that run it, state by state."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import Array
from galley.domain.state import State
from galley.motion.effects import after
from galley.motion.motion import Motion
from galley.skills.manipulation.lines import stroke_motion, stroke_states
from galley.skills.manipulation.manipulation import Line, Stroke
from galley.skills.manipulation.reach import Reached
from galley.skills.solving.finders import BOTH
from galley.skills.solving.free_motion import free_motion
from galley.skills.solving.proof import grip
from galley.skills.solving.workbench import Workbench


@dataclass
class Builder:
    """Collects the Motions of one action and keeps the State that they lead to.

    Methods return None when a motion was added and a Failure when it could not be planned.
    """

    bench: Workbench
    state: State
    action_index: int
    rng: np.random.Generator
    motions: list[Motion] = field(default_factory=list)

    def add(self, motion: Motion) -> None:
        """Append a motion and advance the state."""
        self.motions.append(motion)
        self.state = after(self.bench.scene, self.bench.robot, motion, self.state)

    def move_base(self, goal: Array, step: str) -> Failure | None:
        """Fold the arm if it isn't, then drive to the base pose ``goal`` (3,)."""
        q = self.state.q[self.bench.robot.slice("base")]
        if np.abs(q - goal).max() < 1e-9:
            return None
        arm = self.state.q[self.bench.robot.slice("arm")]
        goals = folded(self.bench, self.state)
        if len(goals) == 0:
            return self._drive_and_fold(goal, f"{step}drive and fold the arm")
        if np.abs(goals - arm).max(axis=1).min() > 1e-6:
            failed = self.fold(f"{step}fold the arm")
            if failed is not None:
                return failed
        return self._free("base", goal[None], f"{step}drive")

    def _drive_and_fold(self, goal: Array, phase: str) -> Failure | None:
        """Both at once, where the arm has no room to fold before the base has left."""
        q = self.state.q.copy()
        q[self.bench.robot.slice("base")] = goal
        arms = folded(self.bench, self.state.with_robot(q))
        if len(arms) == 0:
            return _no_room(phase)
        goals = np.hstack([np.repeat(goal[None], len(arms), axis=0), arms])
        return self._free(BOTH, goals, phase)

    def fold(self, phase: str) -> Failure | None:
        """Bring the arm, and what it holds, into a folded configuration."""
        goals = folded(self.bench, self.state)
        return self._free("arm", goals, phase) if len(goals) else _no_room(phase)

    def _free(self, group: str, goals: Array, phase: str) -> Failure | None:
        motion = free_motion(
            self.bench, self.state, group, goals, phase, self.action_index, self.rng
        )
        if isinstance(motion, Failure):
            return motion
        self.add(motion)
        return None

    def run(self, reached: Reached, step: str = "") -> Failure | None:
        """Everything from where the robot is: drive, move the arm there, lines and strokes."""
        opening = reached.manipulation.opening
        failed = self.move_base(reached.base, step)
        if failed is not None:
            return failed
        # Between things that stand close, the fingers wait until the hand is elsewhere.
        now = self._room_for(opening)
        if now:
            self.open_fingers(opening, step)
        failed = self._free("arm", reached.before[None], f"{step}reach")
        if failed is not None:
            return failed
        if not now:
            if not self._room_for(opening):
                return Failure(
                    FailureKind.BUDGET, "no room to open the fingers, neither here nor there"
                ).within(f"{step}open fingers")
            self.open_fingers(opening, step)
        segments = iter(reached.segments)
        for part in reached.manipulation.steps:
            if isinstance(part, Line):
                line = next(segments).motion(part, self.action_index, step + part.phase)
                self.add(line)
            else:
                self._stroke(part, step)
        return None

    def open_fingers(self, opening: float, step: str) -> None:
        """Bring the empty fingers to ``opening`` (m each)."""
        where = self.bench.robot.slice("fingers")
        if self.state.held is None and np.abs(self.state.q[where] - opening).max() > 1e-9:
            self._stroke(Stroke("open fingers", opening, frozenset(), ()), step)

    def _stroke(self, part: Stroke, step: str) -> None:
        q = self.state.q
        self.add(stroke_motion(self.bench, q, part, self.action_index, step + part.phase))

    def _room_for(self, opening: float) -> bool:
        """Whether the empty fingers can be brought to ``opening`` where the hand is."""
        Q = stroke_states(self.bench, self.state.q, opening)
        if self.state.held is not None or np.abs(Q[-1] - Q[0]).max() <= 1e-9:
            return True
        return bool(self.bench.checker(self.state).free_many(Q).all())


def _no_room(phase: str) -> Failure:
    return Failure(FailureKind.BUDGET, "the folded arm finds no room").within(phase)


def folded(bench: Workbench, state: State) -> Array:
    """Folded arm configurations (m, 7) that are free where the base stands, best first.

    The start's configuration, with the hand turned and the arm swung to either side, so that a
    held item finds room; empty if none is free.
    """
    checker = bench.checker(state, grip(bench, state))
    where = bench.robot.slice("arm")
    group = bench.robot.group("arm")
    turns = (0.0, np.pi / 2, -np.pi / 2, np.pi, -np.pi)
    for lift in (0.0, 0.35):
        arms = np.array(
            [
                bench.tucked + np.array([swing, 0.0, 0.0, lift, 0.0, lift * 0.5, turn])
                for swing in (0.0, 0.7, -0.7, 1.4, -1.4)
                for turn in turns
            ]
        )
        arms = arms[((arms >= group.lower) & (arms <= group.upper)).all(axis=1)]
        Q = np.repeat(state.q[None], len(arms), axis=0)
        Q[:, where] = arms
        arms = arms[checker.free_many(Q)]
        if len(arms):
            break
    return arms
