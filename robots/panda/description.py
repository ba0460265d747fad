"""The Panda as a RobotModel without kinematics, fixed and mobile: links, joints, limits, URDF.

Validation uses this model and computes poses by itself; ``models`` adds the kinematics.

The pairs of links that are never checked were derived with PyBullet over the real joint limits, by
``bench/robots/derive_self_collisions.py``; docs/robots.md says how. All other pairs are checked.
Names in a pair are in alphabetical order.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import pairwise, product

from galley.domain.frames import Array, frozen, inverse, transform
from galley.domain.scene.base_spec import MobileBaseSpec
from galley.robots.base_urdf import base_elements, base_group
from galley.robots.model import Gripper, JointGroup, RobotModel
from galley.robots.panda.ik import LIMITS
from galley.robots.panda.kinematics import FINGER_STROKE, X_FH, inverse_batch, p_HT
from galley.robots.panda.urdf import identified, panda_elements

FINGERS = ("panda_leftfinger", "panda_rightfinger")
FINGER_JOINTS = ("panda_finger_joint1", "panda_finger_joint2")
_CHAIN = ("chassis", "column", *(f"panda_link{k}" for k in range(8)), "panda_hand")
ARM_LINKS = (*_CHAIN[2:], *FINGERS)
LINKS = (*_CHAIN, *FINGERS)
"""The links with collision geometry, from the floor to the fingertips."""

_JOINED = (*pairwise(_CHAIN), *product(["panda_hand"], FINGERS))
NEIGHBOURS = tuple(sorted((min(pair), max(pair)) for pair in _JOINED))
"""Pairs connected by a joint, where shapes overlap by up to 52 mm in all configurations."""

MEET_BY_DESIGN: tuple[tuple[str, str], ...] = (FINGERS,)
"""The fingertips touch when the gripper closes on nothing."""

_DISTANCES = """
chassis           link0 368  link1 509  link2 610  link3 487  link4 394
column            link1 140  link2 242  link3 146  link4 34
panda_hand        link3 95  link4 84  link6 28
panda_leftfinger  link3 44  link4 39  link6 112  link7 57
panda_link0       link2 122  link3 153  link4 33
panda_link1       link3 124  link4 136
panda_link2       link4 46
panda_link3       link5 49  link6 156  link7 174  rightfinger 44
panda_link4       link6 134  link7 150  rightfinger 38
panda_link6       rightfinger 112
panda_link7       rightfinger 57
"""
NEVER_TOUCH = tuple(
    (first, f"panda_{other}")
    for first, *others in map(str.split, _DISTANCES.split("\n")[1:-1])
    for other in others[::2]
)
"""Pairs proved to stay more than 10 mm apart, by branch and bound over the joints between them.

The number behind each link in ``_DISTANCES`` is the least distance that was found, mm.
"""

# The 44 pairs out of 78 that no world checks.
ALLOWED_SELF_COLLISIONS = frozenset(NEIGHBOURS + MEET_BY_DESIGN + NEVER_TOUCH)

PANDA_GRIPPER = Gripper(
    opening=2.0 * FINGER_STROKE,
    widest=2.0 * FINGER_STROKE - 0.002,
    pad=0.01,
    to_palm=0.033,
    to_finger=0.012,
)


def mobile_panda_description(spec: MobileBaseSpec | None = None) -> RobotModel:
    """The mobile robot: base (3), arm (7) and fingers (2), q (12,) in this order.

    Args:
        spec: the base's measures and limits; default: the kitchen's robot.

    Raises:
        FileNotFoundError: pybullet_data, which has the Panda's meshes, is not installed.
    """
    spec = spec or MobileBaseSpec()
    foot = base_elements(spec, "panda_link0", "panda_mount")
    return _robot("mobile_panda", (base_group(spec),), LINKS, foot)


def panda_arm() -> RobotModel:
    """The arm with its foot at the world's origin: q (9,) is the arm (7), then the fingers (2).

    Raises:
        FileNotFoundError: pybullet_data, which has the Panda's meshes, is not installed.
    """
    mount = ET.Element("joint", name="panda_mount", type="fixed")
    ET.SubElement(mount, "parent", link="world")
    ET.SubElement(mount, "child", link="panda_link0")
    return _robot("panda_arm", (), ARM_LINKS, [ET.Element("link", name="world"), mount])


def _robot(
    name: str, below: tuple[JointGroup, ...], links: tuple[str, ...], foot: list[ET.Element]
) -> RobotModel:
    """The model of the arm on a base or in the world.

    Args:
        name: of the robot.
        below: joint groups before the arm's.
        links: names of the links with collision geometry.
        foot: URDF elements that carry ``panda_link0``.
    """
    root = ET.Element("robot", name=name)
    root.extend(foot)
    root.extend(panda_elements())
    ET.indent(root)
    return RobotModel(
        name=name,
        groups=(*below, LIMITS, finger_group()),
        links=links,
        allowed_self_collisions=frozenset(
            (a, b) for a, b in ALLOWED_SELF_COLLISIONS if a in links and b in links
        ),
        fingers=FINGERS,
        palm="panda_hand",
        p_HT=p_HT,
        urdf='<?xml version="1.0"?>\n' + ET.tostring(root, encoding="unicode") + "\n",
        ik=arm_ik,
        gripper=PANDA_GRIPPER,
        base_links=links[: links.index("panda_link1")],
        inertials=identified(),
    )


def arm_ik(X_AT: Array, redundant: Array) -> Array:
    """Closed-form inverse kinematics of the grasp centre T.

    Args:
        X_AT: pose in ``panda_link0`` (4, 4) of T, which is parallel to the hand's frame.
        redundant: values of joint 7 to try, rad (m,).

    Returns:
        All configurations within the real limits (k, 7), rad.
    """
    X_FT = X_FH @ transform(translation=p_HT)
    return inverse_batch(X_AT @ inverse(X_FT), redundant).q


def finger_group() -> JointGroup:
    """The two fingers. Velocity is the URDF's; acceleration and jerk are ours, as Franka has none.

    Full speed is reached in 0.15 s, slow enough for position control.
    """
    limits = (frozen([limit] * 2) for limit in (0.0, FINGER_STROKE, 0.2, 2.0, 40.0))
    return JointGroup("fingers", FINGER_JOINTS, ("m", "m"), *limits)
