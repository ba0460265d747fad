"""URDF elements of a base under an arm: a wheeled one, or a stand without shape.

Three joints move it: ``base_x``, ``base_y``, ``base_heading``. A wheeled base is a chassis on four
wheels with a column for the arm. Frames: B the base (on the floor under the middle of the chassis,
x forwards; the link ``chassis`` has this frame), A the arm's foot.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Sequence

from galley.domain.frames import frozen
from galley.domain.scene.base_spec import MobileBaseSpec
from galley.robots.model import JointGroup

Vector = Sequence[float]
_ZERO = (0.0, 0.0, 0.0)
# The link that carries an arm without a base that drives.
STAND = "stand"

# Colours (rgba). URDF names each one once, on its first use.
_DARK = ("base_dark", "0.17 0.19 0.22 1")
_DECK = ("base_deck", "0.33 0.36 0.40 1")
_LIGHT = ("base_light", "0.86 0.87 0.88 1")
_STRIPE = ("base_stripe", "0.98 0.55 0.09 1")
_TYRE = ("base_tyre", "0.06 0.06 0.07 1")
_LAMP = ("base_lamp", "0.95 0.97 1.00 1")

_CHASSIS_MASS = 60.0  # kg; ours: enough to carry an arm of 18 kg without tipping over
_COLUMN_MASS = 8.0  # kg
_STAND_MASS = 1e6  # kg: so heavy that a stand does not give way
_CARRIER_MASS = 0.1  # kg, of the two links between the base's joints, which have no shape
_EFFORT = (1000.0, 1000.0, 500.0)  # N, N, N m, of the base's joints


def base_group(spec: MobileBaseSpec) -> JointGroup:
    """The group ``base``: x, y and heading, with the limits of the base's spec."""
    limits = (spec.lower, spec.upper, spec.velocity, spec.acceleration, spec.jerk)
    units, differential = ("m", "m", "rad"), spec.differential
    return JointGroup("base", spec.joints, units, *map(frozen, limits), differential=differential)


def base_elements(spec: MobileBaseSpec, foot: str, mount: str) -> list[ET.Element]:
    """Links and joints from ``world`` to the arm's ``foot``: chassis, column, joint ``mount``."""
    elements = _planar(spec, _chassis(spec))
    top = spec.size[2]
    x, y, z = spec.p_BA
    elements.append(_column(spec))
    elements.append(_joint("column_mount", "fixed", "chassis", "column", (x, y, top)))
    elements.append(_joint(mount, "fixed", "column", foot, (0, 0, z - top)))
    return elements


def stand_elements(
    spec: MobileBaseSpec, foot: str, xyz: Vector, rpy: Vector, drives: bool = False
) -> list[ET.Element]:
    """As ``base_elements``, for an arm that stands still or whose URDF has a base.

    The arm's foot is on a frame without shape.

    Args:
        spec: limits of the base's three joints.
        foot: name of the URDF's root link.
        xyz, rpy: where the foot stands on that frame, m and rad.
        drives: whether it is a base that drives.
    """
    mass = _CARRIER_MASS if drives else _STAND_MASS
    frame = _link(STAND, mass, (0, 0, 0), (1.0, 1.0, 1.0))
    return [*_planar(spec, frame), _joint(f"{foot}_mount", "fixed", STAND, foot, xyz, rpy)]


def _planar(spec: MobileBaseSpec, base: ET.Element) -> list[ET.Element]:
    """Links and joints from ``world`` over the base's three joints to its link."""
    axes = ("1 0 0", "0 1 0", "0 0 1")
    chain = ("world", "base_x_carrier", "base_y_carrier", str(base.get("name")))
    elements = [ET.Element("link", name="world")]
    for k, name in enumerate(spec.joints):
        carrier = _link(chain[k + 1], _CARRIER_MASS, (0, 0, 0), (0.1, 0.1, 0.1))
        elements.append(carrier if k < 2 else base)
        joint = _joint(name, "revolute" if k == 2 else "prismatic", chain[k], chain[k + 1])
        ET.SubElement(joint, "axis", xyz=axes[k])
        limits = {key: getattr(spec, key)[k] for key in ("lower", "upper", "velocity")}
        limits["effort"] = _EFFORT[k]
        ET.SubElement(joint, "limit", {key: repr(value) for key, value in limits.items()})
        elements.append(joint)
    return elements


def _chassis(spec: MobileBaseSpec) -> ET.Element:
    """The chassis: one collision box, and a body with wheels within its footprint to look at."""
    length, width, top = spec.size
    gap = spec.ground_gap
    middle = (0.0, 0.0, 0.5 * (gap + top))
    box = (length, width, top - gap)
    link = _link("chassis", _CHASSIS_MASS, middle, box)
    _add(link, "collision", _box(box), middle)

    radius, tread = 0.235 * top, 0.09 * width
    deck = 2.0 * radius + 0.012  # height of the deck's underside, just clear of the wheels

    def slab(low: float, high: float, inset: float, colour: tuple[str, str]) -> None:
        """A box over the footprint less ``inset`` on each side, from ``low`` to ``high``."""
        size = (length - 2 * inset, width - 2 * inset, high - low)
        _add(link, "visual", _box(size), (0, 0, 0.5 * (low + high)), colour)

    # The hull between the wheels, then the deck in layers: a stripe between two dark ones, a
    # lighter lid.
    low = gap + 0.03
    hull = (length - 0.03, width - 2.0 * tread - 0.03, deck - low)
    _add(link, "visual", _box(hull), (0, 0, 0.5 * (low + deck)), _DARK)
    stripe = deck + 0.55 * (top - deck)
    slab(deck, stripe, 0.003, _DARK)
    slab(stripe, stripe + 0.028, 0.0, _STRIPE)
    slab(stripe + 0.028, top - 0.018, 0.003, _DARK)
    slab(top - 0.018, top, 0.012, _DECK)

    for x in (-0.34 * length, 0.34 * length):
        for side in (-1.0, 1.0):
            y = side * (0.5 * width - 0.5 * tread - 0.004)
            _add_wheel(link, (x, y, radius), tread)
    # A scanner and two lamps show which side is the front.
    front = 0.5 * length
    height = 0.5 * (deck + stripe)
    _add(link, "visual", _box((0.004, 0.40 * width, 0.035)), (front - 0.002, 0, height), _TYRE)
    for side in (-1.0, 1.0):
        place = (front - 0.002, side * 0.36 * width, height)
        _add(link, "visual", _box((0.004, 0.10 * width, 0.030)), place, _LAMP)
    return link


def _add_wheel(link: ET.Element, hub: Vector, tread: float) -> None:
    """A wheel on the floor: its ``hub`` (3,) is as high as its radius, its axle lies along y."""
    half_turn = (0.5 * math.pi, 0.0, 0.0)  # a URDF cylinder stands along z
    _add(link, "visual", _cylinder(hub[2], tread), hub, _TYRE, half_turn)
    _add(link, "visual", _cylinder(0.55 * hub[2], tread + 0.004), hub, _LIGHT, half_turn)


def _column(spec: MobileBaseSpec) -> ET.Element:
    """The column, its frame on the chassis' lid under the arm's foot, and the arm's plate."""
    height = spec.p_BA[2] - spec.size[2]
    plate = spec.plate
    shaft = (spec.column[0], spec.column[1], height - plate[2])
    # A foot may reach further back than forward of its axis; the column stands under its middle.
    p_shaft = (spec.column_offset, 0.0, 0.5 * shaft[2])
    p_plate = (spec.column_offset, 0.0, height - 0.5 * plate[2])
    link = _link("column", _COLUMN_MASS, (spec.column_offset, 0.0, 0.5 * height), shaft)
    _add(link, "collision", _box(shaft), p_shaft)
    _add(link, "collision", _box(plate), p_plate)
    _add(link, "visual", _box(shaft), p_shaft, _LIGHT)
    _add(link, "visual", _box(plate), p_plate, _DECK)
    foot = (shaft[0] + 0.05, shaft[1] + 0.05, 0.012)
    _add(link, "visual", _box(foot), (spec.column_offset, 0.0, 0.006), _DECK)
    band = (shaft[0] + 0.002, shaft[1] + 0.002, 0.02)
    _add(link, "visual", _box(band), (spec.column_offset, 0.0, 0.86 * shaft[2]), _STRIPE)
    return link


def _link(name: str, mass: float, centre: Vector, box: Vector) -> ET.Element:
    """A link with the inertia of a uniform box (sides in metres) about its ``centre``."""
    link = ET.Element("link", name=name)
    inertial = ET.SubElement(link, "inertial")
    ET.SubElement(inertial, "origin", xyz=_text(centre), rpy="0 0 0")
    ET.SubElement(inertial, "mass", value=repr(mass))
    x, y, z = (side * side for side in box)
    moments = {"ixx": y + z, "iyy": x + z, "izz": x + y}
    inertia = {name: repr(mass / 12.0 * moment) for name, moment in moments.items()}
    ET.SubElement(inertial, "inertia", {"ixy": "0", "ixz": "0", "iyz": "0", **inertia})
    return link


def _joint(
    name: str, kind: str, parent: str, child: str, origin: Vector = _ZERO, rpy: Vector = _ZERO
) -> ET.Element:
    """A joint whose child frame stands at ``origin`` in the parent's, turned by ``rpy``."""
    joint = ET.Element("joint", name=name, type=kind)
    ET.SubElement(joint, "origin", xyz=_text(origin), rpy=_text(rpy) if any(rpy) else "0 0 0")
    ET.SubElement(joint, "parent", link=parent)
    ET.SubElement(joint, "child", link=child)
    return joint


def _add(
    link: ET.Element,
    role: str,
    shape: ET.Element,
    origin: Vector,
    colour: tuple[str, str] | None = None,
    rpy: Vector = _ZERO,
) -> None:
    """Adds a shape to ``link`` as its ``visual`` or ``collision``."""
    holder = ET.SubElement(link, role)
    ET.SubElement(holder, "origin", xyz=_text(origin), rpy=_text(rpy))
    ET.SubElement(holder, "geometry").append(shape)
    if colour is not None:
        material = ET.SubElement(holder, "material", name=colour[0])
        ET.SubElement(material, "color", rgba=colour[1])


def _box(size: Vector) -> ET.Element:
    return ET.Element("box", size=_text(size))


def _cylinder(radius: float, length: float) -> ET.Element:
    return ET.Element("cylinder", radius=repr(radius), length=repr(length))


def _text(vector: Vector) -> str:
    """Numbers as the text of a URDF's attribute."""
    return " ".join(repr(float(value)) for value in vector)


def drop(element: ET.Element, tag: str) -> None:
    """Remove every child called ``tag``."""
    for child in element.findall(tag):
        element.remove(child)
