"""PhysicsWorld against mechanics: weight, free fall, friction, drawers, the Jacobian."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from galley.collision.backends.bullet import pybullet as pb
from galley.collision.checker import pair
from galley.domain.frames import frozen, transform
from galley.domain.scene.model import WORLD
from galley.domain.state import Placement, initial_state
from galley.execution.physics.executor import PhysicsExecutor
from galley.execution.physics.sensing import force_on, item_speed, measure_contacts
from galley.execution.physics.world import PhysicsWorld, grasp_jacobian
from galley.robots.panda.mobile import hand_pose
from galley.tests.execution.physics.by_hand import (
    BEFORE,
    BESIDE,
    BLOCK,
    KNOB,
    TOP,
    ahead,
    close,
    down,
    grip,
    line,
    shifted,
    standing,
    stroke,
)

G = 9.81


def scene_velocity(world, index):
    """The rate of a scene joint, m/s or rad/s."""
    joint = world.scene_joints[index]
    return pb.getJointState(world.furniture_id, joint, physicsClientId=world.client)[1]


@pytest.fixture(scope="module")
def scene(scene_of, small_text):
    """The block stands straight, its friction and the drawer's are figures of the tests."""
    text = small_text.replace("yaw: 0.5", "yaw: 0.0").replace(
        "mass: 0.3", "mass: 0.3\n    friction: 0.5"
    )
    text = text.replace("limits: [0, 0.4]", "limits: [0, 0.4], friction: 6.0, damping: 30.0")
    return scene_of(text)


@pytest.fixture
def opened(robot):
    """``opened(scene, state)``: a PhysicsWorld that is closed after the test."""
    worlds = []

    def make(scene, state=None):
        worlds.append(PhysicsWorld(scene, robot, initial_state(scene) if state is None else state))
        return worlds[-1]

    yield make
    for world in worlds:
        world.close()


def run(world, seconds, before=lambda: None):
    """Steps with the arm held where it is; ``before`` is called at each."""
    hold, still = np.array(world.command), np.zeros(world.robot.size)
    for _ in range(round(seconds / world.dt)):
        world.drive(hold, still)
        before()
        world.step()


def push(world, body, link, force, point):
    pb.applyExternalForce(
        body, link, list(force), list(point), pb.WORLD_FRAME, physicsClientId=world.client
    )


# -- kinematics -----------------------------------------------------------------------------------


def test_the_jacobian_is_the_derivative_of_the_grasp_centre(scene, robot, opened):
    world, rng, h = opened(scene), np.random.default_rng(3), 1e-6
    low, high = robot.limits

    def centre(q):
        X_WH = hand_pose(q, scene.robot.base)
        return X_WH[:3, :3] @ robot.p_HT + X_WH[:3, 3], X_WH[:3, :3]

    for q in rng.uniform(low, high, (12, robot.size)):
        for k, value in zip(world.robot_joints, q, strict=True):
            pb.resetJointState(world.robot_id, k, value, physicsClientId=world.client)
        expected = np.zeros((6, robot.size))
        for j in range(robot.size):
            step = h * np.eye(robot.size)[j]
            (p_1, R_1), (p_0, R_0) = centre(q + step), centre(q - step)
            expected[:3, j] = (p_1 - p_0) / (2 * h)
            expected[3:, j] = Rotation.from_matrix(R_1 @ R_0.T).as_rotvec() / (2 * h)
        np.testing.assert_allclose(grasp_jacobian(world), expected, atol=1e-5)
        np.testing.assert_allclose(world.hand_pose(), hand_pose(q, scene.robot.base), atol=1e-6)


# -- weight, fall, friction -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["block", "tin"])  # before and after its support in the alphabet
def test_a_support_bears_an_items_weight(scene, opened, name):
    scene = replace(scene, items=(replace(scene.items[0], name=name),))
    world = opened(scene)
    run(world, 0.5)
    weight = scene.items[0].mass * G
    forces = []
    for _ in range(24):
        run(world, world.dt)
        contacts = measure_contacts(world)
        assert set(contacts) == {pair(name, "cabinet")}
        forces.append(
            (
                force_on(frozenset({name}), contacts),
                force_on(frozenset({"cabinet"}), contacts),
                contacts[pair(name, "cabinet")].normal_force,
            )
        )
    on_item, on_support, normal = (np.mean(each, axis=0) for each in zip(*forces, strict=True))
    np.testing.assert_allclose(on_item, [0.0, 0.0, weight], atol=0.02 * weight)
    np.testing.assert_allclose(on_support, [0.0, 0.0, -weight], atol=0.02 * weight)
    assert normal == pytest.approx(weight, rel=0.02)


def test_what_nothing_holds_falls_freely(scene, opened):
    X_WI = transform(None, (1.6, 1.5, 1.2))
    state = initial_state(scene).with_item(0, Placement(WORLD, frozen(X_WI)))
    world = opened(scene, state)
    run(world, 0.3)
    t = round(0.3 / world.dt) * world.dt
    velocity, spin = pb.getBaseVelocity(world.item_ids[0], physicsClientId=world.client)
    np.testing.assert_allclose(velocity, [0.0, 0.0, -G * t], atol=1e-3 * G * t)
    np.testing.assert_allclose(spin, 0.0, atol=1e-9)
    fallen = X_WI[:3, 3] - world.item_pose(0)[:3, 3]
    np.testing.assert_allclose(fallen[:2], 0.0, atol=1e-9)
    assert fallen[2] == pytest.approx(0.5 * G * t**2, abs=G * t * world.dt)
    assert item_speed(world, 0) == pytest.approx(G * t, rel=1e-3)


@pytest.mark.parametrize("share", [0.9, 1.25])
def test_an_item_slides_where_the_push_exceeds_the_product_of_both_frictions(scene, opened, share):
    world = opened(scene)
    run(world, 0.3)
    item = scene.items[0]
    support = scene.body("cabinet").friction
    assert support != 1.0, "else a product is no different from the item's own"
    most = support * item.friction * item.mass * G
    began = world.item_pose(0)[:3, 3]
    low = np.array([0.0, 0.0, -item.size[2] / 2.0])  # so that it does not topple
    seconds = 0.3

    def pushed():
        at = world.item_pose(0)[:3, 3] + low
        push(world, world.item_ids[0], -1, [0.0, share * most, 0.0], at)

    run(world, seconds, pushed)
    moved = world.item_pose(0)[:3, 3] - began
    expected = 0.5 * (share - 1.0) * most / item.mass * seconds**2
    if share < 1.0:
        assert np.abs(moved).max() < 1e-3  # it creeps; one that slides goes 70 mm
    else:
        assert moved[1] == pytest.approx(expected, rel=0.1)
        assert abs(moved[0]) < 2e-3


# -- drawers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("parts", [1, 4])
@pytest.mark.parametrize("share", [0.9, 2.0])
def test_a_drawer_moves_only_against_more_than_its_dry_friction(scene, opened, share, parts):
    """Whatever the step: dry friction 6 N, damping 30 N s/m, a mass of 2 kg and the knob's."""
    k = scene.joint_index["slide"]
    joint = scene.joints[k]
    state = initial_state(scene).with_scene(np.array([0.1, 0.0]))
    world = opened(scene, state)
    world.set_joint_friction(k, joint.friction)  # which lasts over a change of the step
    world.set_step(world.dt / parts)
    link = world.loaded.link(world.furniture_id, "drawer")
    mass = sum(
        pb.getDynamicsInfo(
            world.furniture_id,
            world.loaded.link(world.furniture_id, name),
            physicsClientId=world.client,
        )[0]
        for name in ("drawer", "knob")
    )
    force, seconds = share * joint.friction, 0.5

    def pulled():
        at = pb.getLinkState(world.furniture_id, link, physicsClientId=world.client)[0]
        push(world, world.furniture_id, link, [force, 0.0, 0.0], at)

    run(world, seconds, pulled)
    moved = world.scene_q()[k] - 0.1
    if share < 1.0:
        assert abs(moved) < 1e-5
        assert abs(scene_velocity(world, k)) < 1e-4
    else:  # m v' = F - f - c v
        rest, tau = (force - joint.friction) / joint.damping, mass / joint.damping
        expected = rest * (seconds - tau * (1.0 - np.exp(-seconds / tau)))
        assert moved == pytest.approx(expected, rel=0.05)


# -- what must not be -----------------------------------------------------------------------------


def test_only_the_gear_between_the_fingers_is_a_constraint_and_nothing_is_set(
    scene, robot, monkeypatch
):
    """A block is taken, lifted and put back, and a drawer is opened, by forces alone."""
    X_WT, X_knob = down(*BLOCK, TOP + 0.07), ahead(*KNOB)
    state, before = standing(scene, robot, BESIDE, X_WT), standing(scene, robot, BEFORE, X_knob)
    executor, other = (PhysicsExecutor(scene, robot, each) for each in (state, before))

    def forbidden(*args, **kwargs):
        raise AssertionError("the world was set")

    for name in dir(pb):
        if name.startswith(("reset", "createConstraint", "restoreState", "removeBody", "loadURDF")):
            monkeypatch.setattr(pb, name, forbidden)
    up = line(scene, robot, state.q, shifted(X_WT, z=0.05), allowed=grip("block"))
    executor.execute(close(robot, 0.04, 0.025, 20.0, "block"), "close")
    assert executor.execute(up, "lift").state.held == 0
    high = np.concatenate([state.q[:3], up.path.end, state.q[10:]])
    executor.execute(line(scene, robot, high, X_WT, allowed=grip("block")), "lower")
    assert executor.execute(stroke(robot, 0.025, 0.04), "open").state.held is None
    other.execute(close(robot, 0.04, 0.01, 20.0, "knob"), "close")
    pull = line(scene, robot, before.q, shifted(X_knob, x=0.08), allowed=grip("knob"))
    other.execute(pull, "pull")
    assert other.observe().scene_q[0] == pytest.approx(0.08, abs=0.002)
    for world in (executor.world, other.world):
        client = world.client
        assert pb.getNumConstraints(physicsClientId=client) == 1
        gear = pb.getConstraintInfo(
            pb.getConstraintUniqueId(0, physicsClientId=client), physicsClientId=client
        )
        assert gear[0] == gear[2] == world.robot_id
        assert {gear[1], gear[3]} == set(world.robot_joints[-2:])
        world.close()
