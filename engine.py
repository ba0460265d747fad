"""The pipeline: PDDL and a scene to a plan, motions, an executed run, a video and a report.

It composes the other folders and defines no algorithm. ``python engine.py`` is the same as the
console script ``galley``.
"""

from __future__ import annotations

if __name__ == "__main__":
    # First of all: the command decides what is imported, and ``plan`` needs nothing heavy.
    try:
        from galley.cli import main
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    raise SystemExit(main())

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from galley.compiled.build import KERNEL, KINEMATICS, PLANNERS, REACH, RENDERER, TIMING, ensure
from galley.domain.failure import Failure, FailureKind
from galley.domain.files import write_whole
from galley.domain.listener import Listener
from galley.domain.log import Log
from galley.domain.pddl.formula import Fact
from galley.domain.pddl.model import Domain, Problem
from galley.domain.pddl.reader import read_domain, read_problem
from galley.domain.scene.model import Binding, Scene
from galley.domain.scene.reader import load_scene
from galley.domain.shipped import KITCHEN
from galley.domain.state import State, initial_state
from galley.execution.disturbance.faults import InjectedFaults, parse_fault
from galley.execution.disturbance.noise import Noise, stream
from galley.execution.executor import Executor
from galley.execution.kinematic import KinematicExecutor
from galley.execution.monitor import ExecutionMonitor, MotionPlan
from galley.execution.physics.executor import PhysicsExecutor
from galley.execution.recovery.replanning import InterruptedPlan, RecoveryPlan, replan
from galley.motion.audit import audit
from galley.motion.motion import FREE, Motion
from galley.motion.thresholds import THRESHOLDS
from galley.motion.trajectory.store import save_trajectories
from galley.planning import GroundAction, replay, validate_actions
from galley.results.report import Report
from galley.results.run_folder import check_destination, digests, run_folder
from galley.robots.panda.models import mobile_panda
from galley.skills import SKILLS, PlanningContext, Settings, Skill, skill_set
from galley.skills.solving.optimize import optimize_trajectories
from galley.tamp.binding import bind, check_init, check_skills
from galley.tamp.goal import GoalJudge
from galley.tamp.search import Search, Solution
from galley.validation import Goal, validate_run
from galley.viz.film.video import FilmOptions, film
from galley.worlds.engines.pybullet_world import PyBulletWorld
from galley.worlds.scene_check import check_start

COMPILED = (KERNEL, PLANNERS, REACH, KINEMATICS, TIMING)
"""What every run needs of what ``compiled.build`` makes."""
ROBOT_FILES = "robot"  # folder in a run's folder


@dataclass(frozen=True)
class Options:
    """What ``galley run`` is asked to do; the defaults are the seed's kitchen task."""

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


@dataclass(frozen=True)
class Outcome:
    """How a run ended, and where its folder is."""

    report: Report
    folder: Path


def run(options: Options, listener: Listener) -> Outcome:
    """The whole pipeline.

    Raises:
        BadInput: a file is malformed, or the scene starts in collision; nothing is written then.
        KeyboardInterrupt: after what was finished has been kept in the run folder.
    """
    check_destination(options.out, options.problem.stem)
    listener.stage("reading the scene and the task")
    scene = load_scene(options.scene)
    domain = read_domain(options.domain)
    problem = read_problem(options.problem, domain)
    bindings = bind(scene, domain, problem)
    skills = _skills(options.skills, domain)
    check_skills(domain, skills)
    faults = None if options.fault is None else parse_fault(options.fault, scene, options.seed)
    with PyBulletWorld(scene, mobile_panda(scene.robot.base)) as world:
        check_start(world)
        check_init(scene, initial_state(scene), domain, problem, bindings)
        told = {k: str(v) if isinstance(v, Path) else v for k, v in asdict(options).items()}
        files = {scene.source, *(file for file, _ in scene.places.values())}
        files |= {domain.file, problem.file}
        files |= set() if options.skills is None else {str(options.skills)}
        report = Report(scene.source, domain.file, problem.file, options.seed, told, digests(files))
        with run_folder(options.out, options.problem.stem) as folder:
            report.write(folder)
            pipeline = _Run(
                options,
                scene,
                domain,
                problem,
                bindings,
                skills,
                faults,
                world,
                report,
                folder,
                listener,
            )
            try:
                pipeline.go()
            except KeyboardInterrupt:
                if report.validation is None:
                    report.fail(Failure(FailureKind.BUDGET, "interrupted by the user"))
                else:  # only the film is missing: the verdict stands
                    report.video = {"error": "interrupted by the user"}
                raise
            finally:
                report.write(folder)
    return Outcome(report, folder)


def _skills(own: Path | None, domain: Domain) -> Mapping[str, Skill]:
    """Ours, and those of the user's file over them."""
    if own is None:
        return SKILLS
    from galley.skills.own import load_skills

    return skill_set(load_skills(own, [action.name for action in domain.actions]))


@dataclass
class _Run:
    """One run's parts; each method is one stage and leaves its results in folder and report."""

    options: Options
    scene: Scene
    domain: Domain
    problem: Problem
    bindings: Mapping[str, Binding]
    skills: Mapping[str, Skill]
    faults: InjectedFaults | None
    world: PyBulletWorld
    report: Report
    folder: Path
    listener: Listener
    facts: tuple[frozenset[Fact], ...] = ()  # before each action of the plan, and at its end

    def go(self) -> None:
        """All stages in order, as far as they succeed."""
        failed = self._pipeline()
        if failed is not None:
            self.report.fail(failed)

    def _pipeline(self) -> Failure | None:
        found = self._solve()
        if isinstance(found, Failure):
            return found
        failed = self._replay(found.plan)
        if failed is not None:
            return failed
        start = initial_state(self.scene)
        self.listener.stage(f"trajectories ({self.options.optimize}), audited in Drake")
        motions = self._finish(found.refined.motions, start)
        if isinstance(motions, Failure):
            return motions
        self.listener.motions(self.report)
        if self.options.execute == "none":
            self.report.status = "success"
            return None
        log, failed = self._execute(MotionPlan(found.plan, motions, start, self.facts))
        failed = self._judge(log, failed)
        self.report.write(self.folder)
        if self.options.video:
            self._film(log)
        return failed

    def _solve(self) -> Solution | Failure:
        """A plan and motions for it."""
        options = self.options
        films = options.video and options.execute != "none"
        parts = (*COMPILED, RENDERER) if films else COMPILED
        self.report.timing_s["compile"] = ensure(*parts, say=self.listener.stage)
        self.listener.stage("task and motion planning")
        settings = Settings(
            seed=options.seed,
            planner=options.planner,
            checker=options.checker,
            optimize=options.optimize,
            l1=options.arrival == "l1",
        )
        self.context = PlanningContext(self.scene, self.world.robot, self.world, settings)
        search = Search(
            self.context,
            self.domain,
            self.problem,
            self.bindings,
            self.skills,
            initial_state(self.scene),
            self.listener,
            options.node_limit,
        )
        began = time.perf_counter()
        try:
            found = search.solve()
        finally:
            spent = time.perf_counter() - began
            self.report.timing_s["task"] = search.task_s
            self.report.timing_s["motion"] = spent - search.task_s
            self.report.searched(search)
            if self.report.plan:
                self._keep_plan()
        if isinstance(found, Solution):
            self._keep_plan()  # also one without actions: the goal holds already
        return found

    def _keep_plan(self) -> None:
        text = "".join(f"{line}\n" for line in self.report.plan)
        write_whole(self.folder / "plan.txt", text)

    def _replay(self, actions: tuple[GroundAction, ...]) -> Failure | None:
        """The plan checked by our validator, against the user's own domain, and in PDDLGym."""
        self.listener.stage("replaying the plan in PDDLGym")
        verdict = validate_actions(self.domain, self.problem, actions)
        self.facts = verdict.states
        outside = replay(self.domain, self.problem, actions)
        if outside.status == "missing":
            self.listener.stage(f"PDDLGym is {outside.message}")
        self.report.replay = {
            "own_validator": verdict.message if not verdict.valid else "valid",
            "pddlgym": str(outside.status),
            "message": outside.message,
            "steps": outside.steps,
        }
        if not verdict.valid or outside.status == "disagrees":
            message = verdict.message if not verdict.valid else outside.message
            return Failure(FailureKind.CONTRADICTION, f"the plan does not hold: {message}")
        return None

    def _finish(self, motions: tuple[Motion, ...], start: State) -> tuple[Motion, ...] | Failure:
        """The final trajectories of motions that begin in ``start``, looked at in Drake."""
        finished = optimize_trajectories(self.context, motions, start)
        spent = sum(motion.record.optimization_ms for motion in finished) / 1e3
        timing = self.report.timing_s
        timing["optimization"] = timing.get("optimization", 0.0) + spent
        began = time.perf_counter()
        audited = audit(self.scene, self.world.robot, finished, start)
        timing["motion"] += time.perf_counter() - began
        name = self.report.planned(audited)
        save_trajectories(self.folder / name, audited)
        self.report.write(self.folder)
        for motion in audited:
            if motion.record.audit != FREE:
                return Failure(
                    FailureKind.BLOCKED,
                    f"Drake disagrees with the plan: {motion.record.audit}",
                    step=(motion.phase,),
                    certificate={"kind": "audit", "verdict": motion.record.audit},
                )
        return audited

    def _execute(self, course: MotionPlan) -> tuple[Log, Failure | None]:
        """Run the motions, planning anew where the world is not as planned; keeps the log."""
        options, report = self.options, self.report
        self.listener.stage(f"execution ({options.execute})")
        began, before = time.perf_counter(), sum(report.timing_s.values())
        loop = None
        try:
            executor = self._executor()
            limits = replace(THRESHOLDS, recoveries=options.recoveries)
            robot, calls = self.world.robot, (self._replan, self._finish, self._missing)
            loop = ExecutionMonitor(executor, self.scene, robot, limits, *calls, self.listener)
            try:
                failed = loop.run(course)
            finally:
                log = executor.log()
                executor.close()
                log.save(self.folder / "states.npz")
        finally:
            spent = time.perf_counter() - began
            planning = sum(report.timing_s.values()) - before
            report.timing_s["execution"] = spent - planning
            if loop is not None:
                report.executed(loop, self.faults)
                self.facts = (loop.facts,)
        return log, failed

    def _executor(self) -> Executor:
        """What runs the motions; it begins as the scene says, or as noise has it."""
        scene, robot = self.scene, self.world.robot
        kind, noise, seed = self.options.execute, self.options.noise, self.options.seed
        start = initial_state(scene)
        if kind == "physics":
            if noise is None:
                return PhysicsExecutor(scene, robot, start, fault=self.faults)
            true, looks = noise.true_scene(scene, stream(seed, "world")), stream(seed, "looks")

            def sensor(state: State) -> State:
                return noise.observed(true, state, looks)

            return PhysicsExecutor(
                true, robot, initial_state(true), fault=self.faults, sensor=sensor
            )
        kinematic = KinematicExecutor(self.world, start)
        if kind == "files":
            from galley.execution.files import FileExecutor

            return FileExecutor(kinematic, scene, robot, self.folder / ROBOT_FILES)
        return kinematic

    def _replan(self, broken: InterruptedPlan, state: State, number: int) -> RecoveryPlan | Failure:
        """How to reach the goal from what is seen."""
        began = time.perf_counter()
        try:
            return replan(
                self.context,
                self.domain,
                self.problem,
                self.bindings,
                self.skills,
                broken,
                state,
                number,
                self.listener,
                self.options.node_limit,
            )
        finally:
            self.report.timing_s["motion"] += time.perf_counter() - began

    def _missing(self, state: State, facts: frozenset[Fact]) -> tuple[str, ...]:
        """What of the goal does not hold in a State, in words."""
        judge = GoalJudge(self.scene, self.domain, self.problem, self.bindings, state, facts)
        found = ((str(formula), judge.verdict(formula)) for formula in self.problem.goal)
        return tuple(f"{text} does not hold: {v.why}" for text, v in found if not v.holds)

    def _judge(self, log: Log, failed: Failure | None) -> Failure | None:
        """Validate what was executed, and the goal in its last state."""
        self.listener.stage("validation")
        verdict = validate_run(
            self.scene,
            log,
            Goal(self.domain, self.problem, self.facts[-1]),
            lambda share: self.listener.fraction("validating", share),
        )
        self.report.validation = verdict
        self.report.goal_reached = verdict.goal_reached
        wrong = [f"at {v.time:.2f} s {v.what}" for v in verdict.violations]
        wrong += [f"{f.fact} does not hold: {f.why}" for f in verdict.goal_facts if not f.holds]
        if failed is None and not wrong:
            self.report.status = "success"
            return None
        if failed is None:
            failed = Failure(
                FailureKind.CONTRADICTION,
                f"validation: {wrong[0]}" + (f" (and {len(wrong) - 1} more)" if wrong[1:] else ""),
                certificate={"kind": "executed-states", "violations": wrong},
            )
        self.report.fail_execution(failed)
        return None

    def _film(self, log: Log) -> None:
        """Film the executed states. A run without its film is still a run: trouble is reported."""
        self.listener.stage("filming")
        began = time.perf_counter()
        height = self.options.height // 2 * 2
        try:
            info = film(
                log,
                self.scene,
                self.world.robot,
                self.folder / "simulation.mp4",
                FilmOptions(
                    fps=self.options.fps,
                    width=height * 16 // 9 // 2 * 2,
                    height=height,
                    speed=self.options.speed,
                ),
                progress=lambda done, total: self.listener.fraction("filming", done / total),
            )
            self.report.video = {k: v for k, v in asdict(info).items() if k != "path"}
        except (RuntimeError, ValueError) as error:
            self.report.video = {"error": str(error)}
        self.report.timing_s["video"] = time.perf_counter() - began
