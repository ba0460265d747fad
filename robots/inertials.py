"""Masses and moments of inertia of a robot's links, if better ones are known than its URDF's."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping
from typing import NamedTuple

_MOMENTS = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")


class Inertial(NamedTuple):
    """Mass, centre and moments of inertia of a link.

    Attributes:
        mass: kg.
        centre: centre of mass in the link's frame (3,), m.
        moments: moments of inertia about that centre, along the link's axes: xx, yy, zz, xy, xz,
            yz (6,), kg m^2.
    """

    mass: float
    centre: tuple[float, ...]
    moments: tuple[float, ...]


def with_inertials(urdf: str, inertials: Mapping[str, Inertial]) -> str:
    """The URDF text with other masses and moments for some links.

    Links without inertial data get almost no mass if a joint moves them, and none if they are
    fixed: for missing data an engine assumes 1 kg, or can't move the link.

    Args:
        urdf: text.
        inertials: the data by the links' names; other links keep theirs.
    """
    root = ET.fromstring(urdf)
    moved = {e.get("link"): joint for joint in root.iter("joint") for e in joint.findall("child")}
    for link in root.iter("link"):
        name, old = link.get("name", ""), link.findall("inertial")
        own = inertials.get(name)
        if own is None and not old and name in moved:
            own = _NOTHING if moved[name].get("type") == "fixed" else _NEXT_TO_NOTHING
        if own is None:
            continue
        for element in old:
            link.remove(element)
        inertial = ET.SubElement(link, "inertial")
        ET.SubElement(inertial, "origin", xyz=" ".join(map(repr, own.centre)), rpy="0 0 0")
        ET.SubElement(inertial, "mass", value=repr(own.mass))
        moments = map(repr, own.moments)
        ET.SubElement(inertial, "inertia", dict(zip(_MOMENTS, moments, strict=True)))
    return ET.tostring(root, encoding="unicode")


_NOTHING = Inertial(0.0, (0.0,) * 3, (0.0,) * 6)
_NEXT_TO_NOTHING = Inertial(1e-3, (0.0,) * 3, (1e-6,) * 3 + (0.0,) * 3)
