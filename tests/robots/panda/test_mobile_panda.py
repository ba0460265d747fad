"""The mobile Panda as one multibody: PyBullet and Drake load it and agree with our kinematics."""

import pickle
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pybullet as p
import pytest
from pydrake.geometry import Role

from galley.domain.scene.base_spec import MobileBaseSpec
from galley.robots.catalog import robot_of
from galley.robots.iiwa import iiwa
from galley.robots.panda.description import panda_arm
from galley.robots.panda.ik import LIMITS
from galley.robots.panda.mobile import hand_pose, link0_pose
from galley.robots.panda.models import mobile_panda
from galley.tests.collision.kernel.support import DrakeOracle
from galley.tests.collision.kernel.support import bullet as bullet_oracle
from galley.tests.robots.link_poses import link_poses


@pytest.fixture(scope="module")
def model():
    return mobile_panda()


@pytest.fixture(scope="module")
def configurations(model):
    lower, upper = model.limits
    return np.random.default_rng(0).uniform(lower, upper, (500, model.size))


@pytest.fixture(scope="module")
def bullet(model):
    with bullet_oracle(model, {}) as oracle:
        yield oracle


@pytest.fixture(scope="module")
def drake(model):
    return DrakeOracle(model, {})


def test_pybullet_and_drake_agree_on_every_link(model, bullet, drake, configurations):
    assert drake.plant.num_positions() == model.size
    assert drake.at == list(range(model.size)), "the order of q is Drake's"
    for q in configurations:
        for name, X_WL in link_poses(q).items():
            assert drake.link_pose(name, q) == pytest.approx(X_WL, abs=1e-9)
        assert hand_pose(q) == pytest.approx(drake.link_pose("panda_hand", q), abs=1e-9)
    for q in configurations[:100]:
        for name, X_WL in link_poses(q).items():
            assert bullet.link_pose(name, q) == pytest.approx(X_WL, abs=1e-6)


def test_both_engines_have_the_limits_and_the_shapes(model, bullet, drake):
    # 2 boxes on the column, one shape on each other link; a mesh that isn't found has none.
    for group in model.groups:
        for k, name in enumerate(group.joints):
            info = p.getJointInfo(bullet.body, bullet.joints[name], physicsClientId=bullet.client)
            assert info[8:10] == (group.lower[k], group.upper[k])
    plant, inspector = drake.plant, drake.graph.model_inspector()
    visuals = [row[1] for row in p.getVisualShapeData(bullet.body, physicsClientId=bullet.client)]
    for name in model.links:
        collisions = 2 if name == "column" else 1
        k = bullet.links[name]
        shapes = p.getCollisionShapeData(bullet.body, k, physicsClientId=bullet.client)
        assert len(shapes) == collisions
        frame = plant.GetBodyFrameIdOrThrow(plant.GetBodyByName(name).index())
        assert len(inspector.GetGeometries(frame, Role.kProximity)) == collisions
        looks = len(inspector.GetGeometries(frame, Role.kIllustration))
        assert looks == visuals.count(k) > 0


def test_groups(model):
    sizes = {group.name: group.size for group in model.groups}
    assert sizes == {"base": 3, "arm": 7, "fingers": 2}
    assert model.slice("arm") == slice(3, 10)
    assert np.array_equal(model.group("arm").lower, LIMITS.lower)
    assert set(model.fingers) | {model.palm} <= set(model.links)


def test_the_chassis_clears_the_floor(model):
    root = ET.fromstring(model.urdf)
    chassis = next(link for link in root.iter("link") if link.get("name") == "chassis")
    (collision,) = chassis.findall("collision")
    size = numbers(collision.find("geometry/box").get("size"))
    z = numbers(collision.find("origin").get("xyz"))[2]
    assert z - size[2] / 2 == pytest.approx(0.03)
    assert z + size[2] / 2 == pytest.approx(0.40)
    assert size[:2] == pytest.approx([0.815, 0.634])


def numbers(text):
    return np.array([float(value) for value in text.split()])


def test_another_spec_moves_the_arm_and_the_limits():
    spec = MobileBaseSpec(p_BA=(0.1, 0.02, 0.9), upper=(5.0, 1.0, 1.0))
    assert link0_pose([0, 0, 0], spec)[:3, 3] == pytest.approx([0.1, 0.02, 0.9])
    model = mobile_panda(spec)
    assert model.group("base").upper.tolist() == [5.0, 1.0, 1.0]


def test_a_nonsense_spec_is_refused():
    with pytest.raises(ValueError, match="ground_gap"):
        MobileBaseSpec(p_BA=(0.0, 0.0, 0.3))
    with pytest.raises(ValueError, match="lower limits"):
        MobileBaseSpec(lower=(3.0, 0.0, 0.0))


def test_the_model_is_built_without_any_engine():
    code = (
        "import sys; from galley.robots import mobile_panda; mobile_panda();"
        "assert not {'pybullet', 'pydrake', 'numba'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_the_base_carries_the_links_below_the_arm(model):
    assert model.base_links == ("chassis", "column", "panda_link0")
    assert panda_arm().base_links == ("panda_link0",)
    assert iiwa().base_links == ("lbr_iiwa_link_0",)


def test_groups_are_replaced_in_one_or_many_configurations(model):
    q, bases = np.arange(12.0), np.arange(6.0).reshape(2, 3)
    Q = model.with_groups(q, base=bases, arm=np.zeros(7))
    assert Q.tolist() == [[*base, *[0.0] * 7, 10.0, 11.0] for base in bases]
    assert model.with_groups(q, fingers=np.full(2, 0.5)).tolist() == [[*q[:10], 0.5, 0.5]]
    assert model.with_groups(q, base=bases[:0], arm=np.zeros(7)).shape == (0, 12)


def test_a_scenes_robot_is_made_once_for_the_same_base(kitchen):
    robot = robot_of(kitchen.robot)
    assert robot is robot_of(replace(kitchen.robot, q=np.zeros(12)))
    q = kitchen.robot.q
    np.testing.assert_array_equal(
        robot.kinematics.hand_pose(q), hand_pose(q, kitchen.robot.base), strict=True
    )
    with pytest.raises(NotImplementedError, match="Kinematics"):
        panda_arm().kinematics.hand_pose(q)


def test_a_robot_can_be_pickled(model):
    again = pickle.loads(pickle.dumps(model))
    assert again.kinematics == model.kinematics
    assert again.base_links == model.base_links
