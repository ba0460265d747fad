"""What many tests share: the kitchen, its world, one refined and executed run, a small scene.

The heavy parts are imported where they are needed, so that tests of the symbols start at once.
"""

from __future__ import annotations

import fcntl
import gc
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import is_hypothesis_test

from galley.domain.scene.model import Scene
from galley.domain.scene.reader import load_scene
from galley.domain.shipped import KITCHEN
from galley.domain.state import State, initial_state
from galley.tests.effort import load_profile

pytest_plugins = ["galley.tests.command_line"]

if TYPE_CHECKING:
    from galley.domain.log import Log
    from galley.skills import BoundAction
    from galley.tamp.refine import RefinedMotions


def pytest_addoption(parser):
    parser.addoption(
        "--slow",
        action="store_true",
        help="the other job: tests marked slow, and property tests with all their examples",
    )


def pytest_configure(config):
    load_profile(thorough=config.getoption("--slow"))
    # What several tests let JAX compile, one process compiles once; a folder for each worker.
    folder = tempfile.TemporaryDirectory(prefix="galley-jax-")
    config.add_cleanup(folder.cleanup)
    os.environ["JAX_COMPILATION_CACHE_DIR"] = folder.name
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Thousands of tests are made and kept: the garbage collector need not search them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config, items):
    """Each test runs in one of the two jobs; property tests in both, quick and thorough."""

    def chosen(item):
        slow = item.get_closest_marker("slow") is not None
        if config.getoption("--slow"):
            return slow or is_hypothesis_test(item.function)
        return not slow

    config.hook.pytest_deselected(items=[item for item in items if not chosen(item)])
    items[:] = [item for item in items if chosen(item)]


@pytest.fixture(scope="module")
def quick_compilation():
    """Where most of the time is JAX's compiler, and not what it compiled: it optimises little."""
    import jax

    before = jax.config.values["jax_disable_most_optimizations"]
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", before)
    jax.clear_caches()  # what was compiled so has other last bits than other tests expect


@pytest.fixture(scope="module")
def quick_compilation_in_the_gate(request):
    """``quick_compilation``, but the slow tests run long what they have compiled."""
    if not request.config.getoption("--slow"):
        request.getfixturevalue("quick_compilation")


SMALL = """\
galley_scene: 1
name: small
robot:
  model: mobile_panda
  start:
    base: [1.5, 0.0, 3.0]
    arm: [0.0, -0.57, 0.0, -2.81, 0.0, 3.04, 0.74]
bodies:
  floor:
    shapes:
      - {extents: [[-2, 3], [-2, 2], [-0.05, 0]]}
  cabinet:
    shapes:
      - {extents: [[-0.4, 0.3], [-0.5, 0.5], [0.80, 0.84]], color: [0.6, 0.4, 0.3]}
  drawer:
    parent: cabinet
    joint: slide
    mass: 2.0
    shapes:
      - {extents: [[-0.3, 0.25], [-0.3, 0.3], [0.60, 0.62]]}
  knob:
    parent: drawer
    shapes:
      - {extents: [[0.29, 0.31], [-0.1, 0.1], [0.65, 0.67]]}
  door:
    parent: cabinet
    joint: hinge
    shapes:
      - {box: [0.02, 0.4, 0.5], xyz: [0.3, 0.2, 0.3]}
joints:
  slide: {type: prismatic, axis: [1, 0, 0], limits: [0, 0.4]}
  hinge: {type: revolute, axis: [0, 0, 1], pivot: [0.3, 0.4, 0.3], limits: [0, 1.5]}
regions:
  top:
    body: cabinet
    surface:
      - {x: [-0.3, 0.2], y: [-0.4, 0.4], z: 0.84}
  inside:
    body: drawer
    volume: [[-0.3, 0.25], [-0.3, 0.3], [0.62, 0.75]]
handles:
  knob:
    body: knob
    joint: slide
    point: [0.30, 0.0, 0.66]
    approach: [-1, 0, 0]
    closing: [0, 0, 1]
    thickness: 0.02
items:
  block:
    mass: 0.3
    shapes:
      - {box: [0.05, 0.06, 0.10]}
    pose: {on: top, xy: [0.1, -0.2], yaw: 0.5}
stances:
  away: {x: [1.0, 2.0], y: [-1.0, 1.0]}
  cabinet: {x: [0.7, 1.3], y: [-1.0, 1.0]}
objects:
  center: {stance: away}
  table: {stance: cabinet, region: top}
  drawer: {stance: cabinet, region: inside, handle: knob, staging: top}
  block: {item: block}
  h1: {hand: panda_hand}
"""


@dataclass(frozen=True)
class Run:
    """The default task, refined and executed once."""

    plan: tuple[BoundAction, ...]
    refined: RefinedMotions
    start: State
    end: State
    log: Log


@pytest.fixture
def drawn(monkeypatch):
    """The axes of the figures that are saved from now on."""
    from matplotlib.figure import Figure

    seen, save = [], Figure.savefig

    def savefig(figure, *args, **kwargs):
        seen.extend(figure.axes)
        save(figure, *args, **kwargs)

    monkeypatch.setattr(Figure, "savefig", savefig)
    return seen


@pytest.fixture(scope="session")
def kitchen_folder() -> Path:
    """Where the shipped scene and PDDL files are."""
    return KITCHEN


@pytest.fixture(scope="session")
def kitchen() -> Scene:
    return load_scene(KITCHEN / "kitchen.yaml")


@pytest.fixture(scope="session")
def robot(kitchen):
    from galley.robots.panda.models import mobile_panda

    return mobile_panda(kitchen.robot.base)


@pytest.fixture(scope="session")
def shared_world(kitchen, robot):
    """One world of the kitchen for the whole session. Set what you need before you ask it."""
    from galley.collision.backends.pybullet_world import PyBulletWorld

    with PyBulletWorld(kitchen, robot) as world:
        yield world


@pytest.fixture
def world(kitchen, shared_world):
    """The shared world, put into the initial state."""
    shared_world.set_state(initial_state(kitchen))
    return shared_world


@pytest.fixture(scope="session")
def default_run(kitchen, shared_world) -> Run:
    from galley.domain.pddl.reader import read_domain, read_problem
    from galley.execution.kinematic import KinematicExecutor, execute_all
    from galley.planning import ground, search
    from galley.skills import SKILLS, PlanningContext, Settings
    from galley.skills.manipulation.optimize import optimize_trajectories
    from galley.tamp.binding import bind, bind_plan
    from galley.tamp.refine import RefinedMotions
    from galley.tests.refining import refine

    domain = read_domain(KITCHEN / "kitchen.pddl")
    problem = read_problem(KITCHEN / "task.pddl", domain)
    actions = search(ground(domain, problem)).actions
    plan = bind_plan(actions, bind(kitchen, domain, problem))
    start = initial_state(kitchen)
    context = PlanningContext(kitchen, shared_world.robot, shared_world, Settings(seed=2))
    refined = refine(context, plan, start, SKILLS)
    assert isinstance(refined, RefinedMotions), str(refined)
    refined = replace(refined, motions=optimize_trajectories(context, refined.motions, start))
    names = tuple(f"{plan[m.action_index]} | {m.phase}" for m in refined.motions)
    executor = KinematicExecutor(shared_world, start)
    log = execute_all(executor, refined.motions, names)
    return Run(plan, refined, start, executor.observe(), log)


@dataclass(frozen=True)
class PhysicsRun:
    """The default task as a user runs it, under physics; what it printed, and its run folder."""

    folder: Path
    out: str


def run_default_task(place: Path, hash_seed: str) -> PhysicsRun:
    """``python engine.py --no-video`` in a process of its own, its run folder at ``place/run``."""
    from galley.tests.command_line import ROOT, environment, python

    place.mkdir()
    words, env = ("--no-video", "--out", "run"), environment(PYTHONHASHSEED=hash_seed)
    done = python(ROOT / "engine.py", *words, cwd=place, env=env)
    assert done.status == 0, done.err[-2000:]
    return PhysicsRun(place / "run", done.out)


def once_per_session(tmp_path_factory, name: str, make: Callable[[Path], object]) -> Path:
    """The folder ``name`` that ``make`` filled, made by the first worker that asks for it."""
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    place, made = base / name, base / f"{name}.made"
    with (base / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            make(place)
            made.touch()
    return place


@pytest.fixture(scope="session")
def physics_run(tmp_path_factory) -> PhysicsRun:
    """The default task under physics, run once for all workers of this session.

    Where GALLEY_DEFAULT_RUN names a folder, it was run there before, into ``run``; what it printed
    stands beside the folder, in a file of its name and ``.txt``.
    """
    given = os.environ.get("GALLEY_DEFAULT_RUN")
    if given:
        return PhysicsRun(Path(given) / "run", Path(f"{given}.txt").read_text())
    place = once_per_session(
        tmp_path_factory,
        "default-task",
        lambda place: place.with_suffix(".txt").write_text(run_default_task(place, "1").out),
    )
    return PhysicsRun(place / "run", place.with_suffix(".txt").read_text())


@pytest.fixture(scope="session")
def small_text() -> str:
    """A small valid scene file: a cabinet with a drawer and a door, a block on top."""
    return SMALL


@pytest.fixture(scope="session")
def scene_of(tmp_path_factory):
    """``scene_of(text)``: the scene of a file with this text."""

    def load(text: str) -> Scene:
        file = tmp_path_factory.mktemp("scene") / "scene.yaml"
        file.write_text(text)
        return load_scene(file)

    return load


@pytest.fixture
def small_scene(scene_of) -> Scene:
    return scene_of(SMALL)


@pytest.fixture(scope="session")
def goal_of(tmp_path_factory):
    """``goal_of(domain, problem, text)``: a condition in PDDL about the objects of a problem."""
    from galley.domain.pddl.reader import read_problem

    file = tmp_path_factory.mktemp("goal") / "goal.pddl"

    def read(domain, problem, text):
        objects = " ".join(f"{each.name} - {each.type}" for each in problem.objects)
        file.write_text(
            f"(define (problem p) (:domain {domain.name}) (:objects {objects}) (:init)"
            f" (:goal {text}))"
        )
        return read_problem(file, domain).goal

    return read


@pytest.fixture(scope="session")
def with_goal(goal_of):
    """``with_goal(task, *goal)``: its problem with another goal, ground anew; formulas or text."""
    from galley.domain.pddl.formula import Fact, Literal
    from galley.planning import ground

    def regrounded(task, *goal):
        parts = []
        for each in goal:
            if isinstance(each, str):
                parts += goal_of(task.domain, task.problem, each)
            else:
                parts.append(Literal(*each) if isinstance(each, Fact) else each)
        return ground(task.domain, replace(task.problem, goal=tuple(dict.fromkeys(parts))))

    return regrounded
