"""The mobile Panda: base, arm and fingers as one multibody, for every world that loads it."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from galley.domain.base_spec import MobileBaseSpec
from galley.domain.frames import frozen
from galley.robots.base_urdf import base_elements
from galley.robots.model import JointGroup, RobotModel
from galley.robots.panda import p_HT
from galley.robots.panda_arm import FINGERS, PANDA_EXCESS, arm_group, arm_ik, finger_group
from galley.robots.panda_urdf import panda_elements
from galley.robots.self_collisions import ALLOWED_SELF_COLLISIONS

__all__ = ["FINGERS", "LINKS", "MobileBaseSpec", "mobile_panda", "mobile_panda_urdf"]

LINKS = (
    "chassis",
    "column",
    *(f"panda_link{k}" for k in range(8)),
    "panda_hand",
    *FINGERS,
)
"""The links with collision geometry, from the floor to the fingertips."""


def mobile_panda(spec: MobileBaseSpec | None = None) -> RobotModel:
    """The robot: base (3), arm (7) and fingers (2), q (12,) in this order.

    Args:
        spec: the base's measures and limits; the default kitchen robot if omitted.

    Returns:
        The model, with its URDF text. The same text loads in PyBullet (from a file) and in Drake.

    Raises:
        FileNotFoundError: pybullet_data, which has the Panda's meshes, is not installed.
    """
    spec = spec or MobileBaseSpec()
    return RobotModel(
        name="mobile_panda",
        groups=(_base(spec), arm_group(), finger_group()),
        links=LINKS,
        allowed_self_collisions=ALLOWED_SELF_COLLISIONS,
        fingers=FINGERS,
        palm="panda_hand",
        p_HT=p_HT,
        urdf=mobile_panda_urdf(spec),
        ik=arm_ik,
        sphere_excess=PANDA_EXCESS,
    )


def mobile_panda_urdf(spec: MobileBaseSpec) -> str:
    """The whole multibody as URDF text, meshes by absolute path."""
    root = ET.Element("robot", name="mobile_panda")
    root.extend(base_elements(spec))
    root.extend(panda_elements())
    ET.indent(root)
    return '<?xml version="1.0"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _base(spec: MobileBaseSpec) -> JointGroup:
    return JointGroup(
        name="base",
        joints=spec.joints,
        units=("m", "m", "rad"),
        lower=frozen(spec.lower),
        upper=frozen(spec.upper),
        velocity=frozen(spec.velocity),
        acceleration=frozen(spec.acceleration),
        jerk=frozen(spec.jerk),
    )
