"""The Panda on a fixed base: seven joints and two fingers, without the wheels."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from galley.domain.frames import Array, frozen, inverse, transform
from galley.robots.model import JointGroup, RobotModel
from galley.robots.panda import FINGER_STROKE, JOINTS, LIMITS, X_FH, inverse_batch, p_HT
from galley.robots.panda_urdf import panda_elements
from galley.robots.self_collisions import ALLOWED_SELF_COLLISIONS

FINGERS = ("panda_leftfinger", "panda_rightfinger")
LINKS = (*(f"panda_link{k}" for k in range(8)), "panda_hand", *FINGERS)

PANDA_EXCESS: tuple[tuple[str, float], ...] = (("*", 0.008),)
"""How far covering spheres may reach beyond the links, metres. Few spheres make a fast first look;
where they are too near, the hulls themselves have the last word."""


def panda_arm() -> RobotModel:
    """The arm with its foot at the world's origin: q (9,) is the arm (7), then the fingers (2).

    Raises:
        FileNotFoundError: pybullet_data, which has the Panda's meshes, is not installed.
    """
    root = ET.Element("robot", name="panda_arm")
    root.append(ET.Element("link", name="world"))
    mount = ET.SubElement(root, "joint", name="panda_mount", type="fixed")
    ET.SubElement(mount, "parent", link="world")
    ET.SubElement(mount, "child", link="panda_link0")
    root.extend(panda_elements())
    ET.indent(root)
    return RobotModel(
        name="panda_arm",
        groups=(arm_group(), finger_group()),
        links=LINKS,
        allowed_self_collisions=frozenset(
            (a, b) for a, b in ALLOWED_SELF_COLLISIONS if a in LINKS and b in LINKS
        ),
        fingers=FINGERS,
        palm="panda_hand",
        p_HT=p_HT,
        urdf='<?xml version="1.0"?>\n' + ET.tostring(root, encoding="unicode") + "\n",
        ik=arm_ik,
        sphere_excess=PANDA_EXCESS,
    )


def arm_ik(X_AT: Array, free: Array) -> Array:
    """Closed-form inverse kinematics of the grasp centre T.

    Args:
        X_AT: pose of T, unturned against the hand, in ``panda_link0`` (4, 4).
        free: values of joint 7 to try, rad (m,).

    Returns:
        All configurations within the real limits (k, 7), rad.
    """
    X_FT = X_FH @ transform(translation=p_HT)
    return inverse_batch(X_AT @ inverse(X_FT), free).q


def arm_group() -> JointGroup:
    """The seven joints, with the real arm's limits."""
    return JointGroup(
        name="arm",
        joints=JOINTS,
        units=("rad",) * 7,
        lower=LIMITS.lower,
        upper=LIMITS.upper,
        velocity=LIMITS.velocity,
        acceleration=LIMITS.acceleration,
        jerk=LIMITS.jerk,
    )


def finger_group() -> JointGroup:
    """Velocity as in the URDF. Franka publishes neither acceleration nor jerk: these are ours.

    They reach full speed in 0.15 s, which is slow enough for position control to follow.
    """
    return JointGroup(
        name="fingers",
        joints=("panda_finger_joint1", "panda_finger_joint2"),
        units=("m", "m"),
        lower=frozen([0.0, 0.0]),
        upper=frozen([FINGER_STROKE] * 2),
        velocity=frozen([0.2, 0.2]),
        acceleration=frozen([2.0, 2.0]),
        jerk=frozen([40.0, 40.0]),
    )
