"""Items put down lying and items found lying, as whole actions."""

from dataclasses import replace

import numpy as np
import pytest

from galley import engine
from galley.domain.errors import BadInput
from galley.domain.predicates import fact_holds
from galley.domain.shipped import KITCHEN
from galley.domain.state import Placement, initial_state, item_pose
from galley.motion.effects import state_after
from galley.robots.panda.mobile import hand_pose
from galley.skills import SKILLS, BoundAction, PlanningContext

SCENARIOS = KITCHEN.parent / "scenarios"
FROM_ABOVE = np.array([[1.0, 0, 0, 0], [0, -1, 0, 0], [0, 0, -1, 0.161], [0, 0, 0, 1]])  # X_HI


def test_what_is_held_from_above_is_regrasped_and_laid_into_the_drawer(
    kitchen, robot, shared_world
):
    """In one action, judged by where the item ends; the hand that lets go never points up."""
    items = tuple(replace(item, upright=False) for item in kitchen.items)
    scene, index = replace(kitchen, items=items), kitchen.item_index["sugar_box"]
    q = kitchen.robot.q.copy()
    q[:3], q[-2:] = (1.2, 1.2, np.pi), items[index].size[1] / 2.0
    open_drawer = np.where([j.name == "indigo_drawer_top_joint" for j in scene.joints], 0.3, 0.0)
    state = initial_state(scene).with_robot(q).with_scene(open_drawer)
    state = state.with_item(index, Placement("hand", FROM_ABOVE))
    context = PlanningContext(scene, robot, shared_world)
    action = BoundAction(0, "put_in", tuple(map(scene.binding, ("sugar", "drawer", "h1"))))
    motions = SKILLS["put_in"].refine(context, action, (), state, np.random.default_rng(1))
    lowered = []
    for motion in motions:
        state = state_after(scene, robot, motion, state)
        if motion.phase.endswith("lower"):
            lowered.append(motion.phase)
            assert hand_pose(state.q)[2, 2] < 0.2
    assert lowered == ["set aside: lower", "put down: lower"]
    assert abs(item_pose(scene, state, index, np.eye(4))[2, 2]) < 1e-6, "it lies"
    assert fact_holds(scene, state, "in", action.bindings[:2], np.eye(4)).holds


def test_what_lies_at_the_start_is_taken_from_where_it_lies(tmp_path):
    """It is not ``on`` the burner, where it should stand. What hangs in the air is refused."""
    scene = SCENARIOS / "stood_up_scene.yaml"
    files = KITCHEN / "kitchen.pddl", SCENARIOS / "stood_up.pddl"
    task = engine.load(scene, *files)
    facts = {str(fact) for fact in task.problem.init}
    assert "(on sugar found_sugar)" in facts
    assert "(on sugar burner)" not in facts
    scene_text = scene.read_text().replace("..", str(KITCHEN.parent)).replace("0.9655]", "0.99]")
    (tmp_path / "scene.yaml").write_text(scene_text)
    with pytest.raises(BadInput, match="sugar_box is tilted by 90"):
        engine.load(tmp_path / "scene.yaml", *files)
