"""The stage of a run in which its plan is executed: an executor, the loop, and what it asks for."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from galley.domain.failure import Failure
from galley.domain.formula import Fact
from galley.domain.listener import Listener
from galley.domain.log import Log
from galley.domain.pddl import Domain, Problem
from galley.domain.scene import Binding
from galley.domain.state import State
from galley.execution.executors import Disturbance, executor_for
from galley.execution.going_on import Continuation, UnderWay, go_on
from galley.execution.loop import Course, Finish, Loop
from galley.motion.thresholds import Thresholds
from galley.simulation.faults import Faults
from galley.skills import Skill, Workbench
from galley.tamp.goal import GoalJudge


@dataclass
class Stage:
    """What execution needs; ``run`` does it.

    Attributes:
        bench: scene, robot, world, settings.
        domain, problem, bindings, skills: the task.
        disturbance, faults: what goes wrong on purpose.
        limits: thresholds.
        finish: makes final trajectories, audited.
        excuse: the Failure that an exception of a user's skill is; raises any other.
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
    disturbance: Disturbance
    faults: Faults | None
    limits: Thresholds
    finish: Finish
    excuse: Callable[[Exception], Failure]
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
        executor = executor_for(
            kind, bench.scene, bench.robot, bench.world, folder, self.disturbance, self.faults
        )
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
        except Exception as error:
            return self.excuse(error)
        finally:
            self.planning_s += time.perf_counter() - began

    def _missing(self, state: State, facts: frozenset[Fact]) -> tuple[str, ...]:
        """What of the goal does not hold in a State, in words."""
        scene = self.bench.scene
        judge = GoalJudge(scene, self.domain, self.problem, self.bindings, state, facts)
        found = ((str(formula), judge.verdict(formula)) for formula in self.problem.goal)
        return tuple(f"{text} does not hold: {v.why}" for text, v in found if not v.holds)
