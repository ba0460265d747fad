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

import os
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Protocol

from galley.compiled.jit import pending
from galley.domain.failure import Failure, FailureKind
from galley.domain.formula import Fact
from galley.domain.log import Log
from galley.domain.pddl import Domain, Problem
from galley.domain.pddl_reader import read_domain, read_problem
from galley.domain.scene import Binding, Scene
from galley.domain.scene_file import load_scene
from galley.domain.state import initial_state
from galley.motion.audit import audit
from galley.motion.motion import FREE, Motion
from galley.motion.planning import PLANNERS_COMPILED
from galley.motion.store import save_trajectories
from galley.optimization.path_timing import TIMING
from galley.planning import (
    GroundAction,
    Limits,
    Plan,
    Task,
    ground,
    replay,
    search,
    validate,
)
from galley.report import Report
from galley.robots.mobile_panda import mobile_panda
from galley.run_folder import RunFolder, check_destination, new_name
from galley.simulation.kinematic import execute
from galley.simulation.validation import final_state, validate_log
from galley.skills import SKILLS, BoundAction, Settings, Workbench
from galley.tamp.binding import bind, bind_plan, check_init, check_skills, impossible_actions
from galley.tamp.goal import GoalJudge
from galley.tamp.refine import Refined, refine
from galley.viz.video import film
from galley.worlds.pybullet_world import PyBulletWorld
from galley.worlds.scene_check import check_start
from galley.worlds.view import KERNEL

COMPILED = (KERNEL, PLANNERS_COMPILED, "inverse kinematics", "the arm's reach", TIMING)
KITCHEN = Path(__file__).parent / "domain" / "kitchen"


@dataclass(frozen=True)
class Options:
    """What ``galley run`` is asked to do; the defaults are the seed's kitchen task."""

    scene: Path = KITCHEN / "kitchen.yaml"
    domain: Path = KITCHEN / "kitchen.pddl"
    problem: Path = KITCHEN / "task.pddl"
    seed: int = 0
    out: Path | None = None
    planner: str = "rrt-connect"
    checker: str = "kernel"
    optimize: str = "smooth"
    arrival: str = "box"
    execute: str = "kinematic"
    video: bool = True
    height: int = 720
    fps: int = 20
    speed: float = 1.0
    node_limit: int | None = None


class Listener(Protocol):
    """Hears how a run goes on: the command line prints it."""

    def stage(self, text: str) -> None:
        """A stage of the pipeline begins."""
        ...

    def plan(self, actions: tuple[str, ...]) -> None:
        """The symbolic plan is there."""
        ...

    def action(self, index: int, total: int, text: str, event: str) -> None:
        """An action's refinement: ``start``, ``done``, or why it is tried again."""
        ...

    def motions(self, report: Report) -> None:
        """All motions are planned."""
        ...

    def fraction(self, text: str, done: float) -> None:
        """A long step is done to this share, in [0, 1]."""
        ...


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
    path = options.out or new_name(options.problem.stem)
    check_destination(path)
    listener.stage("reading the scene and the task")
    scene = load_scene(options.scene)
    domain = read_domain(options.domain)
    problem = read_problem(options.problem, domain)
    bindings = bind(scene, domain, problem)
    check_skills(domain, SKILLS)
    with PyBulletWorld(scene, mobile_panda(scene.robot.base)) as world:
        check_start(world)
        check_init(scene, initial_state(scene), problem, bindings)
        told = {k: str(v) if isinstance(v, Path) else v for k, v in asdict(options).items()}
        report = Report(scene.source, domain.file, problem.file, options.seed, told)
        with RunFolder(path) as folder:
            pipeline = _Run(
                options, scene, domain, problem, bindings, world, report, folder.partial, listener
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
                report.write(folder.partial)
    return Outcome(report, path)


@dataclass
class _Run:
    """One run's parts; each method is one stage and leaves its results in folder and report."""

    options: Options
    scene: Scene
    domain: Domain
    problem: Problem
    bindings: dict[str, Binding]
    world: PyBulletWorld
    report: Report
    folder: Path
    listener: Listener
    planned_facts: frozenset[Fact] = frozenset()  # with which the plan ends

    def go(self) -> None:
        """All stages in order, as far as they succeed."""
        failed = self._pipeline()
        if failed is not None:
            self.report.fail(failed)

    def _pipeline(self) -> Failure | None:
        actions = self._plan()
        if isinstance(actions, Failure):
            return actions
        refined = self._refine(actions)
        if isinstance(refined, Failure):
            return refined
        self.listener.motions(self.report)
        if self.options.execute == "none":
            self.report.status = "success"
            return None
        log = self._execute(refined.motions, actions)
        failed = self._judge(log)
        self.report.write(self.folder)
        if self.options.video:
            self._film(log, actions)
        return failed

    def _plan(self) -> tuple[GroundAction, ...] | Failure:
        """The symbolic plan, checked by our validator and replayed in PDDLGym."""
        self.listener.stage("task planning")
        began = time.perf_counter()
        task = ground(self.domain, self.problem)
        plan = search(task, "bfs", Limits(nodes=self.options.node_limit))
        self.report.timing_s["task"] = time.perf_counter() - began
        if isinstance(plan, Failure):
            return plan
        possible = self._possible(task, plan)
        plan = plan if isinstance(possible, Failure) else possible
        self.report.plan = tuple(str(action) for action in plan.actions)
        text = "".join(f"{line}\n" for line in self.report.plan)
        _write(self.folder / "plan.txt", text)
        self.listener.plan(self.report.plan)
        if isinstance(possible, Failure):
            return possible
        verdict = validate(task, plan)
        self.planned_facts = verdict.states[-1]
        self.listener.stage("replaying the plan in PDDLGym")
        outside = replay(self.domain, self.problem, plan.actions)
        self.report.replay = {
            "own_validator": verdict.message if not verdict.valid else "valid",
            "pddlgym": str(outside.status),
            "message": outside.message,
            "steps": outside.steps,
        }
        if not verdict.valid or outside.status == "disagrees":
            message = verdict.message if not verdict.valid else outside.message
            return Failure(FailureKind.CONTRADICTION, f"the plan does not hold: {message}")
        return plan.actions

    def _possible(self, task: Task, plan: Plan) -> Plan | Failure:
        """A plan without actions that the scene rules out (no surface there, does not fit).

        If there is none the ruled-out action is why: the search without such actions is complete.
        """
        ruled_out = impossible_actions(self.scene, self.world, task, self.bindings)
        barred = [ruled_out[action] for action in plan.actions if action in ruled_out]
        if not barred:
            return plan
        other = search(task.forbid(*ruled_out), "bfs", Limits(nodes=self.options.node_limit))
        if isinstance(other, Failure):
            return other if other.kind is FailureKind.BUDGET else barred[0]
        return other

    def _refine(self, actions: tuple[GroundAction, ...]) -> Refined | Failure:
        """Motions for every action."""
        options = self.options
        waiting = pending(*COMPILED) if options.checker == "kernel" else ()
        if waiting:
            names = ", ".join(waiting)
            self.listener.stage(f"compiling, once on this machine, a minute or two: {names}")
        self.listener.stage("motion planning")
        settings = Settings(
            seed=options.seed,
            planner=options.planner,
            checker=options.checker,
            optimize=options.optimize,
            l1=options.arrival == "l1",
        )
        bench = Workbench(self.scene, self.world.robot, self.world, settings)
        plan = bind_plan(actions, self.bindings)
        began = time.perf_counter()

        def progress(action: BoundAction, event: str) -> None:
            self.listener.action(action.index, len(plan), str(action), event)

        found = refine(bench, plan, initial_state(self.scene), SKILLS, progress)
        spent = time.perf_counter() - began
        if isinstance(found, Failure):
            self.report.timing_s["motion"] = spent
            return found
        optimization = sum(m.record.optimization_ms for m in found.motions) / 1e3
        self.report.timing_s["optimization"] = optimization
        self.listener.stage("auditing the motions in Drake")
        motions = audit(self.scene, self.world.robot, found.motions, found.states[0])
        self.report.timing_s["motion"] = time.perf_counter() - began - optimization
        found = replace(found, motions=motions)
        self.report.motions = motions
        self.report.attempts = found.attempts
        save_trajectories(self.folder / "trajectories.npz", motions)
        self.report.write(self.folder)
        for motion in motions:
            if motion.record.audit != FREE:
                return Failure(
                    FailureKind.BLOCKED,
                    f"Drake disagrees with the plan: {motion.record.audit}",
                    step=(str(plan[motion.action_index]), motion.phase),
                    certificate={"kind": "audit", "verdict": motion.record.audit},
                )
        return found

    def _execute(self, motions: tuple[Motion, ...], actions: tuple[GroundAction, ...]) -> Log:
        """Run the motions and keep the log."""
        self.listener.stage("execution")
        began = time.perf_counter()
        names = tuple(f"{actions[m.action_index]} | {m.phase}" for m in motions)

        def progress(index: int, motion: Motion) -> None:
            self.listener.fraction("executing", index / len(motions))

        _, log = execute(self.world, motions, names, initial_state(self.scene), progress)
        log.save(self.folder / "states.npz")
        self.report.timing_s["execution"] = time.perf_counter() - began
        return log

    def _judge(self, log: Log) -> Failure | None:
        """Validate what was executed; the goal must hold in the geometry."""
        self.listener.stage("validation")
        found = validate_log(self.world, log)
        self.report.validation = found
        judge = GoalJudge(
            self.scene,
            self.domain,
            self.problem,
            self.bindings,
            final_state(self.scene, log),
            self.planned_facts,
        )
        missing = []
        for formula in self.problem.goal:
            verdict = judge.verdict(formula)
            self.report.goal_facts.append(
                {"fact": str(formula), "holds": verdict.holds, "why": verdict.why}
            )
            if not verdict.holds:
                missing.append(f"{formula} does not hold: {verdict.why}")
        self.report.goal_reached = not missing
        if found.passed and not missing:
            self.report.status = "success"
            return None
        self.report.status = "failed"
        wrong = [f"at {v.time:.2f} s {v.what}" for v in found.violations] + missing
        self.report.failure = Failure(
            FailureKind.CONTRADICTION,
            f"validation: {wrong[0]}" + (f" (and {len(wrong) - 1} more)" if wrong[1:] else ""),
            certificate={"kind": "executed-states", "violations": wrong},
        )
        return None

    def _film(self, log: Log, actions: tuple[GroundAction, ...]) -> None:
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
                fps=self.options.fps,
                width=height * 16 // 9 // 2 * 2,
                height=height,
                speed=self.options.speed,
                progress=lambda done, total: self.listener.fraction("filming", done / total),
            )
            self.report.video = {k: v for k, v in asdict(info).items() if k != "path"}
        except (RuntimeError, ValueError, OSError) as error:
            self.report.video = {"error": str(error)}
        self.report.timing_s["video"] = time.perf_counter() - began


def _write(path: Path, text: str) -> None:
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(text)
    os.replace(partial, path)
