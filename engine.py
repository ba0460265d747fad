"""The pipeline as functions: load, solve, execute, judge, film, report (docs/python.md).

Each returns a value that the next one takes. They compose the other folders and define no
algorithm; nothing is written unless a path is given. ``python engine.py`` is the same as the
console script ``galley``.
"""

from __future__ import annotations

if __name__ == "__main__":
    # First of all: the command decides what is imported, and ``plan`` needs nothing heavy.
    from galley.__main__ import main

    raise SystemExit(main())

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.collision.scene_check import check_start
from galley.compiled.build import KERNEL, KINEMATICS, PLANNERS, REACH, RENDERER, TIMING, ensure
from galley.domain.errors import BadInput, did_you_mean
from galley.domain.failure import Failure
from galley.domain.listener import Listener, is_heard
from galley.domain.pddl.model import Domain
from galley.domain.pddl.reader import read_domain, read_problem
from galley.domain.scene.reader import load_scene
from galley.domain.shipped import KITCHEN, shipped_file
from galley.domain.state import initial_state
from galley.execution.disturbance.faults import InjectedFaults, parse_fault
from galley.execution.disturbance.noise import Noise, parse_noise, stream
from galley.execution.executor import Executor, Sample
from galley.execution.files import FileExecutor
from galley.execution.kinematic import KinematicExecutor
from galley.execution.monitor import ExecutionMonitor
from galley.execution.physics.executor import PhysicsExecutor
from galley.execution.recovery.plans import MotionPlan
from galley.execution.recovery.replanning import TampReplanner
from galley.motion.thresholds import THRESHOLDS
from galley.planning import LimitReached, Plan, SearchLimits, ground
from galley.planning import search as find_plan
from galley.planning.searches.methods import METHODS
from galley.results.inputs import keep_inputs
from galley.results.recorder import ReportRecorder, record
from galley.results.report import Report
from galley.results.run_folder import check_destination, run_folder
from galley.results.stages import Execution, Solution
from galley.robots.catalog import robot_of
from galley.robots.model import RobotModel
from galley.skills import SKILLS, PlanningContext, Settings, Skill, skill_set
from galley.skills.own import load_skills
from galley.tamp.binding import check_init, check_skills, tamp_task
from galley.tamp.checks import check_plan, optimize_and_audit
from galley.tamp.search import Search
from galley.tamp.task import TampTask
from galley.validation import Verdict, validate_run

if TYPE_CHECKING:  # slow to import: only what needs them does
    from galley.studies.comparison.runner import ComparisonResult
    from galley.viz.film.video import VideoInfo

COMPILED = (KERNEL, PLANNERS, REACH, KINEMATICS, TIMING)
"""The compiled parts that every run needs (``compiled.build``)."""
CHOICES = {
    "planner": ("rrt-connect", "rrt", "anytime"),
    "checker": ("kernel", "pybullet"),
    "optimize": ("smooth", "time-optimal", "shortest", "none"),
    "arrival": ("box", "l1"),
    "executor": ("physics", "kinematic", "files"),
}
SILENT = Listener()

File = str | Path


def load(
    scene: File | None = None,
    domain: File | None = None,
    problem: File | None = None,
    skills: File | None = None,
) -> TampTask:
    """Read a task and check it; by default the kitchen's.

    Args:
        scene, domain, problem: files; shipped ones also by their bare names.
        skills: Python file with skills of your own, which take precedence.

    Raises:
        BadInput: a file is malformed, or the files disagree; with all faults of one kind.
    """
    geometry = load_scene(scene or KITCHEN / "kitchen.yaml")
    pddl = read_domain(domain or KITCHEN / "kitchen.pddl")
    task = tamp_task(geometry, pddl, read_problem(problem or KITCHEN / "task.pddl", pddl))
    task = replace(task, skills=_skills(skills, pddl))
    check_skills(pddl, task.skills)
    with PyBulletWorld(geometry, robot_of(geometry.robot)) as world:
        check_start(world)
    check_init(task)
    return task


def solve(
    task: TampTask,
    seed: int = 0,
    *,
    planner: str = "rrt-connect",
    checker: str = "kernel",
    optimize: str = "smooth",
    arrival: str = "box",
    node_limit: int | None = None,
    effort: float = 1.0,
    listener: Listener = SILENT,
) -> Solution | Failure:
    """A plan with smooth motions, checked in PDDLGym and in Drake; or why there is none.

    Args:
        task: see ``load``. seed: of every random stream; the same seed gives the same solution.
        planner, checker, optimize: see ``Settings``. arrival: ``box``, or ``l1`` for its ``l1``.
        node_limit: of each search of the task planner; None: its own.
        effort: multiplies how many refinements are tried before the answer is ``budget``.
        listener: hears of progress.
    """
    _check_choices(planner=planner, checker=checker, optimize=optimize, arrival=arrival)
    compile_s = ensure(*COMPILED, listener=None if listener is SILENT else listener)
    listener.stage("task and motion planning")
    settings = Settings(seed, planner, checker, optimize, arrival == "l1", effort=effort)
    robot = robot_of(task.scene.robot)
    with PyBulletWorld(task.scene, robot) as world:
        context = PlanningContext(task.scene, robot, world, settings, listener=listener)
        search = Search(context, task, task.start, listener, node_limit)
        try:
            found = search.solve()
        finally:
            listener.finished(search.record)
        if isinstance(found, Failure):
            return found
        listener.stage("replaying the plan in PDDLGym")
        facts, check = check_plan(task, found.plan)
        listener.finished(check)
        if check.pddlgym == "missing":
            listener.stage(f"PDDLGym is {check.message}")
        if check.failure is not None:
            return check.failure
        listener.stage(f"trajectories ({optimize}), audited in Drake")
        audited = optimize_and_audit(context, found.refined.motions, task.start)
        listener.finished(audited)
    if audited.failure is not None:
        return audited.failure
    timing = {
        "compile": compile_s,
        "task": search.record.task_s,
        "motion": search.record.motion_s + audited.checks_s,
        "optimization": audited.optimization_s,
    }
    plan = MotionPlan(found.plan, audited.motions, task.start, facts)
    return Solution(task, settings, plan, search.record, check, audited, timing, node_limit)


def execute(
    solution: Solution | Failure,
    executor: str = "physics",
    *,
    noise: Noise | str | None = None,
    fault: str | None = None,
    recoveries: int = THRESHOLDS.recoveries,
    folder: File | None = None,
    listener: Listener = SILENT,
) -> Execution:
    """Run the motions; replan where the world is not as planned.

    Args:
        solution: see ``solve``; a Failure is raised.
        executor: ``physics``, ``kinematic`` (no forces: what is planned happens) or ``files``
            (that, and files for a real arm).
        noise, fault: disturbances under physics (docs/disturbances.md), as text or parsed.
        recoveries: how often to replan before giving up.
        folder: for ``files``.
        listener: hears of progress.

    Raises:
        BadInput: no such executor, noise or fault; noise or a fault without physics.
        FailureError: there is no solution to execute.
    """
    if isinstance(solution, Failure):
        solution.raise_()
    _check_choices(executor=executor)
    if executor != "physics" and (noise is not None or fault is not None):
        raise BadInput.one("executor", "noise and faults need physics")
    if executor == "files" and folder is None:
        raise BadInput.one("executor", "files need a folder")
    task, seed = solution.task, solution.settings.seed
    faults = None if fault is None else parse_fault(fault, task.scene, seed)
    noise = parse_noise(noise) if isinstance(noise, str) else noise
    robot = robot_of(task.scene.robot)
    listener.stage(f"execution ({executor})")
    with PyBulletWorld(task.scene, robot) as world:
        context = PlanningContext(task.scene, robot, world, solution.settings, listener=listener)

        def tell(sample: Sample) -> None:
            listener.moved(sample.q, sample.scene_q, sample.items)

        moved = tell if is_heard(listener.moved) else None
        replanner = TampReplanner(context, task, listener, solution.node_limit)
        began = time.perf_counter()
        runner: Executor
        if executor == "physics":
            runner = _physics(solution, robot, noise, faults, moved)
        else:
            runner = KinematicExecutor(world, task.start, moved)
            if executor == "files":
                assert folder is not None
                runner = FileExecutor(runner, task.scene, robot, Path(folder))
        limits = replace(THRESHOLDS, recoveries=recoveries)
        monitor = ExecutionMonitor(runner, task.scene, robot, limits, replanner, listener)
        aborted = None
        try:
            aborted = monitor.run(solution.motion_plan)
        finally:  # what was executed counts, also if interrupted
            log = runner.log()
            runner.close()
            run = Execution(
                solution=solution,
                executor=executor,
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
    """A plan for any PDDL task, without geometry; or why there is none: ``galley plan``.

    Args:
        domain, problem: files; those of the kitchen also by their bare names.
        search: ``bfs``, ``astar`` or ``gbfs`` (docs/planning.md).
        node_limit, seconds: when to give up; None: never.

    Raises:
        BadInput: a file is malformed, or there is no such search.
    """
    if search not in METHODS:
        what = f"'{search}' is none of {', '.join(METHODS)}{did_you_mean(search, METHODS)}"
        raise BadInput.one("search", what)
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
    """RRT and optimised trajectories on the same queries (docs/comparison.md); why not, if not.

    Args:
        query: ``seed`` (the turn-around), ``random``, or a query file. count: of random queries.
        scene: a file; None: the query's own, or the kitchen. seed: of every random stream.
        out: folder for what ``galley compare`` writes, but for films; None writes nothing.
        listener: hears of progress.

    Raises:
        BadInput: a scene or a query is malformed, or ``out`` can't be written.
    """
    from galley.studies.comparison.runner import ComparisonOptions, run

    options = ComparisonOptions(
        query=query,
        count=count,
        scene=None if scene is None else shipped_file(scene),
        seed=seed,
        out=None if out is None else Path(out),
        video=False,
    )
    return run(options, listener, write=out is not None)


def judge(run: Execution, listener: Listener = SILENT) -> Verdict:
    """Validate what was executed, from the log and the scene alone; also ``run.verdict``."""
    if "verdict" not in vars(run):
        listener.stage("validation")
        vars(run)["verdict"] = validate_run(
            run.solution.task.scene,
            run.log,
            run.goal,
            lambda share: listener.fraction("validating", share),
        )
    return run.verdict


def film(
    run: Execution,
    path: File,
    *,
    height: int = 720,
    fps: float = 20,
    speed: float = 1.0,
    listener: Listener = SILENT,
) -> VideoInfo:
    """Film the executed states into an MP4 file, 16 to 9.

    Raises:
        RuntimeError, ValueError: it can't be encoded or written.
    """
    heard = None if listener is SILENT else listener
    return run.film(path, height=height, fps=fps, speed=speed, listener=heard)


def report(
    result: Solution | Execution,
    folder: File | None = None,
    *,
    html: bool = True,
    listener: Listener = SILENT,
) -> Report:
    """What happened and why (docs/report.md).

    Args:
        result: a solution, or a run of it.
        folder: where to write ``report.json`` with plan, trajectories and states, as ``galley run``
            does; None writes nothing.
        html: also write ``report.html``, the page for people; takes a few seconds.
        listener: hears of progress.

    Raises:
        BadInput: the folder holds other files, or can't be written.
    """
    solution = result.solution if isinstance(result, Execution) else result
    options = asdict(solution.settings)
    made = Report.of(solution.task, solution.settings.seed, options)
    if folder is None:
        record(result, ReportRecorder(made))
        return made
    check_destination(Path(folder), "")
    with run_folder(Path(folder), "") as path:
        keep_inputs(path, made.scene, made.domain, made.problem)
        record(result, ReportRecorder(made, path))
        made.write(path)
        if html:
            from galley.results.page.page import write_page

            ensure(RENDERER, listener=None if listener is SILENT else listener)
            write_page(path)
    return made


# -- parts of the stages ---------------------------------------------------------------------------


def _skills(own: File | None, domain: Domain) -> Mapping[str, Skill]:
    """The shipped skills, and those of the user's file in their place."""
    if own is None:
        return SKILLS
    return skill_set(load_skills(own, [action.name for action in domain.actions]))


def _check_choices(**chosen: str) -> None:
    for name, value in chosen.items():
        if value not in CHOICES[name]:
            hint = did_you_mean(value, CHOICES[name])
            what = f"'{value}' is none of {', '.join(CHOICES[name])}{hint}"
            raise BadInput.one(name, what)


def _physics(
    solution: Solution,
    robot: RobotModel,
    noise: Noise | None,
    faults: InjectedFaults | None,
    moved: Callable[[Sample], None] | None,
) -> PhysicsExecutor:
    """Physics in the scene; noise perturbs it and its observations."""
    scene, seed = solution.task.scene, solution.settings.seed
    if noise is None:
        return PhysicsExecutor(scene, robot, solution.task.start, fault=faults, on_sample=moved)
    true, looks = noise.true_scene(scene, stream(seed, "world")), stream(seed, "looks")
    observe = partial(noise.observed, true, rng=looks)
    return PhysicsExecutor(
        true, robot, initial_state(true), fault=faults, sensor=observe, on_sample=moved
    )
