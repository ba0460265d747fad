"""Masses and moments of inertia of a robot's links, where others are known than its URDF states."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping
from typing import NamedTuple

_MOMENTS = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")


class Inertial(NamedTuple):
    """A link as a rigid body.

    Attributes:
        mass: kg.
        centre: of mass, in the link's frame (3,), m.
        moments: about that centre, along the link's axes: xx, yy, zz, xy, xz, yz (6,), kg m^2.
    """

    mass: float
    centre: tuple[float, ...]
    moments: tuple[float, ...]


def with_inertials(urdf: str, inertials: Mapping[str, Inertial]) -> str:
    """The URDF text with the links in ``inertials`` (by name) as these say; the others keep theirs.

    A link without any is given next to none where a joint moves it, else none: an engine that reads
    none takes 1 kg, or can't move it.
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
        for each in old:
            link.remove(each)
        inertial = ET.SubElement(link, "inertial")
        ET.SubElement(inertial, "origin", xyz=" ".join(map(repr, own.centre)), rpy="0 0 0")
        ET.SubElement(inertial, "mass", value=repr(own.mass))
        moments = map(repr, own.moments)
        ET.SubElement(inertial, "inertia", dict(zip(_MOMENTS, moments, strict=True)))
    return ET.tostring(root, encoding="unicode")


_NOTHING = Inertial(0.0, (0.0,) * 3, (0.0,) * 6)
_NEXT_TO_NOTHING = Inertial(1e-3, (0.0,) * 3, (1e-6,) * 3 + (0.0,) * 3)
