"""The values of the pipeline's stages: ``Options``, ``Solution``, ``Execution``.

``galley.engine`` makes them and ``galley.results`` writes them down. All can be pickled. What they
need is imported when it is used: the command line reads ``Options`` without the planners.
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
    from galley.viz.replay import Replay

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
    """The options of a run; the defaults are the default kitchen task.

    Attributes:
        scene: file of the scene.
        domain: file of the PDDL domain.
        problem: file of the PDDL problem.
        skills: Python file with skills of your own, or None.
        robot: robot file in place of the scene's robot, or None.
        seed: of every random stream.
        out: folder for the results; None: a new one in ``runs/``.
        planner: of free arm motions, see ``skills.Settings``.
        checker: of collisions, see ``skills.Settings``.
        optimize: makes trajectories, see ``skills.Settings``.
        arrival: goal region of the baseline RRT: ``box``, or ``l1`` for the L1 norm.
        execute: the executor: ``physics``, ``kinematic`` (no forces: what is planned happens),
            ``files`` (that, and files for a real arm), or ``none``.
        noise: of the simulated world and of observations; needs physics.
        fault: that is injected (docs/disturbances.md); needs physics.
        recoveries: how often to replan before giving up.
        video: whether to film the execution.
        height: of the film, pixels.
        fps: pictures per second of film.
        speed: seconds of the run per second of film.
        html: whether to write the page for people; the command line does by default.
        effort: multiplies how much is tried before the answer is ``budget``.

    Raises:
        BadInput: a value that is none of the option's choices, or out of bounds; noise or a fault
            without physics.
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
        """What refinement reads of them."""
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
    """Check options that are given by name.

    Raises:
        TypeError: one is none of those known.
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
        task: what was solved. options: how, the seed among them.
        motion_plan: the plan, its motions, and the facts before each action.
        search: what the search tried and learned. check: of the plan. audited: the motions.
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
    """A solution that was executed.

    Attributes:
        solution: what was to be executed. options: how it was.
        log: every state, with contacts and forces.
        motions: how many were run, those of recoveries included.
        recoveries, releases: in order. replanned: motions of the recoveries that found some.
        facts: that hold at the end, as far as symbols can say.
        faults: a sentence for each fault that was injected.
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
        """What validation judges the last state by."""
        from galley.validation import Goal

        task = self.solution.task
        judges = (partial(skill.judge, task.scene, self.log) for skill in task.skills.values())
        return Goal(task.domain, task.problem, self.facts, tuple(judges))

    def judge(self, listener: Listener = SILENT) -> Verdict:
        """Validate what was executed, from the log and the scene alone.

        It is done once: what asks again has the same verdict.
        """
        from galley.validation import validate_run

        if not self._judged:
            listener.stage("validation")
            scene, told = self.solution.task.scene, "validating"
            found = validate_run(
                scene, self.log, self.goal, lambda share: listener.fraction(told, share)
            )
            self._judged.append(found)
        return self._judged[0]

    @property
    def verdict(self) -> Verdict:
        """The result of ``judge``."""
        return self.judge()

    @property
    def failure(self) -> Failure | None:
        """Why it did not succeed, or None: execution gave up, or validation found something."""
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
        """Whether the goal was reached and validation found nothing wrong."""
        return self.failure is None

    def replay(self, fps: int = 15) -> Replay:
        """The executed states as a page, to turn and play; a notebook shows it.

        Args:
            fps: poses a second that are looked at.
        """
        return _replay(self.log, self.solution.task.scene, fps=fps)

    def film(self, path: Path | str, *, listener: Listener = SILENT, **options: Any) -> VideoInfo:
        """Film the executed states into an MP4 or GIF file, 16 to 9.

        Args:
            path: of the film.
            listener: hears of progress.
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
            raise BadInput.one(path, "a film's name ends in .mp4 or .gif")
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


def _replay(log: Log, scene: Scene, **how: Any) -> Replay:
    from galley.robots.catalog import robot_of
    from galley.viz.replay import Replay, replay_html

    return Replay(replay_html(log, scene, robot_of(scene.robot), **how))
