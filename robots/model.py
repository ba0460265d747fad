"""RobotModel: a robot's joint groups with limits, links, gripper and kinematics."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from galley.domain.errors import did_you_mean
from galley.domain.frames import Array, as_numbers, as_pose, frozen, transform
from galley.domain.scene.robot_file import Spacing
from galley.robots.inertials import Inertial
from galley.robots.kinematics import Kinematics

if TYPE_CHECKING:  # validation computes poses by itself
    from galley.robots.urdf_reader import JointTree

InverseKinematics = Callable[[Array, Array], Array]
"""Closed-form inverse kinematics of the group ``arm``: ``(X_AT, redundant) -> q`` (k, n), all
solutions within the limits. X_AT (4, 4) is the pose of the tool frame in the link that carries
the arm's first joint; ``redundant`` (m,) are the values of the redundant joint to try, if any."""

ENDLESS = 16.0 * np.pi
"""Limit (rad) to each side of zero of a joint that turns without end. Values that differ by whole
turns are the same place."""


@dataclass(frozen=True)
class JointGroup:
    """Joints that move together. A Path is in the space of one group.

    A joint that turns without end has limits of ``ENDLESS`` or more.

    Attributes:
        name: ``base``, ``arm`` or ``fingers``.
        joints: joint names, in the order of every array here.
        units: ``m`` or ``rad`` for each joint.
        lower, upper: position limits (n,), m or rad.
        velocity, acceleration, jerk: limits of magnitude (n,), m or rad per s, s^2, s^3.
        differential: whether it is a base that rolls along its heading and turns on the spot;
            the limits of x are then those along the heading.
    """

    name: str
    joints: tuple[str, ...]
    units: tuple[str, ...]
    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array
    jerk: Array
    differential: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        for name in ("lower", "upper", "velocity", "acceleration", "jerk"):
            values = as_numbers(getattr(self, name), f"{name} of '{self.name}'", (self.size,))
            if name not in ("lower", "upper") and not (values > 0.0).all():
                raise ValueError(f"{name}: needs {self.size} positive limits, got {values}")
        crossed = np.flatnonzero(np.asarray(self.lower) > np.asarray(self.upper))
        if len(crossed):
            raise ValueError(f"lower of '{self.joints[crossed[0]]}' is above its upper limit")

    @property
    def size(self) -> int:
        """Number of joints in the group."""
        return len(self.joints)

    @property
    def turn(self) -> tuple[Array, Array]:
        """The limits (n,), (n,); for endless joints from -pi to pi."""
        endless = np.array([unit == "rad" for unit in self.units])
        endless &= (self.lower <= -ENDLESS) & (self.upper >= ENDLESS)
        return np.where(endless, -np.pi, self.lower), np.where(endless, np.pi, self.upper)


def onto_limits(q: Array, lower: Array, upper: Array) -> Array:
    """Configurations (..., k), with values that float32 has rounded beyond a limit put back on it.

    Values farther beyond stay as they are. Limits are (k,).
    """
    rounding = 1e-9 + 2.0**-24 * np.maximum(np.abs(lower), np.abs(upper))
    clipped = np.clip(q, lower, upper)
    return np.where(np.abs(q - clipped) <= rounding, clipped, q)


def by_name(
    joints: Sequence[str], values: ArrayLike | Mapping[str, float], others: Array
) -> ArrayLike:
    """Joint values (k,) that are given as such, or by the joints' names.

    Args:
        joints: names of the joints.
        values: (k,), or some by name.
        others: (k,), for joints that are not named.

    Raises:
        ValueError: no joint has one of the names.
    """
    if not isinstance(values, Mapping):
        return values
    unknown = next((name for name in values if name not in joints), None)
    if unknown is not None:
        hint = did_you_mean(unknown, joints) or f"; there are {', '.join(joints)}"
        raise ValueError(f"no joint '{unknown}'{hint}")
    return [values.get(name, other) for name, other in zip(joints, others, strict=True)]


def join_groups(name: str, groups: list[JointGroup]) -> JointGroup:
    """One group of the joints of several, in their order."""
    return JointGroup(
        name=name,
        joints=tuple(joint for group in groups for joint in group.joints),
        units=tuple(unit for group in groups for unit in group.units),
        differential=False,
        **{
            key: frozen(np.concatenate([getattr(group, key) for group in groups]))
            for key in ("lower", "upper", "velocity", "acceleration", "jerk")
        },
    )


@dataclass(frozen=True)
class Gripper:
    """Measures of two fingers that close along y of the grasp frame T, in metres.

    All are 0 for a robot without a gripper.

    Attributes:
        opening: width between the fingers, fully open.
        widest: width of the widest item that they take, which leaves a little room beside each
            finger.
        pad: how far the pads reach from the grasp centre.
        to_palm: distance from the grasp centre to the palm, rounded down.
        to_finger: distance from the pad's face to the middle of the finger.
        table: rows of half the width between the pads, ascending, and of the finger joints there
            (m or rad), linear in between; empty if each joint's position is that half.
        opens_fully: whether the gripper is always fully open on its way to an item.
        one_jaw: whether only the finger at +y moves: T is then on the pad of the other one, not in
            the middle between them.
    """

    opening: float = 0.0
    widest: float = 0.0
    pad: float = 0.0
    to_palm: float = 0.0
    to_finger: float = 0.0
    table: tuple[tuple[float, ...], ...] = ()
    opens_fully: bool = False
    one_jaw: bool = False

    @property
    def open(self) -> float:
        """Half the width between the pads, fully open."""
        return 0.5 * self.opening

    @property
    def narrowest(self) -> float:
        """Width (m) to which the fingers close at most: they hold nothing that is thinner."""
        return 2.0 * self.table[0][0] if self.table else 0.0

    def centred(self, X_MT: Array, width: float | Array, sign: float = 1.0) -> Array:
        """The frames T (..., 4, 4) of grasps that are given by the middle of the grasped item.

        They differ for a gripper with one jaw only.

        Args:
            X_MT: grasps with T in the item's middle (..., 4, 4).
            width: width of the item between the pads (...), m.
            sign: 1: from the middle to T; -1: back, from T to the middle.
        """
        if not self.one_jaw:
            return X_MT
        X = np.array(X_MT)
        X[..., :3, 3] -= 0.5 * sign * np.asarray(width)[..., None] * X[..., :3, 1]
        return frozen(X)


@dataclass(frozen=True, eq=False)
class RobotModel:
    """A robot as one multibody. Base, arm and fingers, in this order, make up q (n,).

    ``motion.plan`` needs the first eight attributes. Skills also need ``gripper`` and
    ``kinematics``.

    Attributes:
        name: the robot's name.
        groups: joint groups, in the order in which they stand in q.
        links: names of the links with collision geometry, from the foot to the fingertips.
        allowed_self_collisions: pairs of links that are never checked against each other
            (neighbours, and pairs that never or always touch), each with first < second.
        fingers: names of the links that may touch what is grasped.
        palm: name of the link that carries the fingers (the hand frame H).
        p_HT: grasp centre between the fingertips, in the hand frame, metres (3,).
        urdf: the whole multibody as URDF text with absolute mesh paths.
        tool_link: link that the tool frame T is fixed to; the palm if left out.
        X_LT: pose of T in that link (4, 4); if left out, at p_HT and parallel to the hand frame.
        ik: closed-form inverse kinematics, or None where there is none.
        sphere_excess: pairs of a link and how far (m) the spheres that cover its meshes may reach
            beyond their convex hulls; ``*`` stands for all links that are not named. Few
            spheres make a fast first check; where they are too near, the hulls decide.
        gripper: measures of the fingers.
        kinematics: kinematics of the arm on its base, for skills.
        base_links: links that only the base moves, from the floor up.
        wheels: those base links that stand on the floor.
        spacing: margins and lengths of the robot's motions.
        inertials: masses and moments of links, by name, for dynamics. The URDF's count for links
            that are not named.
        hand: name of the acting hand, if the robot has several; else empty.
        views: for a robot with several hands: by the name of each hand, the model in which that
            hand acts. All share q; ``arm``, ``fingers``, ``palm`` and what belongs to them are the
            acting hand's, and the groups of the others have their hands' names before their own.
    """

    name: str
    groups: tuple[JointGroup, ...]
    links: tuple[str, ...]
    allowed_self_collisions: frozenset[tuple[str, str]]
    fingers: tuple[str, ...]
    palm: str
    p_HT: Array
    urdf: str
    tool_link: str = ""
    X_LT: Array = field(default_factory=lambda: np.empty((0, 0)))
    ik: InverseKinematics | None = None
    sphere_excess: tuple[tuple[str, float], ...] = (("*", 0.008),)
    gripper: Gripper = Gripper()
    kinematics: Kinematics = field(default_factory=Kinematics)
    base_links: tuple[str, ...] = ()
    wheels: tuple[str, ...] = ()
    spacing: Spacing = field(default_factory=Spacing)
    inertials: Mapping[str, Inertial] = field(default_factory=dict)
    hand: str = ""
    views: Mapping[str, RobotModel] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.tool_link:
            object.__setattr__(self, "tool_link", self.palm)
        if self.X_LT.size == 0:
            object.__setattr__(self, "X_LT", frozen(transform(translation=self.p_HT)))
        as_pose(self.X_LT, "X_LT")
        as_numbers(self.p_HT, "p_HT", (3,))
        for link, excess in self.sphere_excess:
            as_numbers(excess, f"sphere_excess of '{link}'", least=0.0)

    def __repr__(self) -> str:
        groups = (f"{group.size} of {group.name}" for group in self.groups)
        return f"RobotModel({self.name}, joints: {', '.join(groups)})"

    @property
    def size(self) -> int:
        """Number of joints in q."""
        return sum(group.size for group in self.groups)

    @cached_property
    def limits(self) -> tuple[Array, Array]:
        """Lower and upper position limits of q (n,), (n,)."""
        joined = join_groups(self.name, list(self.groups))
        return joined.lower, joined.upper

    @property
    def holonomic(self) -> bool:
        """Whether the base can move in every direction, and together with the arm."""
        together = self.groups[1].name == "arm"  # else they don't follow each other in q
        return together and not self.standing_links and not self.group("base").differential

    def acting(self, hand: str) -> RobotModel:
        """The same robot with another hand acting; itself for an empty name.

        Raises:
            KeyError: it has no such hand; the message lists those it has.
        """
        if hand and hand not in self.views:
            raise KeyError(f"no hand '{hand}', there are {[*self.views]}")
        return self.views[hand] if hand else self

    @property
    def hands(self) -> tuple[RobotModel, ...]:
        """The same robot with each of its hands acting, in the order of q."""
        return tuple(self.views.values()) or (self,)

    def every(self, name: str) -> NDArray[np.int64]:
        """Indices in q of the group ``arm`` or ``fingers`` (``name``) of every hand."""
        return np.concatenate([np.arange(self.size)[model.slice(name)] for model in self.hands])

    @cached_property
    def hand_links(self) -> frozenset[str]:
        """The links that are rigid with the palm, or that a finger joint moves."""
        from galley.robots.urdf_reader import read_tree

        tree, fingers = read_tree(self.urdf, self.joints), self.slice("fingers")
        frames = {tree.link(self.palm)[0], *range(fingers.start + 1, fingers.stop + 1)}
        return frozenset(link for link in self.links if tree.link(link)[0] in frames)

    @cached_property
    def standing_links(self) -> tuple[str, ...]:
        """Links that never move in the world: those of a base whose joints have no range."""
        base = [group for group in self.groups if group.name == "base"]
        return self.base_links if base and (base[0].lower == base[0].upper).all() else ()

    @property
    def joints(self) -> tuple[str, ...]:
        """All joint names in the order of q."""
        return tuple(joint for group in self.groups for joint in group.joints)

    def foot_pose(self, q: Array) -> Array:
        """X_WA (4, 4) of the arm's foot, the link that carries its first joint, for q (n,)."""
        tree, foot = self._foot
        return tree.link_pose(foot, q)

    @cached_property
    def _foot(self) -> tuple[JointTree, str]:
        """The joint tree, and the link that carries the arm's first joint."""
        from galley.robots.urdf_reader import joined_link, read_tree

        first, root = self.group("arm").joints[0], ET.fromstring(self.urdf)
        joint = next(e for e in root.findall("joint") if e.get("name") == first)
        return read_tree(self.urdf, self.joints), joined_link(joint, "parent")

    def with_groups(self, q: Array, **values: Array) -> Array:
        """Configurations (m, n): q (n,) with the values of some groups replaced.

        Args:
            q: values of all joints (n,).
            values: by a group's name its values, (k,) for all rows or (m, k).
        """
        count = max((len(v) for v in values.values() if v.ndim == 2), default=1)
        Q = np.repeat(q[None], count, axis=0)
        for name, value in values.items():
            Q[:, self.slice(name)] = value
        return Q

    def fingers_at(self, half: float | Array) -> Array:
        """Positions (..., k) of the finger joints at half the width (...) between the pads, m."""
        half, count = np.asarray(half, dtype=np.float64), self.group("fingers").size
        if not self.gripper.table:
            return np.repeat(half[..., None], count, axis=-1)
        width, *columns = np.array(self.gripper.table).T
        return np.stack([np.interp(half, width, column) for column in columns], axis=-1)

    def half_width(self, fingers: Array) -> Array:
        """Half the width (...) between the pads, m, at finger joints (..., k)."""
        if not self.gripper.table:
            return np.asarray(fingers.mean(axis=-1))
        width, first, *_ = np.array(self.gripper.table).T
        order = np.argsort(first)  # a joint's value may fall as the gripper opens
        return np.asarray(np.interp(fingers[..., 0], first[order], width[order]))

    def finger_rates(self, half: float | Array) -> Array:
        """How far each finger joint moves (..., k) per metre of half the width (...)."""
        if not self.gripper.table:
            return np.ones((*np.shape(half), self.group("fingers").size))
        table = np.array(self.gripper.table)
        row = np.clip(np.searchsorted(table[:, 0], half), 1, len(table) - 1)
        step = table[row] - table[row - 1]
        return np.asarray(step[..., 1:] / step[..., :1])

    def group(self, name: str) -> JointGroup:
        """The group called ``name``; ``base+arm`` joins two that are adjacent in q.

        Raises:
            KeyError: no such group; the message lists those that exist.
        """
        if "+" in name:
            return join_groups(name, [self.group(own) for own in name.split("+")])
        for group in self.groups:
            if group.name == name:
                return group
        raise KeyError(f"no joint group '{name}', there are {[g.name for g in self.groups]}")

    def slice(self, name: str) -> slice:
        """Where the group called ``name`` is in q; ``base+arm`` joins two.

        Raises:
            KeyError: no such group, or the two don't follow each other in q.
        """
        if "+" in name:
            parts = [self.slice(own) for own in name.split("+")]
            if any(a.stop != b.start for a, b in itertools.pairwise(parts)):
                raise KeyError(f"the groups of '{name}' do not follow each other in q")
            return slice(parts[0].start, parts[-1].stop)
        group, names = self.group(name), [g.name for g in self.groups]
        start = sum(g.size for g in self.groups[: names.index(name)])
        return slice(start, start + group.size)


def with_views(models: Mapping[str, RobotModel]) -> RobotModel:
    """The first of a robot's models, each of which has all of them as its ``views``.

    Args:
        models: by the name of each hand, the model in which that hand acts.
    """
    if len(models) > 1:
        views = dict[str, RobotModel]()
        for name, model in models.items():
            views[name] = replace(model, views=views)
        models = views
    return next(iter(models.values()))
