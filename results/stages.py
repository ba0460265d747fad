"""The typed results of the pipeline's stages (``galley.engine``). All of them can be pickled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.compiled.build import RENDERER, ensure
from galley.domain.failure import Failure, FailureKind
from galley.domain.listener import Listener
from galley.domain.log import Log
from galley.execution.kinematic import KinematicExecutor, execute_all
from galley.execution.monitor import Recovery, Release
from galley.execution.recovery.plans import Facts, MotionPlan
from galley.motion.motion import Motion
from galley.planning import GroundAction
from galley.robots.catalog import robot_of
from galley.skills.manipulation.context import Settings
from galley.tamp.checks import AuditedMotions, PlanCheck
from galley.tamp.feedback.constraints import SearchRecord
from galley.tamp.task import TampTask
from galley.validation import Goal, Verdict, validate_run

if TYPE_CHECKING:
    from galley.viz.film.video import VideoInfo
    from galley.viz.replay import Replay


@dataclass(frozen=True)
class Solution:
    """A plan with smooth, audited motions.

    Attributes:
        task: what was solved. settings: how, the seed among them.
        motion_plan: the plan, its motions, and the facts before each action.
        search: what the search tried and learned. check: of the plan. audited: the motions.
        timing_s: seconds by stage: ``compile``, ``task``, ``motion``, ``optimization``.
        node_limit: of each search of the task planner; None: its own.
    """

    task: TampTask
    settings: Settings
    motion_plan: MotionPlan
    search: SearchRecord
    check: PlanCheck
    audited: AuditedMotions
    timing_s: Mapping[str, float]
    node_limit: int | None = None

    def __repr__(self) -> str:
        seconds = sum(motion.trajectory.duration for motion in self.motions)
        return f"Solution({len(self.plan)} actions, {len(self.motions)} motions, {seconds:.1f} s)"

    @property
    def plan(self) -> tuple[GroundAction, ...]:
        """The actions, in order."""
        return self.motion_plan.plan

    @property
    def motions(self) -> tuple[Motion, ...]:
        """The motions, in order; ``action_index`` counts in ``plan``."""
        return self.motion_plan.motions

    def replay(self, fps: int = 15) -> Replay:
        """The planned motions as a page, to turn and play; a notebook shows it.

        Args:
            fps: poses a second that are looked at.
        """
        from galley.viz.replay import Replay, replay_html

        task = self.task
        lines = tuple(f"{self.plan[m.action_index]} | {m.phase}" for m in self.motions)
        robot = robot_of(task.scene.robot)
        with PyBulletWorld(task.scene, robot) as world:
            log = execute_all(KinematicExecutor(world, task.start), self.motions, lines)
        return Replay(replay_html(log, task.scene, robot, fps=fps, title="planned motions"))


@dataclass(frozen=True)
class Execution:
    """A solution that was executed.

    Attributes:
        solution: what was to be executed. executor: ``physics``, ``kinematic`` or ``files``.
        log: every state, with contacts and forces.
        motions: how many were run, those of recoveries included.
        recoveries, releases: in order. replanned: motions of the recoveries that found some.
        facts: that hold at the end, as far as symbols can say.
        faults: a sentence for each fault that was injected.
        aborted: why execution gave up, or None.
        timing_s: seconds by stage: ``motion``, ``optimization``, ``execution``.
    """

    solution: Solution
    executor: str
    log: Log
    motions: int
    recoveries: tuple[Recovery, ...]
    releases: tuple[Release, ...]
    replanned: tuple[AuditedMotions, ...]
    facts: Facts
    faults: tuple[str, ...]
    aborted: Failure | None
    timing_s: Mapping[str, float]

    def __repr__(self) -> str:
        how = "" if self.aborted is None else f", aborted: {self.aborted}"
        return f"Execution({self.executor}, {self.motions} motions, {self.log.duration:.1f} s{how})"

    @property
    def goal(self) -> Goal:
        """What validation judges the last state by."""
        task = self.solution.task
        return Goal(task.domain, task.problem, self.facts)

    @cached_property
    def verdict(self) -> Verdict:
        """Validation from log and scene alone; takes seconds the first time (``engine.judge``)."""
        return validate_run(self.solution.task.scene, self.log, self.goal)

    @property
    def failure(self) -> Failure | None:
        """Why the run did not succeed: it was aborted, or validation says so; else None."""
        if self.aborted is not None:
            return self.aborted
        wrong = [f"at {v.time:.2f} s {v.what}" for v in self.verdict.violations]
        wrong += [
            f"{f.fact} does not hold: {f.why}" for f in self.verdict.goal_facts if not f.holds
        ]
        if not wrong:
            return None
        return Failure(
            FailureKind.CONTRADICTION,
            f"validation: {wrong[0]}" + (f" (and {len(wrong) - 1} more)" if wrong[1:] else ""),
            certificate={"kind": "executed-states", "violations": wrong},
        )

    def replay(self, fps: int = 15) -> Replay:
        """The executed states as a page, to turn and play; a notebook shows it.

        Args:
            fps: poses a second that are looked at.
        """
        from galley.viz.replay import Replay, replay_html

        scene = self.solution.task.scene
        return Replay(replay_html(self.log, scene, robot_of(scene.robot), fps=fps))

    def film(
        self,
        path: str | Path,
        *,
        height: int = 720,
        fps: float = 20,
        speed: float = 1.0,
        listener: Listener | None = None,
    ) -> VideoInfo:
        """Film the executed states: see ``engine.film``."""
        from galley.viz.film.video import FilmOptions, film

        ensure(RENDERER, listener=listener)
        listener = Listener() if listener is None else listener
        listener.stage("filming")
        scene, height = self.solution.task.scene, height // 2 * 2
        return film(
            self.log,
            scene,
            robot_of(scene.robot),
            path,
            FilmOptions(fps=fps, width=height * 16 // 9 // 2 * 2, height=height, speed=speed),
            progress=lambda done, total: listener.fraction("filming", done / total),
            plans=(
                tuple(str(action) for action in self.solution.plan),
                *(recovery.plan for recovery in self.recoveries),
            ),
        )

    @property
    def success(self) -> bool:
        """Whether the goal was reached and validation found nothing wrong."""
        return self.failure is None
