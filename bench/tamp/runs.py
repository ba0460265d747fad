"""Plans one task: planning time and result."""

from __future__ import annotations

import functools
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.domain.failure import Failure
from galley.domain.pddl.reader import read_domain, read_problem
from galley.domain.scene.reader import load_scene
from galley.domain.shipped import KITCHEN
from galley.motion.effects import state_after
from galley.robots.panda.models import mobile_panda
from galley.skills import PlanningContext, Settings
from galley.skills.manipulation.optimize import optimize_trajectories
from galley.tamp.binding import tamp_task
from galley.tamp.search import RefinedPlan, Search

SOLVED = "solved"


@dataclass(frozen=True)
class Job:
    """A task to be planned.

    Attributes:
        series, size: what the row belongs to.
        scene, domain, problem: files. seed: of every random stream.
        finished: also the trajectories by ``smooth``.
    """

    series: str = "default task"
    size: int = 0
    scene: Path = KITCHEN / "kitchen.yaml"
    domain: Path = KITCHEN / "kitchen.pddl"
    problem: Path = KITCHEN / "task.pddl"
    seed: int = 0
    finished: bool = False


@dataclass(frozen=True)
class Row:
    """What came of a job.

    Attributes:
        status: ``solved``, or the failure's kind. message: the failure's.
        solve_s: seconds for plan, motions and proofs. cpu_s: the same, of the processor.
        task_s: of solve_s, on symbols.
        first_s: until the first motion that moves was finished; smooth_s: until all were.
        skeletons, refinements, lessons: plans tried, refinements of actions, facts learned.
        actions: of the plan.
    """

    series: str
    size: int
    seed: int
    status: str
    message: str
    solve_s: float
    cpu_s: float
    task_s: float
    first_s: float | None
    smooth_s: float | None
    skeletons: int
    refinements: int
    lessons: int
    actions: int

    def raw(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def plan(job: Job) -> Row:
    """Plan it, warm: the default task has been planned before in this process.

    Reading the files and building the world are not in the figures; all else is: grounding, the
    kernel's scene, the search over both, every proof.
    """
    _warm()
    return _plan(job)


@functools.cache
def _warm() -> None:
    _plan(Job(finished=True))
    _plan(Job(seed=1, finished=True))


def _plan(job: Job) -> Row:
    scene, domain = load_scene(job.scene), read_domain(job.domain)
    problem = read_problem(job.problem, domain)
    task = tamp_task(scene, domain, problem)
    with PyBulletWorld(scene, mobile_panda(scene.robot.base)) as world:
        bench = PlanningContext(scene, world.robot, world, Settings(seed=job.seed))
        began, processor = perf_counter(), process_time()
        search = Search(bench, task, task.start)
        found = search.solve()
        solve_s, cpu_s = perf_counter() - began, process_time() - processor
        first_s, smooth_s = _finish(bench, found, began) if job.finished else (None, None)
    failed = found if isinstance(found, Failure) else None
    return Row(
        job.series,
        job.size,
        job.seed,
        SOLVED if failed is None else str(failed.kind),
        "" if failed is None else str(failed),
        solve_s,
        cpu_s,
        search.task_s,
        first_s,
        smooth_s,
        len(search.record.tried),
        search.effort.counts["refinements"],
        len(search.constraints.all),
        0 if isinstance(found, Failure) else len(found.plan),
    )


def _finish(
    bench: PlanningContext, found: RefinedPlan | Failure, began: float
) -> tuple[float | None, float | None]:
    """Seconds since ``began`` until the first motion that moves was finished, and until all."""
    if isinstance(found, Failure):
        return None, None
    first_s: float | None = None
    state = found.refined.states[0]
    for motion in found.refined.motions:
        finished = optimize_trajectories(bench, (motion,), state)[0]
        if first_s is None and finished.trajectory.duration > 0.0:
            first_s = perf_counter() - began
        state = state_after(bench.scene, bench.robot, motion, state)
    return first_s, perf_counter() - began
