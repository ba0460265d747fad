"""The stage of a run in which its plan is executed: an executor, the loop, and what it asks for."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from galley.domain.failure import Failure
from galley.domain.listener import Listener
from galley.domain.log import Log
from galley.domain.pddl.formula import Fact
from galley.domain.pddl.model import Domain, Problem
from galley.domain.scene.model import Binding
from galley.domain.state import State, initial_state
from galley.execution.disturbance.faults import Faults
from galley.execution.disturbance.noise import Noise, stream
from galley.execution.executor import Executor
from galley.execution.kinematic import KinematicExecutor
from galley.execution.loop import Course, Finish, Loop
from galley.execution.physics.executor import PhysicsExecutor
from galley.execution.recovery.going_on import Continuation, UnderWay, go_on
from galley.motion.thresholds import Thresholds
from galley.skills import Skill, Workbench
from galley.tamp.goal import GoalJudge

ROBOT_FILES = "robot"  # folder in a run's folder


@dataclass
class Stage:
    """What execution needs; ``run`` does it.

    Attributes:
        bench: scene, robot, world, settings.
        domain, problem, bindings, skills: the task.
        faults: what goes wrong on purpose, or None. noise: how the true world differs from the
            scene, and what is seen of it; or None. seed: of the noise.
        limits: thresholds.
        finish: makes final trajectories, audited.
        listener: hears how it goes.
        node_limit: of each search of the task planner; None: its own.
        loop: afterwards, also of a run that was interrupted.
        planning_s: seconds spent on planning anew.
    """

    bench: Workbench
    domain: Domain
    problem: Problem
    bindings: Mapping[str, Binding]
    skills: Mapping[str, Skill]
    faults: Faults | None
    noise: Noise | None
    seed: int
    limits: Thresholds
    finish: Finish
    listener: Listener
    node_limit: int | None = None
    loop: Loop | None = None
    planning_s: float = field(default=0.0, init=False)

    def run(self, kind: str, course: Course, folder: Path) -> tuple[Log, Failure | None]:
        """Execute a course; its log is saved in ``folder`` even where this is interrupted.

        Args:
            kind: ``physics``, ``kinematic`` or ``files``.
        """
        bench = self.bench
        executor = self._executor(kind, folder)
        self.loop = Loop(
            executor,
            bench.scene,
            bench.robot,
            self.limits,
            self._go_on,
            self.finish,
            self._missing,
            self.listener,
        )
        try:
            failed = self.loop.run(course)
        finally:
            log = executor.log()
            executor.close()
            log.save(folder / "states.npz")
        return log, failed

    def _executor(self, kind: str, folder: Path) -> Executor:
        """An executor of a kind that begins as the scene says, or as noise has it."""
        scene, robot, noise = self.bench.scene, self.bench.robot, self.noise
        start = initial_state(scene)
        if kind == "physics":
            if noise is None:
                return PhysicsExecutor(scene, robot, start, fault=self.faults)
            true, looks = noise.world(scene, stream(self.seed, "world")), stream(self.seed, "looks")

            def eye(state: State) -> State:
                return noise.seen(true, state, looks)

            return PhysicsExecutor(true, robot, initial_state(true), fault=self.faults, eye=eye)
        if kind == "files":
            from galley.execution.files import FileExecutor

            inner = KinematicExecutor(self.bench.world, start, "files")
            return FileExecutor(inner, scene, robot, folder / ROBOT_FILES)
        return KinematicExecutor(self.bench.world, start)

    def _go_on(self, broken: UnderWay, state: State, number: int) -> Continuation | Failure:
        """How to reach the goal from what is seen."""
        began = time.perf_counter()
        try:
            return go_on(
                self.bench,
                self.domain,
                self.problem,
                self.bindings,
                self.skills,
                broken,
                state,
                number,
                self.listener,
                self.node_limit,
            )
        finally:
            self.planning_s += time.perf_counter() - began

    def _missing(self, state: State, facts: frozenset[Fact]) -> tuple[str, ...]:
        """What of the goal does not hold in a State, in words."""
        scene = self.bench.scene
        judge = GoalJudge(scene, self.domain, self.problem, self.bindings, state, facts)
        found = ((str(formula), judge.verdict(formula)) for formula in self.problem.goal)
        return tuple(f"{text} does not hold: {v.why}" for text, v in found if not v.holds)
