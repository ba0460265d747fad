"""The values that the stages of the pipeline return: ``Options``, ``Solution``, ``Execution``.

``galley.engine`` makes them and ``galley.results`` stores them. All can be pickled. Heavy modules
are imported only when they are used: the command line reads ``Options`` without the planners.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from galley.domain.errors import BadInput, did_you_mean
from galley.domain.failure import Failure, FailureKind
from galley.domain.listener import Listener
from galley.domain.shipped import KITCHEN
from galley.motion.thresholds import THRESHOLDS

if TYPE_CHECKING:
    from galley.domain.log import Log
    from galley.domain.scene.model import Scene
    from galley.execution.disturbance.noise import Noise
    from galley.execution.monitor import Recovery, Release
    from galley.execution.recovery.plans import Facts, MotionPlan
    from galley.motion.motion import Motion
    from galley.planning import GroundAction
    from galley.skills import Settings
    from galley.tamp.checks import AuditedMotions, PlanCheck
    from galley.tamp.record import SearchRecord
    from galley.tamp.task import TampTask
    from galley.validation import Goal, Verdict
    from galley.viz.film.video import VideoInfo
    from galley.viz.replay import ReplayPage

EXECUTORS = ("physics", "kinematic", "files")
CHOICES: Mapping[str, Sequence[str]] = {
    "planner": ("rrt-connect", "rrt"),
    "checker": ("kernel", "pybullet"),
    "optimize": ("smooth", "time-optimal", "shortest", "none"),
    "arrival": ("box", "l1"),
    "execute": (*EXECUTORS, "none"),
}
_BOUNDS = {"height": (120, 2160), "fps": (1, 120), "speed": (1e-3, 1e3), "effort": (1e-6, 1e6)}
SILENT = Listener()


@dataclass(frozen=True)
class Options:
    """The options of a run; the defaults are those of the default kitchen task.

    Attributes:
        scene: scene file.
        domain: PDDL domain file.
        problem: PDDL problem file.
        skills: Python file with skills of your own, or None.
        robot: robot file in place of the scene's robot, or None.
        seed: seed of every random stream, 0 or more.
        out: folder for the results; None: a new one in ``runs/``.
        planner: planner of free arm motions, see ``skills.Settings``.
        checker: collision checker, see ``skills.Settings``.
        optimize: trajectory optimizer, see ``skills.Settings``.
        arrival: goal region of the baseline RRT: ``box``, or ``l1`` for the L1 norm.
        execute: the executor: ``physics``, ``kinematic`` (no forces: motions run as planned),
            ``files`` (kinematic, plus files for a real arm), or ``none``.
        noise: random errors of the simulated world and of observations; needs physics.
        fault: the faults to inject (docs/disturbances.md); needs physics.
        recoveries: how often to recover before giving up.
        video: whether to film the execution.
        height: height of the film, pixels.
        fps: pictures per second of film.
        speed: seconds of the run per second of film.
        html: whether to write ``report.html``; the command line does so by default.
        effort: multiplier of the search effort after which the answer is ``budget``.

    Raises:
        BadInput: a value that is none of the option's choices, or out of bounds; or noise or a
            fault without physics.
    """

    scene: Path = KITCHEN / "kitchen.yaml"
    domain: Path = KITCHEN / "kitchen.pddl"
    problem: Path = KITCHEN / "task.pddl"
    skills: Path | None = None
    robot: Path | None = None
    seed: int = 0
    out: Path | None = None
    planner: str = "rrt-connect"
    checker: str = "kernel"
    optimize: str = "smooth"
    arrival: str = "box"
    execute: str = "physics"
    noise: Noise | None = None
    fault: str | None = None
    recoveries: int = THRESHOLDS.recoveries
    video: bool = True
    height: int = 540
    fps: float = 20
    speed: float = 2.0
    html: bool = False
    effort: float = 1.0

    def __post_init__(self) -> None:
        for name, choices in CHOICES.items():
            check_choice(name, getattr(self, name), choices)
        if self.execute != "physics" and (self.noise is not None or self.fault is not None):
            raise BadInput.one("executor", "noise and faults need physics")
        for name in ("seed", "recoveries"):
            if not isinstance(value := getattr(self, name), Integral) or value < 0:
                raise BadInput.one(name, f"expected a whole number from 0, got {value!r}")
        for key, (low, high) in _BOUNDS.items():
            if not isinstance(value := getattr(self, key), Real) or not low <= float(value) <= high:
                what = f"expected a number from {low:g} to {high:g}, got {value!r}"
                raise BadInput.one(key, what)

    @property
    def settings(self) -> Settings:
        """The settings of refinement and trajectories, from these options."""
        from galley.skills import Settings

        return Settings(
            seed=self.seed,
            planner=self.planner,
            checker=self.checker,
            optimize=self.optimize,
            l1=self.arrival == "l1",
            effort=self.effort,
        )


def check_names(values: Iterable[str], *known: str) -> None:
    """Check the names of options that are given as keyword arguments.

    Raises:
        TypeError: a name is none of the ``known`` ones.
    """
    for name in values:
        if name not in known:
            hint = did_you_mean(name, known)
            raise TypeError(f"'{name}' is none of {', '.join(known)}{hint}")


def check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    """Raise BadInput unless the option's value is one of its choices."""
    if value not in choices:
        hint = did_you_mean(value, choices)
        raise BadInput.one(name, f"'{value}' is none of {', '.join(choices)}{hint}")


@dataclass(frozen=True)
class Solution:
    """A plan with smooth, audited motions.

    Attributes:
        task: the task that was solved.
        options: the options of the solver, with the seed.
        motion_plan: the plan, its motions, and the facts before each action.
        search: record of what the search tried and learned.
        check: the check of the plan in PDDLGym.
        audited: the motions, with the verdict of Drake's audit.
        timing_s: seconds by stage: ``compile``, ``task``, ``motion``, ``optimization``.
    """

    task: TampTask
    options: Options
    motion_plan: MotionPlan
    search: SearchRecord
    check: PlanCheck
    audited: AuditedMotions
    timing_s: Mapping[str, float]

    def __repr__(self) -> str:
        seconds = sum(motion.trajectory.duration for motion in self.motions)
        return f"Solution({len(self.plan)} actions, {len(self.motions)} motions, {seconds:.1f} s)"

    @property
    def plan(self) -> tuple[GroundAction, ...]:
        """The actions of the plan, in order."""
        return self.motion_plan.plan

    @property
    def motions(self) -> tuple[Motion, ...]:
        """The motions of all actions, in order; ``action_index`` is an index into ``plan``."""
        return self.motion_plan.motions

    def replay(self, fps: int = 15) -> ReplayPage:
        """A 3D replay of the planned motions as a web page; a notebook shows it.

        Args:
            fps: poses per second.
        """
        from galley.collision.backends.pybullet_world import PyBulletWorld
        from galley.execution.kinematic import KinematicExecutor, execute_all
        from galley.robots.catalog import robot_of

        task = self.task
        lines = tuple(f"{self.plan[m.action_index]} | {m.phase}" for m in self.motions)
        with PyBulletWorld(task.scene, robot_of(task.scene.robot)) as world:
            log = execute_all(KinematicExecutor(world, task.start), self.motions, lines)
        return _replay(log, task.scene, fps=fps, title="planned motions")


@dataclass(frozen=True)
class Execution:
    """The execution of a solution.

    Attributes:
        solution: the solution that was executed.
        options: the options of the execution.
        log: every executed state, with contacts and forces.
        motions: number of executed motions, those of recoveries included.
        recoveries: what was done about deviations, in order.
        releases: released items, observed against expected poses, in order.
        replanned: the motions of the recoveries that planned some.
        facts: the symbolic facts at the end.
        faults: one sentence per fault that was injected.
        aborted: why execution gave up, or None.
        timing_s: seconds by stage: ``motion``, ``optimization``, ``execution``.
    """

    solution: Solution
    options: Options
    log: Log
    motions: int
    recoveries: tuple[Recovery, ...]
    releases: tuple[Release, ...]
    replanned: tuple[AuditedMotions, ...]
    facts: Facts
    faults: tuple[str, ...]
    aborted: Failure | None
    timing_s: Mapping[str, float]
    _judged: list[Verdict] = field(default_factory=list, init=False, repr=False, compare=False)

    def __repr__(self) -> str:
        how = "" if self.aborted is None else f", aborted: {self.aborted}"
        name, seconds = self.options.execute, self.log.duration
        return f"Execution({name}, {self.motions} motions, {seconds:.1f} s{how})"

    @property
    def goal(self) -> Goal:
        """The goal against which validation checks the last state."""
        from galley.validation import Goal

        task = self.solution.task
        judges = (partial(skill.judge, task.scene, self.log) for skill in task.skills.values())
        return Goal(task.domain, task.problem, self.facts, tuple(judges))

    def judge(self, listener: Listener = SILENT) -> Verdict:
        """Validate the executed states, from the log and the scene alone.

        Later calls return the same verdict without validating again.

        Args:
            listener: receives the progress.
        """
        from galley.validation import validate_run

        if not self._judged:
            listener.stage("validation")
            scene, text = self.solution.task.scene, "validating"
            verdict = validate_run(
                scene, self.log, self.goal, lambda share: listener.fraction(text, share)
            )
            self._judged.append(verdict)
        return self._judged[0]

    @property
    def verdict(self) -> Verdict:
        """The verdict of ``judge``, which is called if it has not been."""
        return self.judge()

    @property
    def failure(self) -> Failure | None:
        """Why the run did not succeed, or None: execution gave up, or validation failed."""
        wrong = self.aborted is None and self.verdict.faults
        if not wrong:
            return self.aborted
        return Failure(
            FailureKind.CONTRADICTION,
            f"validation: {wrong[0]}" + (f" (and {len(wrong) - 1} more)" if wrong[1:] else ""),
            certificate={"kind": "executed-states", "violations": list(wrong)},
        )

    @property
    def success(self) -> bool:
        """Whether the goal was reached and validation found no violation."""
        return self.failure is None

    def replay(self, fps: int = 15) -> ReplayPage:
        """A 3D replay of the executed states as a web page; a notebook shows it.

        Args:
            fps: poses per second.
        """
        return _replay(self.log, self.solution.task.scene, fps=fps)

    def film(self, path: Path | str, *, listener: Listener = SILENT, **options: Any) -> VideoInfo:
        """Film the executed states into an MP4 or GIF file, 16 to 9.

        Args:
            path: file of the film.
            listener: receives the progress.
            options: ``height`` (pixels), ``fps`` (Hz) or ``speed``, see ``Options``.

        Raises:
            BadInput: ``path`` does not end in ``.mp4`` or ``.gif``.
            RuntimeError, ValueError: it can't be encoded or written.
        """
        from galley.compiled.build import RENDERER, ensure
        from galley.robots.catalog import robot_of
        from galley.viz.film.video import FilmOptions, film

        check_names(options, "height", "fps", "speed")
        if Path(path).suffix.lower() not in (".mp4", ".gif"):
            raise BadInput.one(path, "the name of a film must end in .mp4 or .gif")
        ensure(RENDERER, listener=None if listener is SILENT else listener)
        listener.stage("filming")
        chosen, scene = replace(self.options, **options), self.solution.task.scene
        height = chosen.height // 2 * 2
        width = height * 16 // 9 // 2 * 2
        return film(
            self.log,
            scene,
            robot_of(scene.robot),
            path,
            FilmOptions(fps=chosen.fps, width=width, height=height, speed=chosen.speed),
            progress=lambda done, total: listener.fraction("filming", done / total),
            plans=(
                tuple(str(action) for action in self.solution.plan),
                *(recovery.plan for recovery in self.recoveries),
            ),
        )


def _replay(log: Log, scene: Scene, **how: Any) -> ReplayPage:
    from galley.robots.catalog import robot_of
    from galley.viz.replay import ReplayPage, replay_html

    return ReplayPage(replay_html(log, scene, robot_of(scene.robot), **how))
