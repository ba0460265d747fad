"""What stands in the way, found by moving it away in thought; held against trying without it."""

import itertools
import re

import numpy as np
import pytest

from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.domain.failure import Failure
from galley.domain.scene.reader import load_scene
from galley.domain.shipped import KITCHEN
from galley.domain.state import initial_state
from galley.motion.effects import state_after
from galley.robots.panda.models import mobile_panda
from galley.skills import SKILLS, BoundAction, PlanningContext, Settings
from galley.skills.manipulation.context import without
from galley.tamp.feedback.failure_analysis import Diagnosis, find_blockers

SCENARIOS = KITCHEN.parent / "scenarios"


@pytest.fixture(scope="module")
def context():
    scene = load_scene(SCENARIOS / "hemmed_in_scene.yaml")
    settings = Settings(seed=0, placements=300, optimize="none")
    with PyBulletWorld(scene, mobile_panda(scene.robot.base)) as world:
        yield PlanningContext(scene, world.robot, world, settings)


def actions(context, *texts):
    found = []
    for k, (name, *args) in enumerate(text.split() for text in texts):
        found.append(BoundAction(k, name, tuple(context.scene.binding(each) for each in args)))
    return tuple(found)


def streams(seed):
    return lambda k: np.random.default_rng((seed, k))


GELATIN = ("navigate center countertop", "pick gelatin countertop h1")
BLACK = ("navigate center countertop", "pick black countertop h1")


def can_be_done(context, plan, state):
    """The plan's two actions, by four streams."""
    for seed in range(4):
        at, rng = state, np.random.default_rng((99, seed))
        for k, action in enumerate(plan):
            found = SKILLS[action.name].refine(context, action, plan[k + 1 :], at, rng)
            if isinstance(found, Failure):
                break
            for motion in found:
                at = state_after(context.scene, context.robot, motion, at)
        else:
            return True
    return False


def test_exactly_what_must_go_is_named(context):
    start, plan = initial_state(context.scene), actions(context, *GELATIN)
    items = [i for i, item in enumerate(context.scene.items) if item.name != "gelatin_box"]
    enough = [
        set(some)
        for size in range(len(items) + 1)
        for some in itertools.combinations(items, size)
        if can_be_done(context, plan, without(start, some))
    ]
    assert len(items) == 2
    found = find_blockers(context, SKILLS, plan, start, streams(0))
    assert found == Diagnosis(plan[1], frozenset(items)), "the pick is what the drive is for"
    assert enough == [set(items)], "neither alone is enough"


@pytest.mark.parametrize("gone", ["green_tea", "black_tea"])
def test_what_has_gone_is_not_named(context, gone):
    start = without(initial_state(context.scene), [context.scene.item_index[gone]])
    found = find_blockers(context, SKILLS, actions(context, *GELATIN), start, streams(0))
    left = {"green_tea", "black_tea"} - {gone}
    assert {context.scene.items[i].name for i in found.items} == left


def test_what_is_free_has_nothing_in_its_way(context):
    start = initial_state(context.scene)
    found = find_blockers(context, SKILLS, actions(context, *BLACK), start, streams(0))
    assert found.items == frozenset()


def test_what_no_item_causes_is_no_items_fault(scene_of):
    """A lid is fixed over the gelatin and the boxes on both sides of it."""
    text = (SCENARIOS / "hemmed_in_scene.yaml").read_text()
    text = text.replace("../kitchen/kitchen.yaml", str(KITCHEN / "kitchen.yaml"))
    lid = "  lid:\n    shapes:\n      - {extents: [[-0.1, 0.30], [-0.75, -0.25], [1.05, 1.06]]}\n"
    front = "      - {extents: [[0.29, 0.30], [-0.75, -0.25], [0.93, 1.05]]}\n"
    sides = "".join(
        f"      - {{extents: [[-0.1, 0.30], [{y}, {y + 0.01}], [0.93, 1.05]]}}\n"
        for y in (-0.75, -0.26)
    )
    text = re.sub(r"^items:", "bodies:\n" + lid + front + sides + "items:", text, flags=re.M)
    scene = scene_of(text)
    settings = Settings(seed=0, placements=60, optimize="none")
    with PyBulletWorld(scene, mobile_panda(scene.robot.base)) as world:
        context = PlanningContext(scene, world.robot, world, settings)
        plan = actions(context, *GELATIN)
        assert find_blockers(context, SKILLS, plan, initial_state(scene), streams(0)) is None
