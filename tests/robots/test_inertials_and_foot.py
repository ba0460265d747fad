"""What dynamics and pictures ask of any robot: masses of its links, where its arm stands."""

import numpy as np
import pytest

from galley.collision.backends.bullet import pybullet as pb
from galley.domain.frames import from_pose7, rotation_rpy, transform
from galley.domain.scene.base_spec import MobileBaseSpec
from galley.robots.iiwa import iiwa
from galley.robots.inertials import Inertial, with_inertials
from galley.robots.panda.description import mobile_panda_description

ARM = """<robot name="two"><link name="foot"/><link name="upper"><inertial><mass value="9"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="lower"><inertial><mass value="3"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="a" type="continuous"><parent link="foot"/><child link="upper"/></joint>
<joint name="b" type="continuous"><parent link="upper"/><child link="lower"/></joint>
<joint name="c" type="fixed"><parent link="lower"/><child link="flange"/></joint>
<joint name="d" type="continuous"><parent link="flange"/><child link="tip"/></joint>
<link name="flange"/><link name="tip"/></robot>"""


@pytest.fixture
def loaded(tmp_path):
    """Loads a URDF text into PyBullet."""
    client = pb.connect(pb.DIRECT)

    def load(urdf):
        file = tmp_path / "robot.urdf"
        file.write_text(urdf)
        flags = pb.URDF_USE_INERTIA_FROM_FILE
        return pb.loadURDF(str(file), useFixedBase=True, flags=flags, physicsClientId=client)

    yield client, load
    pb.disconnect(client)


def test_links_weigh_what_the_model_says_and_the_others_what_the_urdf_says(loaded):
    client, load = loaded
    body = load(with_inertials(ARM, {"upper": Inertial(2.5, (0.1, 0.0, -0.2), (4, 5, 6, 0, 0, 0))}))
    upper, lower, flange, tip = (
        pb.getDynamicsInfo(body, k, physicsClientId=client) for k in range(4)
    )
    assert (upper[0], lower[0]) == (2.5, 3.0)
    assert (flange[0], tip[0]) == (0.0, 1e-3), "PyBullet would take 1 kg each"
    assert (upper[2], lower[2]) == ((4.0, 5.0, 6.0), (1.0, 1.0, 1.0))
    assert upper[3] == pytest.approx((0.1, 0.0, -0.2))


@pytest.mark.parametrize(
    ("robot", "foot"),
    [
        (mobile_panda_description(MobileBaseSpec(p_BA=(0.1, 0.05, 0.9))), "panda_link0"),
        (iiwa(transform(rotation_rpy(0.1, 0.2, 0.3), (0.4, 0.5, 0.6))), "lbr_iiwa_link_0"),
    ],
)
def test_the_foot_is_where_pybullet_has_the_link_under_the_first_joint(loaded, robot, foot):
    client, load = loaded
    body = load(robot.urdf)
    q = np.random.default_rng(3).uniform(*robot.limits)
    infos = [
        pb.getJointInfo(body, k, physicsClientId=client)
        for k in range(pb.getNumJoints(body, physicsClientId=client))
    ]
    joints, links = ({info[k].decode(): info[0] for info in infos} for k in (1, 12))
    for name, value in zip(robot.joints, q, strict=True):
        pb.resetJointState(body, joints[name], value, physicsClientId=client)
    state = pb.getLinkState(body, links[foot], computeForwardKinematics=1, physicsClientId=client)
    X_WA = from_pose7(np.array([*state[4], *state[5]]))
    np.testing.assert_allclose(robot.foot_pose(q), X_WA, atol=1e-6)
