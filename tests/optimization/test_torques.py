"""Joint torques: Drake and closed forms as oracles (PyBullet's are in tests/validation)."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest
from pydrake.math import RigidTransform
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import MultibodyPlant
from pydrake.multibody.tree import MultibodyForces, SpatialInertia

from galley.domain.failure import Failure
from galley.domain.frames import frozen, rotation_rpy, transform
from galley.domain.scene.model import Item, Shape
from galley.motion.path import Path
from galley.motion.trajectory.timing import rest_to_rest
from galley.motion.trajectory.trajectory import Trajectory, slowed
from galley.optimization.torques import HeldItem, TorqueCheck, TorqueModel
from galley.robots.iiwa import iiwa
from galley.robots.inertials import with_inertials
from galley.robots.model import JointGroup, RobotModel
from galley.robots.panda.models import mobile_panda

G = 9.81
HOME = np.array([0.012, -0.570, 0.0, -2.811, 0.0, 3.036, 0.741])


def states(robot, count=30, seed=0):
    rng = np.random.default_rng(seed)
    q = rng.uniform(*robot.limits, (count, robot.size))
    return q, rng.normal(size=q.shape), 3 * rng.normal(size=q.shape)


def block(mass=2.0, size=(0.06, 0.1, 0.2)):
    shape = Shape("box", frozen(size), np.eye(4), (1, 1, 1, 1), True, None, None)
    return Item("block", "block", frozen(size), (shape,), mass, 0.5, 0.0, np.eye(4), ())


class Drakes:
    """A robot in Drake, with a box of a held item's mass at its pose in the palm."""

    def __init__(self, robot, held=None, inertials="identified"):
        root = ET.fromstring(robot.urdf)
        if inertials == "identified":
            root = ET.fromstring(with_inertials(robot.urdf, robot.inertials))
        for limit in root.iter("limit"):
            limit.attrib.pop("effort", None)
        for link in root.iter("link"):
            for shape in (*link.findall("visual"), *link.findall("collision")):
                link.remove(shape)
        self.plant = plant = MultibodyPlant(0.0)
        Parser(plant).AddModelsFromString(ET.tostring(root, encoding="unicode"), "urdf")
        if held is not None:
            box = SpatialInertia.SolidBoxWithMass(held.item.mass, *(held.item.shapes[0].size))
            body = plant.AddRigidBody("held", plant.GetModelInstanceByName(root.get("name")), box)
            X = RigidTransform(held.X_HI)
            plant.WeldFrames(plant.GetFrameByName(robot.palm), body.body_frame(), X)
        plant.Finalize()
        self.context = plant.CreateDefaultContext()
        self.default = np.array(plant.GetPositions(self.context))
        joints = [plant.GetJointByName(name) for name in robot.joints]
        self.at_q = [joint.position_start() for joint in joints]
        self.at_v = [joint.velocity_start() for joint in joints]

    def set(self, q, velocity):
        positions, rates = self.default.copy(), np.zeros(self.plant.num_velocities())
        positions[self.at_q], rates[self.at_v] = q, velocity
        self.plant.SetPositions(self.context, positions)
        self.plant.SetVelocities(self.context, rates)

    def torques(self, q, velocity, acceleration):
        forces, second = MultibodyForces(self.plant), np.zeros(self.plant.num_velocities())
        self.set(q, velocity)
        second[self.at_v] = acceleration
        self.plant.CalcForceElementsContribution(self.context, forces)
        return self.plant.CalcInverseDynamics(self.context, second, forces)[self.at_v]

    def mass_matrix(self, q):
        self.set(q, np.zeros(len(q)))
        return self.plant.CalcMassMatrix(self.context)[np.ix_(self.at_v, self.at_v)]


@pytest.mark.parametrize("held", [None, HeldItem(block(), transform(translation=[0.02, 0.0, 0.1]))])
@pytest.mark.parametrize(
    ("make", "inertials"),
    [(mobile_panda, "identified"), (mobile_panda, "urdf"), (iiwa, "identified")],
)
def test_torques_and_the_mass_matrix_are_those_of_drake(make, inertials, held):
    """Of other arms too; the iiwa's URDF has joints with damping."""
    robot = make()
    model = TorqueModel(robot, held) if make is iiwa else TorqueModel(robot, held, inertials)
    drakes = Drakes(robot, held, inertials)
    q, v, a = states(robot)
    found = model.torques(q, v, a)
    for ours, *state in zip(found, q, v, a, strict=True):
        np.testing.assert_allclose(ours, drakes.torques(*state), atol=1e-9)
    np.testing.assert_allclose(model.mass_matrix(q[0]), drakes.mass_matrix(q[0]), atol=1e-9)


def pendulum(effort='effort="5"'):
    """A bar that hangs from the world: 2 kg in 0.5 m, 0.1 kg m^2 about its middle."""
    urdf = f"""<robot name="pendulum"><link name="world"/><link name="bar"><inertial>
      <origin xyz="0 0 -0.5"/><mass value="2"/>
      <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="hinge" type="revolute"><parent link="world"/><child link="bar"/>
      <axis xyz="0 1 0"/><limit lower="-3" upper="3" velocity="9" {effort}/></joint></robot>"""
    one = frozen([1.0])
    arm = JointGroup("arm", ("hinge",), ("rad",), frozen([-3]), frozen([3]), one, one, one)
    return RobotModel("pendulum", (arm,), ("bar",), frozenset(), (), "bar", frozen([0, 0, 0]), urdf)


def test_a_pendulum_needs_what_the_textbook_says():
    # (I + m l^2) a + m g l sin(q); a turned box of 1 kg held 1 m below adds the same for itself.
    q, v, a = (np.array([[x]]) for x in (0.7, 1.3, 2.0))
    expected = (0.1 + 2 * 0.25) * 2.0 + 2 * G * 0.5 * np.sin(0.7)
    model = TorqueModel(pendulum())
    assert model.torques(q, v, a)[0, 0] == pytest.approx(expected)
    size = (0.3, 0.4, 0.6)
    X_HI = transform(rotation_rpy(np.pi / 2, 0, 0), [0, 0, -1.0])  # its z lies along the hinge
    own = (0.3**2 + 0.4**2) / 12
    expected += (own + 1.0) * 2.0 + 1.0 * G * 1.0 * np.sin(0.7)
    loaded = TorqueModel(pendulum(), HeldItem(block(1.0, size), X_HI))
    assert loaded.torques(q, v, a)[0, 0] == pytest.approx(expected)
    assert model.inertials == "urdf"  # no Panda: nothing identified


def swing(duration=1.0, reach=1.0):
    """From hanging to ``reach`` rad, at rest at both ends."""
    quintic = reach * np.array([0.0, 0, 0, 10, -15, 6]) / duration ** np.arange(6)
    return Trajectory("arm", np.array([0.0, duration]), quintic[None, :, None])


def test_the_peak_and_its_time_are_those_of_dense_samples():
    model, curve = TorqueModel(pendulum()), swing(0.5)
    t = np.linspace(0, curve.duration, 100_001)
    torque = np.abs(0.6 * curve(t, 2)[:, 0] + 2 * G * 0.5 * np.sin(curve(t)[:, 0]))
    check = model.check(curve, np.zeros(1))
    assert isinstance(check, TorqueCheck)
    assert check.torque[0] == pytest.approx(torque.max(), rel=1e-4)
    assert check.time == pytest.approx(t[torque.argmax()], abs=2e-3)
    assert check.ratio[0] == check.torque[0] / 5.0
    assert not check.passed
    assert "hinge needs" in str(check)
    assert "too much" in str(check)


@pytest.mark.parametrize(("share", "reach"), [(1.0, 0.45), (0.8, 0.3), (1.0, -0.45)])
def test_slowed_by_its_factor_a_trajectory_just_passes(share, reach):
    model, curve, q = TorqueModel(pendulum()), swing(0.3, reach), np.zeros(1)
    assert not model.check(curve, q, share).passed
    factor = model.slowdown(curve, q, share)
    assert factor > 1.0
    assert model.check(slowed(curve, factor), q, share).passed
    assert not model.check(slowed(curve, 0.995 * factor), q, share).passed


def test_a_load_that_gravity_alone_makes_too_heavy_is_a_failure():
    # 2 kg at 0.5 m and 1 rad take 8.3 N m of 5.
    found = TorqueModel(pendulum()).slowdown(swing(1.0, 1.0), np.zeros(1))
    assert isinstance(found, Failure)
    assert found.numbers["torque"] == pytest.approx(2 * G * 0.5 * np.sin(1.0))
    assert "hinge" in found.message


@pytest.mark.parametrize("effort", ['effort="0"', 'effort="inf"'])
def test_an_arm_without_limits_cannot_be_checked(effort):
    with pytest.raises(ValueError, match="finite effort limit"):
        TorqueModel(pendulum(effort))


def test_other_joints_stand_where_they_are_told(robot):
    """A base motion loads the arm by its posture: stretched out more than folded."""
    model = TorqueModel(robot)
    base = robot.group("base")
    drive = rest_to_rest(Path("base", np.array([[0.0, 0, 0], [0.5, 0.2, 0.3]])), base)
    folded, stretched = np.zeros(robot.size), np.zeros(robot.size)
    folded[robot.slice("arm")] = HOME
    stretched[robot.slice("arm")] = [0, np.pi / 2, 0, -0.1, 0, 1.6, 0.8]
    k = robot.joints.index("panda_joint2")
    low, high = (model.check(drive, q).torque[k] for q in (folded, stretched))
    assert high > 2 * low
    check = model.check(drive, folded)
    assert check.units[0] == "N"
    # The whole robot's mass times the acceleration: what drives it forwards.
    root = ET.fromstring(with_inertials(robot.urdf, robot.inertials))
    masses = sum(float(m.get("value")) for m in root.iter("mass"))
    forward = rest_to_rest(Path("base", np.array([[0.0, 0, 0], [0.5, 0, 0]])), base)
    expected = masses * forward.peaks(2)[0]
    assert model.check(forward, folded).torque[0] == pytest.approx(expected, rel=1e-3)
