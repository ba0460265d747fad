"""Noise stays within its amounts, and items keep their supports."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from galley.collision.backends.bullet import pybullet as pb
from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.domain.errors import BadInput
from galley.domain.frames import angle_between, frozen, rotation_rpy, rotation_z, transform
from galley.domain.scene.model import HAND
from galley.domain.state import Placement, initial_state, item_pose
from galley.execution.disturbance.boxes import BoxSet, overlaps
from galley.execution.disturbance.noise import LEVELS, MODERATE, NONE, Noise, parse_noise, stream
from galley.robots.panda.mobile import hand_pose
from galley.tests.effort import examples


def ratios(before, after, field):
    return np.array(
        [getattr(b, field) / getattr(a, field) for a, b in zip(before, after, strict=True)]
    )


def moved(scene, **poses):
    """The scene with items elsewhere: ``name=(x, y, z, yaw)``."""
    items = tuple(
        replace(i, X_WI=frozen(transform(rotation_z(poses[i.name][3]), poses[i.name][:3])))
        if i.name in poses
        else i
        for i in scene.items
    )
    return replace(scene, items=items)


# -- the true world -------------------------------------------------------------------------------


def test_no_noise_is_the_scene_itself(kitchen):
    world = NONE.true_scene(kitchen, stream(0, "world"))
    for a, b in zip(kitchen.items, world.items, strict=True):
        assert (a.friction, a.mass) == (b.friction, b.mass)
        np.testing.assert_allclose(a.X_WI, b.X_WI, atol=1e-15)
    assert world.physics == kitchen.physics
    state = initial_state(kitchen)
    assert NONE.observed(kitchen, state, stream(0, "looks")) is state


@settings(max_examples=examples(30) // 2, deadline=None)
@given(share=st.floats(0.01, 0.9), seed=st.integers(0, 2**32))
def test_every_friction_and_mass_has_a_factor_of_its_own_within_the_share(kitchen, share, seed):
    world = Noise(friction=share, mass=share).true_scene(kitchen, stream(seed, "world"))
    factors = np.concatenate(
        [
            ratios(kitchen.bodies, world.bodies, "friction"),
            ratios(kitchen.items, world.items, "friction"),
            ratios(kitchen.joints, world.joints, "friction"),
            [world.physics.finger_friction / kitchen.physics.finger_friction],
        ]
    )
    weights = np.concatenate(
        [ratios(kitchen.items, world.items, "mass"), ratios(kitchen.bodies, world.bodies, "mass")]
    )
    for found in (factors, weights):
        assert (np.abs(found - 1.0) <= share + 1e-12).all()
        assert len(np.unique(found)) == len(found)
    assert np.abs(factors - 1.0).max() > 0.5 * share  # of 22, one at least is far off


def test_items_are_displaced_in_the_plane_only_by_at_most_what_was_asked_for(kitchen):
    noise = Noise(position=0.005, turn=0.05)
    steps, turns = [], []
    for seed in range(60):
        world = noise.true_scene(kitchen, stream(seed, "world"))
        for a, b in zip(kitchen.items, world.items, strict=True):
            steps.append(b.X_WI[:3, 3] - a.X_WI[:3, 3])
            turns.append(angle_between(a.X_WI[:3, :3], b.X_WI[:3, :3]))
            np.testing.assert_allclose(b.X_WI[:3, 2], a.X_WI[:3, 2], atol=1e-12)
    steps = np.array(steps)
    np.testing.assert_allclose(steps[:, 2], 0.0, atol=1e-12)
    assert np.abs(steps[:, :2]).max() <= 0.005
    assert np.abs(steps[:, :2]).max() > 0.0045  # of 240 uniform draws
    assert 0.045 < np.max(turns) <= 0.05
    # Uniform over +-a has the standard deviation a / sqrt(3).
    np.testing.assert_allclose(steps[:, :2].std(axis=0), 0.005 / np.sqrt(3), rtol=0.15)


def test_crowded_items_neither_touch_nor_hang_over_the_edge(kitchen, robot):
    """At the counter's corner, 3 mm apart, with more noise than there is room; by PyBullet."""
    crowded = moved(
        kitchen,
        sugar_box=(0.235, -1.15, 0.930 + 0.0875, 0.0),
        potted_meat_can=(0.235, -1.15 + 0.019 + 0.003 + 0.025, 0.930 + 0.041, 0.0),
    )
    noise, displaced = Noise(position=0.03, turn=0.6), 0
    for seed in range(10):
        scene = noise.true_scene(crowded, stream(seed, "world"))
        displaced += sum(
            not np.allclose(a.X_WI, b.X_WI) for a, b in zip(crowded.items, scene.items, strict=True)
        )
        with PyBulletWorld(scene, robot) as world:
            world.set_state(initial_state(scene))
            near = world.near_pairs(0.001)
        assert min(near.values()) > -5e-4, (seed, near)
        for item in scene.items:
            assert tuple(sorted(("hitman", item.name))) in near, "it stands on nothing"
            corners = np.array(list(itertools.product([-1, 1], [-1, 1], [-1])))
            p_W = (corners * item.size / 2.0) @ item.X_WI[:3, :3].T + item.X_WI[:3, 3]
            assert (p_W[:, 0] <= 0.288 + 1e-9).all()
            assert (p_W[:, 1] >= -1.204 - 1e-9).all()
            assert item.X_WI[1, 3] >= -1.17, "its centre has left the region"
    assert displaced > 10  # it is tight, but there is room


def test_what_stands_on_another_item_goes_with_it(kitchen):
    stacked = moved(
        kitchen, potted_meat_can=(0.065, 0.625, 0.921 + 0.175 + 0.041, 0.3)
    )  # the can on the box
    for seed in range(10):
        scene = Noise(position=0.02, turn=0.5).true_scene(stacked, stream(seed, "world"))
        (box, can), (box_0, can_0) = scene.items, stacked.items
        relative = np.linalg.inv(box.X_WI) @ can.X_WI
        np.testing.assert_allclose(relative, np.linalg.inv(box_0.X_WI) @ can_0.X_WI, atol=1e-9)
        assert np.linalg.norm(box.X_WI[:2, 3] - box_0.X_WI[:2, 3]) > 1e-4


def test_boxes_overlap_where_pybullet_says_so():
    rng, agreed, client = np.random.default_rng(0), 0, pb.connect(pb.DIRECT)
    for _ in range(300):
        boxes, bodies = [], []
        for _ in range(2):
            half, p = rng.uniform(0.02, 0.3, 3), rng.uniform(-0.3, 0.3, 3)
            R = Rotation.random(rng=rng)
            boxes.append(BoxSet(transform(R.as_matrix(), p)[None], half[None]))
            shape = pb.createCollisionShape(
                pb.GEOM_BOX, halfExtents=half.tolist(), physicsClientId=client
            )
            pose = {"basePosition": p.tolist(), "baseOrientation": R.as_quat().tolist()}
            bodies.append(pb.createMultiBody(0.0, shape, **pose, physicsClientId=client))
        near = pb.getClosestPoints(*bodies, 10.0, physicsClientId=client)
        distance = min(point[8] for point in near)
        if abs(distance) > 0.002:  # Bullet's margin
            assert (overlaps(*boxes)[0] > 0) == (distance < 0)
            agreed += 1
        for body in bodies:
            pb.removeBody(body, physicsClientId=client)
    pb.disconnect(client)
    assert agreed > 250


# -- what is seen ---------------------------------------------------------------------------------


def test_each_look_errs_anew_with_the_deviation_that_was_asked_for(kitchen):
    state = initial_state(kitchen)
    rng = stream(0, "looks")
    noise = Noise(observation=0.002, observation_turn=0.03)
    X_0 = [item_pose(kitchen, state, k, np.eye(4)) for k in range(2)]
    steps, turns = [], []
    for _ in range(800):
        seen = noise.observed(kitchen, state, rng)
        np.testing.assert_array_equal(seen.q, state.q)
        np.testing.assert_array_equal(seen.scene_q, state.scene_q)
        for k in range(2):
            X = item_pose(kitchen, seen, k, np.eye(4))
            steps.append(X[:3, 3] - X_0[k][:3, 3])
            R = X_0[k][:3, :3].T @ X[:3, :3]
            turns.append(np.arctan2(R[1, 0], R[0, 0]))
    steps = np.array(steps)
    np.testing.assert_allclose(steps[:, 2], 0.0, atol=1e-12)
    np.testing.assert_allclose(steps[:, :2].std(axis=0), 0.002, rtol=0.06)
    np.testing.assert_allclose(steps[:, :2].mean(axis=0), 0.0, atol=2e-4)
    assert np.std(turns) == pytest.approx(0.03, rel=0.06)
    assert len(np.unique(steps[:, 0])) == len(steps)


def test_a_held_item_is_seen_to_err_in_height_too_and_the_hand_does_not(kitchen):
    X_HI = frozen(transform(rotation_rpy(np.pi, 0.0, 0.3), (0.0, 0.0, 0.11)))
    state = initial_state(kitchen).with_item(0, Placement(HAND, X_HI))
    X_WH = hand_pose(state.q, kitchen.robot.base)
    rng = stream(1, "looks")
    seen = [Noise(observation=0.003).observed(kitchen, state, rng) for _ in range(400)]
    assert {s.held for s in seen} == {0}
    steps = [item_pose(kitchen, s, 0, X_WH)[:3, 3] - (X_WH @ X_HI)[:3, 3] for s in seen]
    np.testing.assert_allclose(np.std(steps, axis=0), 0.003, rtol=0.15)


# -- seeds and text -------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_world_and_another_another(kitchen):
    def masses(seed, purpose="world"):
        return [i.mass for i in MODERATE.true_scene(kitchen, stream(seed, purpose)).items]

    assert masses(4) == masses(4)
    assert masses(4) != masses(5)
    assert masses(4) != masses(4, "looks")


def test_levels_and_single_figures_are_read_and_written_so_that_they_are_read_again():
    for name, noise in LEVELS.items():
        assert parse_noise(name) == parse_noise(str(noise)) == noise
    assert parse_noise("friction=0.3, position=0.01") == Noise(friction=0.3, position=0.01)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("frictoin=0.2", "did you mean 'friction'"),
        ("weight=0.2", "observation_turn"),  # lists the keys
        ("modrate", "did you mean 'moderate'"),
        ("", "none, low, moderate, high"),
        ("friction=nan", "from 0"),
        ("friction=1", "from 0 to 0.9"),
        ("mass=much", "needs a number"),
    ],
)
def test_other_text_is_refused_in_one_line_that_helps(text, says):
    with pytest.raises(BadInput) as refused:
        parse_noise(text)
    assert len(str(refused.value).splitlines()) == 1
    assert str(refused.value).startswith("noise: ")
    assert says in str(refused.value)
