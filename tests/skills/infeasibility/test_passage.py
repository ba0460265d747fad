"""Where the base can't get: held against a flood fill over a grid of base poses in the kernel."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.ndimage import label

from galley.domain.scene.reader import load_scene
from galley.domain.shipped import SCENARIOS
from galley.domain.state import initial_state
from galley.robots.panda.models import mobile_panda
from galley.skills import PlanningContext, Settings
from galley.skills.infeasibility.passage import no_passage

STEP, TURNS = 0.05, 8  # m, and headings in a turn


def context(name, **joints):
    scene = load_scene(SCENARIOS / f"{name}_scene.yaml")
    scene_q = np.array(initial_state(scene).scene_q)
    for joint, value in joints.items():
        scene_q[scene.joint_index[joint]] = value
    robot = mobile_panda(scene.robot.base)
    return PlanningContext(scene, robot, None, Settings()), initial_state(scene).with_scene(scene_q)


def beyond(context):
    """The end of the counter's stance set that lies behind the larder."""
    return replace(context.scene.stance("countertop"), upper=np.array([1.0, -0.9, np.pi]))


def flooded(context, state):
    """Base poses (n, 3) of a grid that are in one piece with the one nearest to the start."""
    base = context.robot.group("base")
    axes = [np.arange(*ends, STEP) for ends in np.transpose([base.lower, base.upper])[:2]]
    axes.append(np.arange(TURNS) * 2.0 * np.pi / TURNS)
    poses = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    rows = context.robot.with_groups(state.q, base=poses.reshape(-1, 3))
    free = context.checker(state, margin=0.0).free_many(rows).reshape(poses.shape[:3])
    pieces, _ = label(np.concatenate([free, free], axis=2), np.ones((3, 3, 3)))  # past a full turn
    near = np.linalg.norm(poses[..., :2] - state.q[:2], axis=-1) + 10.0 * ~free
    here = set(pieces[..., :TURNS][near <= near.min() + 1e-9])
    return poses[
        np.isin(pieces[..., :TURNS], list(here)) | np.isin(pieces[..., TURNS:], list(here))
    ]


@pytest.mark.parametrize(
    ("name", "joints"),
    [
        ("sliding_door", {}),
        ("sliding_door", {"gate_joint": 0.8}),
        ("sliding_door", {"gate_joint": 0.4}),
        ("two_doors", {}),
        ("two_doors", {"gate_joint": 0.8}),
        ("two_doors", {"gate_joint": 0.8, "larder_joint": 0.0}),
    ],
)
def test_what_is_closed_is_what_no_flood_gets_to(name, joints):
    planning, state = context(name, **joints)
    poses = flooded(planning, state)
    for stance in (*planning.scene.stances, beyond(planning)):
        inside = (poses >= stance.lower)[:, :2].all(1) & (poses <= stance.upper)[:, :2].all(1)
        assert (no_passage(planning, state, [stance]) is None) == inside.any(), stance.name


def test_every_door_that_must_be_moved_is_named_and_no_other():
    planning, state = context("two_doors")
    assert no_passage(planning, state, [beyond(planning)]).objects == ("gate", "larder_door")
    planning, state = context("two_doors", gate_joint=0.8)
    assert no_passage(planning, state, [beyond(planning)]).objects == ("larder_door",)
