"""Checks the joint torques along a trajectory against their limits; Drake reads the robot's bodies.

The torques include gravity, inertia, Coriolis forces and the joints' damping, for the robot and the
item that it holds. They leave out other joint friction, the motors' own inertia, and contact forces
(a drawer that is pulled, a grip).
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import MultibodyPlant
from pydrake.multibody.tree import BodyIndex, PrismaticJoint

from galley.collision.backends import quiet_drake
from galley.collision.backends.urdf import inertial
from galley.compiled.build import TIMING, ensure
from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import Array, as_input, as_pose, frozen
from galley.domain.scene.model import Item
from galley.motion.trajectory.trajectory import Trajectory, slowed
from galley.robots.inertials import with_inertials
from galley.robots.model import RobotModel

RATE = 1000.0  # Hz, of the samples: a control period of many arms
INERTIALS = ("identified", "urdf")


@dataclass(frozen=True)
class HeldItem:
    """An item fixed to the hand.

    Attributes:
        item: gives the mass and the shapes.
        X_HI: the item's pose (4, 4) in the palm's frame.
    """

    item: Item
    X_HI: Array

    def __post_init__(self) -> None:
        as_pose(self.X_HI, "X_HI")


@dataclass(frozen=True)
class TorqueCheck:
    """Torques that a trajectory needs, for the joints with a finite effort limit.

    Attributes:
        joints: the joints' names (k,), of the whole robot: a base that accelerates loads the arm
            too.
        units: unit of each torque (k,): ``N m``, or ``N`` for a sliding joint.
        torque: largest magnitude of each torque at any sample (k,).
        limit: effort limits (k,).
        ratio: torque / limit (k,).
        time: time (s) of the largest ratio.
        share: share of the limits that may be used.
        inertials: source of masses and inertias, one of ``INERTIALS``.
    """

    joints: tuple[str, ...]
    units: tuple[str, ...]
    torque: Array
    limit: Array
    ratio: Array
    time: float
    share: float
    inertials: str

    @property
    def passed(self) -> bool:
        """Whether every joint keeps its share of the limit."""
        return bool((self.ratio <= self.share * (1.0 + 1e-9)).all())

    @property
    def worst(self) -> int:
        """Index of the joint that comes nearest to its limit."""
        return int(self.ratio.argmax())

    def __str__(self) -> str:
        k = self.worst
        return (
            f"{self.joints[k]} needs {self.torque[k]:.1f} of {self.limit[k]:.0f} {self.units[k]}"
            f" ({100 * self.ratio[k]:.0f} %) at {self.time:.2f} s"
            + ("" if self.passed else ", too much")
        )


class _Tree(NamedTuple):
    """The robot's joints, parents first, and the bodies that they carry.

    The attributes are the first arguments of ``kernel.dynamics.inverse_dynamics``.
    """

    parent: NDArray[np.int64]
    sliding: NDArray[np.bool_]
    axis: Array
    place: Array
    mass: Array
    centre: Array
    inertia: Array
    gravity: Array


class _Robot(NamedTuple):
    """A robot's dynamics as its URDF gives them.

    Attributes:
        inertials: source of masses and inertias, one of ``INERTIALS``.
        effort: effort limits (n,) in the order of q, infinite if the URDF has none.
        damping: damping coefficients of the joints (n,) in the order of q, N m s or N s/m.
        order: index in q of each of the tree's joints (n,).
        tree: joints and bodies with nothing in the hand.
        palm: row of the tree's joint that carries the palm, -1 if none does.
        X_WH: the palm's pose (4, 4) in the world at zero positions.
    """

    inertials: str
    effort: Array
    damping: Array
    order: NDArray[np.int64]
    tree: _Tree
    palm: int
    X_WH: Array


class TorqueModel:
    """A robot's rigid-body dynamics: joint torques of a motion, and their check.

    A robot's URDF is read once, without its shapes.

    Args:
        robot: its URDF gives masses, inertias and effort limits.
        held: an item fixed to the hand, its mass spread over its shapes.
        inertials: ``identified``: the model's own ``inertials``, the URDF's for links that have
            none; ``urdf``: the URDF's for all.

    Raises:
        ValueError: no joint has a finite effort limit, or ``inertials`` is unknown.
    """

    def __init__(
        self, robot: RobotModel, held: HeldItem | None = None, inertials: str = "identified"
    ) -> None:
        if inertials not in INERTIALS:
            raise ValueError(f"no inertials '{inertials}', there are {list(INERTIALS)}")
        self.robot = robot
        read = _read(robot, inertials)
        self.inertials, self.effort = read.inertials, read.effort
        """Effort limits (n,) in the order of q; infinite where the URDF has none."""
        self._limited = np.nonzero(np.isfinite(self.effort))[0]
        self._damping, self._order = read.damping, read.order
        self._tree = read.tree if held is None or read.palm < 0 else _holding(read, held)

    def torques(self, q: Array, velocity: Array, acceleration: Array) -> Array:
        """Joint torques (m, n) for a motion: N m, or N for sliding joints.

        Args:
            q: configurations of the whole robot (m, n).
            velocity: joint velocities (m, n), rad/s or m/s.
            acceleration: joint accelerations (m, n), rad/s^2 or m/s^2.
        """
        return self._damping * velocity + self._inverse(self._tree, q, velocity, acceleration)

    def _inverse(self, tree: _Tree, q: Array, velocity: Array, acceleration: Array) -> Array:
        """Inverse dynamics of ``tree``: ``torques`` without damping."""
        from galley.optimization.kernel.dynamics import inverse_dynamics

        # The kernel needs parents first: reorder the joints, and the torques back at the end.
        motion = q, velocity, acceleration
        positions, rates, second = (as_input(rows[:, self._order]) for rows in motion)
        out, torques = np.empty(q.shape), np.empty(q.shape)
        n = len(self._order)
        scratch = np.tile(np.eye(3), (n + 1, 1, 1)), np.zeros((n + 1, 3)), np.zeros((5, n + 1, 6))
        ensure(TIMING)
        inverse_dynamics(*tree, positions, rates, second, *scratch, out)
        torques[:, self._order] = out
        return torques

    def mass_matrix(self, q: Array) -> Array:
        """The joints' mass matrix M (n, n) at q (n,): kg m^2, or kg for sliding joints.

        Column j holds the torques that accelerate joint j alone by 1, at rest without gravity.
        """
        n = len(q)
        still, weightless = np.zeros((n, n)), self._tree._replace(gravity=np.zeros(3))
        return self._inverse(weightless, np.tile(q, (n, 1)), still, np.eye(n))

    def check(
        self, trajectory: Trajectory, q: Array, share: float = 1.0, rate: float = RATE
    ) -> TorqueCheck:
        """The torques that ``trajectory`` needs, at ``rate`` samples per second and at its end.

        Args:
            trajectory: over one of the robot's groups (``base+arm`` for two).
            q: the robot's configuration (n,); joints outside the group stay there.
            share: share of the limits that may be used.
            rate: samples per second, Hz.
        """
        times, torques = self._along(trajectory, q, rate)
        ratio = np.abs(torques) / self.effort[self._limited]
        units = [unit for group in self.robot.groups for unit in group.units]
        return TorqueCheck(
            joints=tuple(self.robot.joints[k] for k in self._limited),
            units=tuple("N" if units[k] == "m" else "N m" for k in self._limited),
            torque=frozen(np.abs(torques).max(axis=0)),
            limit=frozen(self.effort[self._limited]),
            ratio=frozen(ratio.max(axis=0)),
            time=float(times[ratio.max(axis=1).argmax()]),
            share=share,
            inertials=self.inertials,
        )

    def slowdown(
        self, trajectory: Trajectory, q: Array, share: float = 1.0, rate: float = RATE
    ) -> float | Failure:
        """The factor (at least 1) by which to stretch a trajectory to keep the torque limits.

        It follows from a formula: stretching by f divides accelerations and Coriolis terms by f^2,
        so torques are g(q) + d / f^2 with d the torque without gravity. ``slowed(trajectory,
        factor)`` then passes ``check``, whose arguments these are.

        Returns:
            The factor; or a Failure if gravity alone needs the whole share.
        """
        times, torques = self._along(trajectory, q, rate)
        gravity = self._along(trajectory, q, rate, still=True)[1]
        limit = share * self.effort[self._limited]
        over = np.abs(gravity) / limit
        if over.max() < 1.0:
            # Gravity leaves this share of the motion's torque, in its own direction, within the
            # limit; 1 / f^2 must not be more.
            motion = torques - gravity
            with np.errstate(divide="ignore"):
                room = np.where(motion > 0.0, limit - gravity, limit + gravity) / np.abs(motion)
            factor: float = max(1.0, float(room.min()) ** -0.5)
            for extra in (0.0, *(5e-4 * 2.0**k for k in range(16))):
                # The slower trajectory is sampled at other states, which may have higher peaks.
                slower = factor * (1.0 + extra)
                if self.check(slowed(trajectory, slower), q, share, rate).passed:
                    return slower
        # Gravity alone needs the whole share somewhere: no duration is long enough.
        row, k = np.unravel_index(over.argmax(), over.shape)
        name = self.robot.joints[self._limited[k]]
        return Failure(
            FailureKind.UNSTABLE,
            f"{name} can't hold the load at {times[row]:.2f} s, however slowly it moves",
            objects=(name,),
            numbers={"torque": float(abs(gravity[row, k])), "limit": float(limit[k])},
            certificate={"kind": "gravity", "joint": name, "time_s": float(times[row])},
        )

    def _along(
        self, trajectory: Trajectory, q: Array, rate: float, still: bool = False
    ) -> tuple[Array, Array]:
        """Sample times (m,) and the torques (m, k) of the joints that have a limit.

        With ``still``, the torques that hold each position at rest.
        """
        samples = trajectory.sampled(1.0 / rate)
        at = self.robot.slice(trajectory.group)
        positions = np.repeat(np.asarray(q, dtype=np.float64)[None], len(samples.times), axis=0)
        rates, second = np.zeros_like(positions), np.zeros_like(positions)
        positions[:, at] = samples.positions
        if not still:
            rates[:, at], second[:, at] = samples.velocities, samples.accelerations
        return samples.times, self.torques(positions, rates, second)[:, self._limited]


@lru_cache(maxsize=8)
def _read(robot: RobotModel, inertials: str) -> _Robot:
    """Reads a robot's joints and bodies by Drake's parser, which takes milliseconds.

    1. Takes effort limits and shapes out of the URDF, and puts in the chosen masses and inertias.
    2. Orders the joints so that parents come first: a joint carries more bodies than those it
       carries itself.
    3. For each joint, finds its parent, its axis and a point on it, and the bodies that it carries
       but no later joint does, merged into one rigid body.

    Raises:
        ValueError: no joint has a finite effort limit.
    """
    root = ET.fromstring(robot.urdf)
    efforts = _remove_effort_limits(root)
    effort = frozen([efforts.get(name, np.inf) for name in robot.joints])
    if not np.isfinite(effort).any():
        raise ValueError(f"no joint of {robot.name} has a finite effort limit")
    for link in root.iter("link"):
        for shape in (*link.findall("visual"), *link.findall("collision")):
            link.remove(shape)
    source = inertials if robot.inertials else "urdf"
    known = robot.inertials if source == "identified" else {}
    urdf = with_inertials(ET.tostring(root, encoding="unicode"), known)
    plant = MultibodyPlant(0.0)
    with quiet_drake():
        Parser(plant).AddModelsFromString(urdf, "urdf")
    plant.Finalize()
    context = plant.CreateDefaultContext()
    joints: list[Any] = [plant.GetJointByName(name) for name in robot.joints]
    positions: Any = np.array(plant.GetPositions(context))
    positions[[joint.position_start() for joint in joints]] = 0.0
    plant.SetPositions(context, positions)
    carried = [
        {int(body) for body in plant.GetBodiesKinematicallyAffectedBy([joint.index()])}
        for joint in joints
    ]
    n = len(joints)
    order = sorted(range(n), key=lambda i: -len(carried[i]))
    tree = _Tree(
        np.full(n, n), np.zeros(n, dtype=bool), np.zeros((n, 3)), np.zeros((n + 1, 3)),
        np.zeros(n), np.zeros((n, 3)), np.zeros((n, 3, 3)),
        np.array(plant.gravity_field().gravity_vector()),
    )  # fmt: skip
    hand = plant.GetBodyByName(robot.palm)
    palm = -1
    for row, i in enumerate(order):
        joint = joints[i]
        for before, other in enumerate(order[:row]):
            # Every joint that carries this one carries its bodies too. The last of them in the
            # order carries the fewest bodies: it is the parent.
            if carried[i] < carried[other]:
                tree.parent[row] = before
        if int(hand.index()) in carried[i]:
            palm = row
        X_WF = joint.frame_on_parent().CalcPoseInWorld(context)
        tree.sliding[row] = isinstance(joint, PrismaticJoint)
        axis = joint.translation_axis() if tree.sliding[row] else joint.revolute_axis()
        tree.axis[row], tree.place[row] = X_WF.rotation() @ axis, X_WF.translation()
        own = sorted(carried[i].difference(*(carried[k] for k in order[row + 1 :])))
        if own:
            bodies = [BodyIndex(index) for index in own]
            M = plant.CalcSpatialInertia(context, plant.world_frame(), bodies)
            tree.mass[row], tree.centre[row] = M.get_mass(), M.get_com()
            # Drake's inertia is about the world's origin: Steiner's theorem moves it to the centre.
            about_origin = M.CalcRotationalInertia().CopyToFullMatrix3()
            tree.inertia[row] = about_origin - M.get_mass() * _spread(M.get_com())
    damping = np.array([joint.default_damping_vector()[0] for joint in joints])
    X_WH = plant.EvalBodyPoseInWorld(context, hand).GetAsMatrix4()
    return _Robot(source, effort, damping, np.array(order), tree, palm, X_WH)


def _holding(read: _Robot, held: HeldItem) -> _Tree:
    """The tree with an item fixed to the palm, as one rigid body with the body that carries it.

    The inertia about the common centre comes from Steiner's theorem.
    """
    tree, row, mass = read.tree, read.palm, held.item.mass
    centre, inertia = inertial(held.item.shapes, read.X_WH @ held.X_HI, mass)
    masses, centres, inertias = tree.mass.copy(), tree.centre.copy(), tree.inertia.copy()
    total, apart = masses[row] + mass, centre - centres[row]
    masses[row] = total
    centres[row] += mass / total * apart
    inertias[row] += inertia + (total - mass) * mass / total * _spread(apart)
    return tree._replace(mass=masses, centre=centres, inertia=inertias)


def _spread(r: Array) -> Array:
    """|r|^2 1 - r r' (3, 3): times a mass, the inertia of a point at r about the origin."""
    return np.asarray(float(r @ r) * np.eye(3) - np.outer(r, r))


def _remove_effort_limits(root: ET.Element) -> dict[str, float]:
    """Removes the effort limits from a URDF's joints; returns the finite, positive ones by name."""
    efforts = {}
    for joint in root.iter("joint"):
        limit = joint.find("limit")
        # 0 stands for "unknown" in many files, and Drake refuses to read "inf".
        effort = float(limit.attrib.pop("effort", "inf")) if limit is not None else np.inf
        if np.isfinite(effort) and effort > 0.0:
            efforts[joint.get("name", "")] = effort
    return efforts
