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

    Without ``inertials``, the text as it is.
    """
    if not inertials:
        return urdf
    root = ET.fromstring(urdf)
    for link in root.iter("link"):
        own = inertials.get(link.get("name", ""))
        if own is None:
            continue
        for old in link.findall("inertial"):
            link.remove(old)
        inertial = ET.SubElement(link, "inertial")
        ET.SubElement(inertial, "origin", xyz=" ".join(map(repr, own.centre)), rpy="0 0 0")
        ET.SubElement(inertial, "mass", value=repr(own.mass))
        moments = map(repr, own.moments)
        ET.SubElement(inertial, "inertia", dict(zip(_MOMENTS, moments, strict=True)))
    return ET.tostring(root, encoding="unicode")
