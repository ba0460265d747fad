"""The Panda as a RobotModel without kinematics, fixed and mobile: links, joints, limits, URDF.

Validation uses it, which computes poses by itself; ``models`` adds the kinematics.

The pairs of links that are never checked were derived with PyBullet over the real joint limits, by
``bench/robots/derive_self_collisions.py``; docs/robots.md says how. All other pairs are checked.
Names in a pair are in alphabetical order.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET

from galley.domain.frames import Array, frozen, inverse, transform
from galley.domain.scene.base_spec import MobileBaseSpec
from galley.robots.base_urdf import base_elements, base_group
from galley.robots.model import Gripper, JointGroup, RobotModel
from galley.robots.panda.ik import LIMITS
from galley.robots.panda.kinematics import FINGER_STROKE, X_FH, inverse_batch, p_HT
from galley.robots.panda.urdf import identified, panda_elements

NEIGHBOURS: tuple[tuple[str, str], ...] = (
    ("chassis", "column"),
    ("column", "panda_link0"),
    ("panda_hand", "panda_leftfinger"),
    ("panda_hand", "panda_link7"),
    ("panda_hand", "panda_rightfinger"),
    ("panda_link0", "panda_link1"),
    ("panda_link1", "panda_link2"),
    ("panda_link2", "panda_link3"),
    ("panda_link3", "panda_link4"),
    ("panda_link4", "panda_link5"),
    ("panda_link5", "panda_link6"),
    ("panda_link6", "panda_link7"),
)
"""Connected by a joint, where their shapes overlap by up to 52 mm in all configurations."""

MEET_BY_DESIGN: tuple[tuple[str, str], ...] = (("panda_leftfinger", "panda_rightfinger"),)
"""The fingertips touch when the gripper closes on nothing."""

NEVER_TOUCH: tuple[tuple[str, str], ...] = (
    ("chassis", "panda_link0"),  # 368
    ("chassis", "panda_link1"),  # 509
    ("chassis", "panda_link2"),  # 610
    ("chassis", "panda_link3"),  # 487
    ("chassis", "panda_link4"),  # 394
    ("column", "panda_link1"),  # 140
    ("column", "panda_link2"),  # 242
    ("column", "panda_link3"),  # 146
    ("column", "panda_link4"),  # 34
    ("panda_hand", "panda_link3"),  # 95
    ("panda_hand", "panda_link4"),  # 84
    ("panda_hand", "panda_link6"),  # 28
    ("panda_leftfinger", "panda_link3"),  # 44
    ("panda_leftfinger", "panda_link4"),  # 39
    ("panda_leftfinger", "panda_link6"),  # 112
    ("panda_leftfinger", "panda_link7"),  # 57
    ("panda_link0", "panda_link2"),  # 122
    ("panda_link0", "panda_link3"),  # 153
    ("panda_link0", "panda_link4"),  # 33
    ("panda_link1", "panda_link3"),  # 124
    ("panda_link1", "panda_link4"),  # 136
    ("panda_link2", "panda_link4"),  # 46
    ("panda_link3", "panda_link5"),  # 49
    ("panda_link3", "panda_link6"),  # 156
    ("panda_link3", "panda_link7"),  # 174
    ("panda_link3", "panda_rightfinger"),  # 44
    ("panda_link4", "panda_link6"),  # 134
    ("panda_link4", "panda_link7"),  # 150
    ("panda_link4", "panda_rightfinger"),  # 38
    ("panda_link6", "panda_rightfinger"),  # 112
    ("panda_link7", "panda_rightfinger"),  # 57
)
"""Proved to stay more than 10 mm apart, by branch and bound over the joints between them.

Behind each pair: the least distance found, mm.
"""

ALLOWED_SELF_COLLISIONS: frozenset[tuple[str, str]] = frozenset(
    NEIGHBOURS + MEET_BY_DESIGN + NEVER_TOUCH
)
"""The 44 pairs out of 78 that no world checks."""


FINGERS = ("panda_leftfinger", "panda_rightfinger")
FINGER_JOINTS = ("panda_finger_joint1", "panda_finger_joint2")
ARM_LINKS = (*(f"panda_link{k}" for k in range(8)), "panda_hand", *FINGERS)
LINKS = ("chassis", "column", *ARM_LINKS)
"""The links with collision geometry, from the floor to the fingertips."""

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
    return _robot(
        "mobile_panda",
        (base_group(spec),),
        LINKS,
        base_elements(spec, "panda_link0", "panda_mount"),
    )


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
    name: str,
    below: tuple[JointGroup, ...],
    links: tuple[str, ...],
    foot: list[ET.Element],
) -> RobotModel:
    """The arm on what carries it: joint groups ``below`` it, URDF elements of its ``foot``."""
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
        X_AT: pose of T, unturned against the hand, in ``panda_link0`` (4, 4).
        redundant: values of joint 7 to try, rad (m,).

    Returns:
        All configurations within the real limits (k, 7), rad.
    """
    X_FT = X_FH @ transform(translation=p_HT)
    return inverse_batch(X_AT @ inverse(X_FT), redundant).q


def finger_group() -> JointGroup:
    """The two fingers. Velocity is the URDF's; acceleration and jerk are ours, Franka has none.

    Full speed is reached in 0.15 s, slow enough for position control.
    """
    limits = (frozen([limit] * 2) for limit in (0.0, FINGER_STROKE, 0.2, 2.0, 40.0))
    return JointGroup("fingers", FINGER_JOINTS, ("m", "m"), *limits)
