"""Items whose centre of mass is not their frame's origin, put into PyBullet and read back."""

import numpy as np
import pybullet as pb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from galley.collision.backends.bullet import quiet
from galley.collision.backends.pybullet_world import load_bullet_scene
from galley.domain.frames import transform
from galley.domain.state import initial_state
from galley.robots.panda.models import mobile_panda

# A mallet: a thin shaft along x, and a head at its +x end that is eight times as heavy.
MALLET = """\
  mallet:
    mass: 0.9
    friction: 0.6
    shapes:
      - {box: [0.16, 0.02, 0.02], xyz: [-0.04, 0, -0.01]}
      - {box: [0.08, 0.08, 0.08], xyz: [0.08, 0.01, 0.02]}
    pose: {xyz: [0.0, 0.2, 0.9]}
"""
SIZES = np.array([[0.16, 0.02, 0.02], [0.08, 0.08, 0.08]])
CENTRES = np.array([[-0.04, 0.0, -0.01], [0.08, 0.01, 0.02]])
FREE = np.array([2.0, 1.0, 1.5])  # nothing else is near


@pytest.fixture(scope="module")
def scene(scene_of, small_text):
    return scene_of(small_text.replace("stances:", f"{MALLET}stances:"))


@pytest.fixture(scope="module")
def loaded(scene, tmp_path_factory):
    client = pb.connect(pb.DIRECT)
    robot = mobile_panda(scene.robot.base)
    with quiet():
        yield load_bullet_scene(client, scene, robot, tmp_path_factory.mktemp("urdf"))
    pb.disconnect(client)


def faces():
    """Of the head, in the item's frame: the middles (6, 3), and the outward normals (6, 3)."""
    normals = np.concatenate([np.eye(3), -np.eye(3)])
    return CENTRES[1] + normals * SIZES[1] / 2.0, normals


def poses():
    """X_WI far from everything, turned every way."""
    number = st.floats(-1.0, 1.0)
    turn = st.tuples(number, number, number).map(lambda v: np.array(v) * np.pi)
    place = st.tuples(number, number, number).map(lambda v: FREE + 0.2 * np.array(v))
    return st.builds(
        lambda r, p: transform(Rotation.from_rotvec(r).as_matrix(), p),
        turn,
        place,
    )


def test_the_centre_of_mass_is_that_of_the_two_boxes(scene, loaded):
    masses = np.prod(SIZES, axis=1)
    centre = masses @ CENTRES / masses.sum()
    assert np.linalg.norm(centre) > 0.05, "the test's item is off balance"
    X_IC = loaded.X_IC[scene.item_index["mallet"]]
    np.testing.assert_allclose(X_IC[:3, 3], centre, atol=1e-9)
    np.testing.assert_allclose(loaded.X_IC[scene.item_index["block"]], np.eye(4), atol=1e-9)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.differing_executors])
@given(X_WI=poses(), face=st.integers(0, 5))
def test_an_item_is_read_back_where_it_was_put_and_its_sides_are_there(scene, loaded, X_WI, face):
    """A ball beside the head is as far from the item as it was set off from that side."""
    k, away, radius = scene.item_index["mallet"], 0.05, 0.005
    loaded.set_item(k, X_WI)
    np.testing.assert_allclose(loaded.item_pose(k), X_WI, atol=1e-7)
    middles, normals = faces()
    p_IQ = middles[face] + away * normals[face]
    p_WQ = X_WI[:3, :3] @ p_IQ + X_WI[:3, 3]
    nearest = distance_to_ball(loaded.client, loaded.item_ids[k], p_WQ, radius)
    # Behind the head the shaft is nearer.
    to_shaft = np.linalg.norm(np.maximum(np.abs(p_IQ - CENTRES[0]) - SIZES[0] / 2.0, 0.0))
    assert nearest == pytest.approx(min(away, to_shaft) - radius, abs=1e-4)


def distance_to_ball(client, item, p_WQ, radius):
    """Metres between an item and a ball at p_WQ, by Bullet."""
    ball = pb.createCollisionShape(pb.GEOM_SPHERE, radius=radius, physicsClientId=client)
    body = pb.createMultiBody(0, ball, basePosition=p_WQ, physicsClientId=client)
    near = pb.getClosestPoints(body, item, 0.2, physicsClientId=client)
    pb.removeBody(body, physicsClientId=client)
    return min(point[8] for point in near)


@pytest.fixture
def apart(kitchen, robot, tmp_path):
    client = pb.connect(pb.DIRECT)
    with quiet():
        yield load_bullet_scene(client, kitchen, robot, tmp_path, dynamic=True)
    pb.disconnect(client)


def test_furniture_loaded_apart_stands_where_that_of_one_multibody_does(
    kitchen, shared_world, apart
):
    """Balls at random places are as far from each body in the one client as in the other."""
    shared_world.set_scene(initial_state(kitchen).scene_q)
    rng = np.random.default_rng(0)
    seen = 0
    for p_WQ in rng.uniform([-0.5, -1.3, 0.0], [0.5, 1.8, 2.3], (60, 3)):
        found = []
        for loaded in (apart, shared_world.loaded):
            sphere = pb.createCollisionShape(
                pb.GEOM_SPHERE, radius=0.02, physicsClientId=loaded.client
            )
            ball = pb.createMultiBody(0, sphere, basePosition=p_WQ, physicsClientId=loaded.client)
            row = []
            for body in kitchen.bodies:
                key, link = loaded.body(body.name)
                near = pb.getClosestPoints(ball, key, 0.3, -1, link, physicsClientId=loaded.client)
                row.append(min((point[8] for point in near), default=np.inf))
            pb.removeBody(ball, physicsClientId=loaded.client)
            found.append(row)
        np.testing.assert_allclose(found[0], found[1], atol=1e-9)
        seen += int(np.isfinite(found[0]).sum())
    assert seen > 50, "the balls were near to something"


def test_drawers_loaded_apart_run_freely_in_their_slots(kitchen, apart):
    """No contact between what moves and what stands, though their shapes overlap in places."""
    pb.setGravity(0, 0, 0, physicsClientId=apart.client)
    for _ in range(3):
        pb.stepSimulation(physicsClientId=apart.client)
    met = {
        (apart.names[p[1], p[3]], apart.names[p[2], p[4]])
        for p in pb.getContactPoints(physicsClientId=apart.client)
    }
    furniture = {body.name for body in kitchen.bodies}
    assert met, "the robot stands in the kitchen's middle here: contacts are looked for"
    assert not [pair for pair in met if set(pair) <= furniture]
