"""A run of the whole pipeline that is kept in a folder: what ``galley run`` does."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path

from galley import engine
from galley.compiled.build import RENDERER, ensure
from galley.domain.errors import BadInput
from galley.domain.failure import Failure, FailureKind
from galley.domain.listener import Listener
from galley.domain.shipped import KITCHEN
from galley.execution.disturbance.faults import parse_fault
from galley.execution.disturbance.noise import Noise
from galley.motion.thresholds import THRESHOLDS
from galley.results.inputs import keep_inputs
from galley.results.recorder import ReportRecorder
from galley.results.report import Report
from galley.results.run_folder import PAGE, check_destination, run_folder
from galley.results.stages import Execution
from galley.robots.catalog import robot_of
from galley.tamp.task import TampTask

ROBOT_FILES = "robot"  # folder in a run's folder


@dataclass(frozen=True)
class Options:
    """The options of ``galley run``; the defaults are the default kitchen task."""

    scene: Path = KITCHEN / "kitchen.yaml"
    domain: Path = KITCHEN / "kitchen.pddl"
    problem: Path = KITCHEN / "task.pddl"
    skills: Path | None = None
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
    height: int = 720
    fps: int = 20
    speed: float = 1.0
    node_limit: int | None = None
    html: bool = False  # on the command line it is asked for by default
    effort: float = 1.0


@dataclass(frozen=True)
class RecordedRun:
    """A run's task and report, and the folder that holds the report with all other files."""

    task: TampTask
    report: Report
    folder: Path


def record_run(
    options: Options, listener: Listener | None = None, *, view: bool = False
) -> RecordedRun:
    """Run the whole pipeline and write what comes of it into ``options.out``.

    Args:
        options: what to run. listener: hears of progress.
        view: also show it in the browser as it happens, at an address that ``stage`` says.

    Raises:
        BadInput: a file is malformed, or the scene starts in collision; nothing is written then.
        KeyboardInterrupt: after what was finished has been kept in the folder.
    """
    listener = Listener() if listener is None else listener
    check_destination(options.out, options.problem.stem)
    listener.stage("reading the scene and the task")
    task = engine.load(options.scene, options.domain, options.problem, options.skills)
    if view:
        from galley.viz.replay.live import LiveView

        live = LiveView(task.scene, robot_of(task.scene.robot), listener)
        listener.stage(f"live view: {live.address}")
        listener = live
    if options.fault is not None:  # refused before anything is written
        parse_fault(options.fault, task.scene, options.seed)
    plain = {k: str(v) if isinstance(v, Path) else v for k, v in asdict(options).items()}
    report = Report.of(task, options.seed, plain)
    with run_folder(options.out, options.problem.stem) as folder:
        keep_inputs(folder, report.scene, report.domain, report.problem)
        report.write(folder)
        try:
            _stages(options, task, ReportRecorder(report, folder, listener))
        except KeyboardInterrupt:
            if report.validation is None:
                report.fail(Failure(FailureKind.BUDGET, "interrupted by the user"))
            else:  # only the film is missing: the verdict stands
                report.video = {"error": "interrupted by the user"}
            report.write(folder)
            _page(options, folder, listener)
            raise
        finally:
            report.write(folder)
        _page(options, folder, listener)
    return RecordedRun(task, report, folder)


def _page(options: Options, folder: Path, listener: Listener) -> None:
    """Write ``report.html``, if it is wanted."""
    if options.html:
        from galley.results.page.page import write_page

        listener.stage(f"writing {PAGE}")
        try:
            write_page(folder)
        except BadInput as bad:  # what was executed ended in numbers that nobody can draw
            listener.stage(f"no {PAGE}: {bad.errors[0]}")


def _stages(options: Options, task: TampTask, recorder: ReportRecorder) -> None:
    """All stages in order, as far as they succeed."""
    report, folder = recorder.report, recorder.folder
    assert folder is not None
    films = options.video and options.execute != "none"
    parts = (*engine.COMPILED, RENDERER) if films or options.html else engine.COMPILED
    report.timing_s["compile"] = ensure(*parts, listener=recorder)
    solution = engine.solve(
        task,
        options.seed,
        planner=options.planner,
        checker=options.checker,
        optimize=options.optimize,
        arrival=options.arrival,
        node_limit=options.node_limit,
        effort=options.effort,
        listener=recorder,
    )
    if isinstance(solution, Failure):
        report.fail(solution)
        return
    recorder.listener.motions(report)
    if options.execute == "none":
        report.status = "success"
        return
    run = engine.execute(
        solution,
        options.execute,
        noise=options.noise,
        fault=options.fault,
        recoveries=options.recoveries,
        folder=folder / ROBOT_FILES,
        listener=recorder,
    )
    engine.judge(run, recorder)
    report.judged(run)
    report.write(folder)
    if options.video:
        _film(options, run, recorder, folder)


def _film(options: Options, run: Execution, recorder: ReportRecorder, folder: Path) -> None:
    """Film the executed states. A run without its film is still a run: trouble is reported."""
    began = time.perf_counter()
    try:
        info = engine.film(
            run,
            folder / "simulation.mp4",
            height=options.height,
            fps=options.fps,
            speed=options.speed,
            listener=recorder,
        )
        recorder.report.video = {k: v for k, v in asdict(info).items() if k != "path"}
    except (RuntimeError, ValueError) as error:
        recorder.report.video = {"error": str(error)}
    recorder.report.timing_s["video"] = time.perf_counter() - began
