"""Shipped tasks, read and bound: of the kitchen, and of the scenarios."""

from galley.domain.pddl.reader import read_domain, read_problem
from galley.domain.scene.reader import load_scene
from galley.domain.shipped import KITCHEN, SCENARIOS
from galley.planning import GroundAction
from galley.tamp.binding import bind_plan, tamp_task


def kitchen_task():
    """The default task."""
    domain = read_domain(KITCHEN / "kitchen.pddl")
    scene = load_scene(KITCHEN / "kitchen.yaml")
    return tamp_task(scene, domain, read_problem(KITCHEN / "task.pddl", domain))


def scenario_task(name, problem=None):
    """A scenario with a scene of its own, or another problem in it."""
    domain = read_domain(KITCHEN / "drawers.pddl")
    scene = load_scene(SCENARIOS / f"{name}_scene.yaml")
    return tamp_task(scene, domain, read_problem(SCENARIOS / f"{problem or name}.pddl", domain))


def plan_of(task, *texts):
    """Bound actions of texts such as ``pick sugar burner h1``."""
    words = [text.split() for text in texts]
    plan = tuple(GroundAction(name, tuple(args)) for name, *args in words)
    return bind_plan(plan, task.bindings)
