"""The pipeline as functions: load, solve, execute, judge, film, report (docs/python.md).

Each function returns a value that the next one takes (``galley.stages``). They combine the other
packages and contain no algorithms; nothing is written unless a path is given. ``record_run``
runs all stages and writes the results into a folder, as ``galley run`` does. ``python
engine.py`` is the same as the console script ``galley``.
"""

from __future__ import annotations

if __name__ == "__main__":
    # Before the imports below: each command imports what it needs, and ``plan`` needs little.
    from galley.__main__ import main

    raise SystemExit(main())

import logging
import time
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.collision.scene_check import check_start
from galley.compiled.build import (
    KERNEL,
    KINEMATICS,
    PLANNERS,
    POLYGONS,
    PUSHING,
    REACH,
    RENDERER,
    TIMING,
    ensure,
)
from galley.domain.errors import BadInput
from galley.domain.failure import Failure
from galley.domain.listener import Listener, is_heard
from galley.domain.pddl.reader import read_domain, read_problem
from galley.domain.pddl.texts import problem_file
from galley.domain.scene.reader import load_scene
from galley.domain.shipped import KITCHEN, companions, shipped_file
from galley.domain.state import initial_state
from galley.execution.disturbance.faults import parse_fault
from galley.execution.disturbance.noise import parse_noise, stream
from galley.execution.executor import Executor, Sample
from galley.execution.files import FileExecutor
from galley.execution.kinematic import KinematicExecutor
from galley.execution.monitor import ExecutionMonitor
from galley.execution.physics.executor import PhysicsExecutor
from galley.execution.recovery.observed_task import observed_task
from galley.execution.recovery.plans import MotionPlan
from galley.execution.recovery.replanning import TampReplanner
from galley.motion.thresholds import THRESHOLDS
from galley.planning import LimitReached, Plan, SearchLimits, ground
from galley.planning import search as find_plan
from galley.planning.searches.methods import METHODS
from galley.results.report import Report, ReportRecorder, record
from galley.results.run_folder import PAGE, check_destination, keep_inputs, run_folder
from galley.robots.catalog import robot_of
from galley.skills import PlanningContext, skill_set
from galley.skills.own import load_skills
from galley.stages import EXECUTORS, SILENT, Execution, Options, Solution, check_choice, check_names
from galley.tamp.binding import check_init, check_skills, out_of_reach, tamp_task
from galley.tamp.checks import check_plan, optimize_and_audit
from galley.tamp.search import Search
from galley.tamp.task import TampTask

if TYPE_CHECKING:  # slow to import, so imported where it is used
    from galley.studies.comparison.runner import ComparisonResult

COMPILED = (KERNEL, PLANNERS, REACH, KINEMATICS, TIMING)
"""The compiled parts that every run needs (``compiled.build``)."""
ROBOT_FILES = "robot"  # folder for the files of a real arm, in the run's folder

File = str | Path
_log = logging.getLogger(__name__)


def compiled_parts(task: TampTask) -> tuple[str, ...]:
    """The compiled parts that a run of a task needs."""
    return (*COMPILED, POLYGONS, PUSHING) if task.pushes else COMPILED


def load(
    scene: File | None = None,
    domain: File | None = None,
    problem: File | None = None,
    skills: File | None = None,
    robot: File | None = None,
    goal: str = "",
) -> TampTask:
    """Read a task and check it; without arguments, the default kitchen task.

    Args:
        scene, domain, problem: files; shipped ones also by their bare names. The problem may be
            PDDL text. With a problem's file, the defaults are the shipped domain that it names
            and the scene beside it that has its name.
        skills: Python file with skills of your own, which take precedence.
        robot: a robot file, in place of the scene's robot (docs/robots.md).
        goal: a formula such as ``(on box left)``, in place of the problem's goal.

    Raises:
        BadInput: a file is malformed, the files disagree, or the scene starts in collision; with
            all errors of one kind.
    """
    beside = {} if problem is None else companions(problem)
    geometry = load_scene(scene or beside.get("scene", KITCHEN / "kitchen.yaml"), robot)
    pddl = read_domain(domain or beside.get("domain", KITCHEN / "kitchen.pddl"))
    posed = problem_file(problem or KITCHEN / "task.pddl", goal)
    task = tamp_task(geometry, pddl, read_problem(posed, pddl))
    if skills is not None:
        own = load_skills(skills, [action.name for action in pddl.actions])
        task = replace(task, skills=skill_set(own))
    check_skills(pddl, task.skills)
    model = robot_of(geometry.robot)
    with PyBulletWorld(geometry, model) as world:
        check_start(world)
        # The scene may be made for another robot: warn of places that this one can't reach.
        if geometry.robot.file is not None:
            for warning in out_of_reach(task, PlanningContext(geometry, model, world)):
                _log.warning("%s", warning)
        if check_init(task):  # items that lie: plan with the facts of their observed poses
            context = PlanningContext(geometry, model, world)
            task = observed_task(context, task, task.start, task.problem.init)
    return task


def solve(
    task: TampTask,
    seed: int = 0,
    *,
    options: Options | None = None,
    listener: Listener = SILENT,
    **changes: Any,
) -> Solution | Failure:
    """Plan a task: actions and smooth motions, checked in PDDLGym and Drake; or a Failure.

    Args:
        task: see ``load``.
        seed: seed of every random stream; the same seed gives the same solution.
        options: options of the run; None: the defaults.
        listener: receives the progress.
        changes: options to change, by name: ``planner``, ``checker``, ``optimize``, ``arrival`` or
            ``effort``, see ``stages.Options``.

    Raises:
        BadInput: a value is none of the option's choices.
        TypeError: there is no such option.
    """
    check_names(changes, "planner", "checker", "optimize", "arrival", "effort")
    options = replace(options or Options(), seed=seed, **changes)
    compile_s = ensure(*compiled_parts(task), listener=None if listener is SILENT else listener)
    listener.stage("task and motion planning")
    robot = robot_of(task.scene.robot)
    with PyBulletWorld(task.scene, robot) as world:
        context = PlanningContext(task.scene, robot, world, options.settings, listener=listener)
        search = Search(context, task, task.start)
        try:
            solved = search.solve()
        finally:
            listener.finished(search.record)
        if isinstance(solved, Failure):
            return solved
        listener.stage("replaying the plan in PDDLGym")
        facts, check = check_plan(task, solved.plan)
        listener.finished(check)
        if check.pddlgym == "missing":
            listener.stage(f"PDDLGym is {check.message}")
        if check.failure is not None:
            return check.failure
        listener.stage(f"trajectories ({options.optimize}), audited in Drake")
        audited = optimize_and_audit(context, solved.refined.motions, task.start)
        listener.finished(audited)
    if audited.failure is not None:
        return audited.failure
    timing = {
        "compile": compile_s,
        "task": search.record.task_s,
        "motion": search.record.motion_s + audited.checks_s,
        "optimization": audited.optimization_s,
    }
    plan = MotionPlan(solved.plan, audited.motions, task.start, facts)
    return Solution(task, options, plan, search.record, check, audited, timing)


def execute(
    solution: Solution | Failure,
    executor: str | None = None,
    *,
    folder: File | None = None,
    listener: Listener = SILENT,
    **changes: Any,
) -> Execution:
    """Execute the motions; replan where the observed world differs from the planned one.

    Args:
        solution: see ``solve``; a Failure is raised.
        executor: ``physics``, ``kinematic`` (no forces: motions run as planned) or ``files``
            (kinematic, plus files for a real arm); None: the executor in the solution's options,
            ``physics`` by default.
        folder: folder that the executor ``files`` writes.
        listener: receives the progress.
        changes: options of the solution to change, by name: ``noise`` (also as text), ``fault`` or
            ``recoveries``, see ``stages.Options``.

    Raises:
        BadInput: no such executor, noise or fault; noise or a fault without physics.
        FailureError: there is no solution to execute.
        TypeError: there is no such option.
    """
    if isinstance(solution, Failure):
        solution.raise_()
    task, executor = solution.task, executor or solution.options.execute
    check_choice("executor", executor, EXECUTORS)
    check_names(changes, "noise", "fault", "recoveries")
    if isinstance(changes.get("noise"), str):
        changes["noise"] = parse_noise(changes["noise"])
    options = replace(solution.options, execute=executor, **changes)
    if executor == "files" and folder is None:
        raise BadInput.one("executor", "files need a folder")
    fault, seed = options.fault, options.seed
    faults = None if fault is None else parse_fault(fault, task.scene, seed)
    robot = robot_of(task.scene.robot)
    listener.stage(f"execution ({executor})")
    with PyBulletWorld(task.scene, robot) as world:
        context = PlanningContext(task.scene, robot, world, options.settings, listener=listener)

        def tell(sample: Sample) -> None:
            listener.moved(sample.q, sample.scene_q, sample.items)

        moved = tell if is_heard(listener.moved) else None
        replanner = TampReplanner(context, task)
        began = time.perf_counter()
        runner: Executor
        if executor == "physics":
            scene, start, sensor = task.scene, task.start, None
            if options.noise is not None:  # noise perturbs the true scene and the observations
                scene = options.noise.true_scene(scene, stream(seed, "world"))
                start = initial_state(scene)
                sensor = partial(options.noise.observed, scene, rng=stream(seed, "looks"))
            runner = PhysicsExecutor(
                scene, robot, start, fault=faults, sensor=sensor, on_sample=moved
            )
        else:
            runner = KinematicExecutor(world, task.start, moved)
            if executor == "files":
                assert folder is not None
                runner = FileExecutor(runner, task.scene, robot, Path(folder))
        limits = replace(THRESHOLDS, recoveries=options.recoveries)
        monitor = ExecutionMonitor(runner, task.scene, robot, limits, replanner, listener)
        aborted = None
        try:
            aborted = monitor.run(solution.motion_plan)
        finally:  # an interrupted execution is recorded, too
            log = runner.log()
            runner.close()
            run = Execution(
                solution=solution,
                options=options,
                log=log,
                motions=len(monitor.motions),
                recoveries=tuple(monitor.recoveries),
                releases=tuple(monitor.releases),
                replanned=tuple(replanner.replanned),
                facts=monitor.facts,
                faults=() if faults is None else faults.reports,
                aborted=aborted,
                timing_s=replanner.timing(time.perf_counter() - began),
            )
            listener.finished(run)
    return run


def plan_task(
    domain: File,
    problem: File,
    *,
    search: str = "bfs",
    node_limit: int | None = None,
    seconds: float | None = None,
) -> Plan | Failure:
    """Plan any PDDL task without geometry, as ``galley plan`` does; a Failure if there is no plan.

    Args:
        domain, problem: files; shipped ones also by their bare names.
        search: ``bfs``, ``astar`` or ``gbfs`` (docs/planning.md).
        node_limit: most states to expand; None: no limit.
        seconds: time limit of the search; None: no limit.

    Raises:
        BadInput: a file is malformed, or there is no such search.
    """
    check_choice("search", search, tuple(METHODS))
    pddl = read_domain(domain)
    task = read_problem(problem, pddl)
    limits = SearchLimits(nodes=node_limit, seconds=seconds)
    try:
        return find_plan(ground(pddl, task, limits), search, limits)
    except LimitReached as stopped:
        return stopped.failure


def compare(
    query: str = "seed",
    count: int = 1,
    *,
    scene: File | None = None,
    seed: int = 0,
    out: File | None = None,
    listener: Listener = SILENT,
) -> ComparisonResult | Failure:
    """Compare RRT and optimised trajectories on the same queries (docs/comparison.md).

    Args:
        query: ``seed`` (the turn-around), ``random``, or a query file.
        count: number of random queries.
        scene: scene file; None: the query's scene, or the kitchen.
        seed: seed of every random stream.
        out: folder for the files of ``galley compare``, without films; None writes nothing.
        listener: receives the progress.

    Returns:
        The results; a Failure if no query could be made.

    Raises:
        BadInput: a scene or a query is malformed, or ``out`` can't be written.
    """
    from galley.studies.comparison.runner import ComparisonOptions, run

    options = ComparisonOptions(
        query=query,
        count=count,
        scene=None if scene is None else shipped_file(scene),
        seed=Options(seed=seed).seed,  # checked there
        out=None if out is None else Path(out),
        video=False,
    )
    return run(options, listener, write=out is not None)


judge = Execution.judge
"""``judge(run)``: the verdict on a run, see ``stages.Execution.judge``."""
film = Execution.film
"""``film(run, path)``: an MP4 file of a run, see ``stages.Execution.film``."""


def report(
    result: Solution | Execution,
    folder: File | None = None,
    *,
    html: bool = True,
    listener: Listener = SILENT,
) -> Report:
    """Report what happened and why (docs/report.md).

    Args:
        result: a solution, or an execution of it.
        folder: folder for ``report.json``, plan, trajectories and states, as ``galley run`` writes
            them; None writes nothing.
        html: whether to write ``report.html``, too, which takes a few seconds.
        listener: receives the progress.

    Raises:
        BadInput: the folder holds other files, or can't be written.
    """
    task = result.solution.task if isinstance(result, Execution) else result.task
    made = Report.of(task, result.options)
    if folder is None:
        record(result, ReportRecorder(made))
        return made
    check_destination(Path(folder), "")
    with run_folder(Path(folder), "") as path:
        keep_inputs(path, made.scene, made.domain, made.problem, task.scene.robot.replaces)
        record(result, ReportRecorder(made, path))
        made.write(path)
        if html:
            _page(path, listener)
    return made


@dataclass(frozen=True)
class RecordedRun:
    """A recorded run: its task, its report, and the folder with the report and all other files."""

    task: TampTask
    report: Report
    folder: Path


def record_run(options: Options, listener: Listener = SILENT) -> RecordedRun:
    """Run the whole pipeline and write the results into ``options.out``, as ``galley run`` does.

    Args:
        options: the task and the options of the run.
        listener: receives the progress.

    Raises:
        BadInput: a file is malformed, or the scene starts in collision; nothing is written.
        KeyboardInterrupt: raised again after the finished results were written.
    """
    check_destination(options.out, options.problem.stem)
    listener.stage("reading the scene and the task")
    task = load(options.scene, options.domain, options.problem, options.skills, options.robot)
    listener.loaded(task.scene)
    if options.fault is not None:  # refused before anything is written
        parse_fault(options.fault, task.scene, options.seed)
    made = Report.of(task, options)
    with run_folder(options.out, options.problem.stem) as folder:
        keep_inputs(folder, made.scene, made.domain, made.problem, task.scene.robot.replaces)
        made.write(folder)
        interrupt = None
        try:
            _stages(options, task, ReportRecorder(made, folder, listener), folder)
        except KeyboardInterrupt as error:
            interrupt = error
            made.interrupted()
        finally:
            made.write(folder)
        if options.html:
            _page(folder, listener)
        if interrupt is not None:
            raise interrupt
    return RecordedRun(task, made, folder)


# -- parts of the stages ---------------------------------------------------------------------------


def _stages(options: Options, task: TampTask, recorder: ReportRecorder, folder: Path) -> None:
    """Run the stages in order until one fails; each records its result."""
    made = recorder.report
    films = options.video and options.execute != "none"
    parts = compiled_parts(task) + ((RENDERER,) if films or options.html else ())
    made.timing_s["compile"] = ensure(*parts, listener=recorder)
    solution = solve(task, options.seed, options=options, listener=recorder)
    if isinstance(solution, Failure):
        made.fail(solution)
        return
    recorder.motions(made)
    if options.execute == "none":
        made.status = "success"
        return
    run = execute(solution, folder=folder / ROBOT_FILES, listener=recorder)
    judge(run, recorder)
    made.judged(run)
    made.write(folder)
    if options.video:
        began = time.perf_counter()
        try:
            info = film(run, folder / "simulation.mp4", listener=recorder)
            made.video = {k: v for k, v in asdict(info).items() if k != "path"}
        except (RuntimeError, ValueError) as error:  # a run is valid without its film
            made.video = {"error": str(error)}
        made.timing_s["video"] = time.perf_counter() - began


def _page(folder: Path, listener: Listener) -> None:
    """Write ``report.html``; if its states can't be drawn, say so and go on."""
    from galley.results.page.page import write_page

    listener.stage(f"writing {PAGE}")
    ensure(RENDERER, listener=None if listener is SILENT else listener)
    try:
        write_page(folder)
    except BadInput as bad:  # the executed states are too broken to be drawn
        listener.stage(f"no {PAGE}: {bad.errors[0]}")
