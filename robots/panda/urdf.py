"""URDF elements of the Panda and of its wheeled base, and the masses of its links.

Links and joints are those of ``pybullet_data``'s URDF. Its masses are plausible, but all moments of
inertia are 0.1 kg m^2, far too large for wrist and hand: joint 7 at its limits would need 3.6 N m,
and really needs 0.1. ``identified`` has figures that were identified on a real arm.

Their source: C. Gaz, M. Cognetti, A. Oliva, P. Robuffo Giordano, A. De Luca, "Dynamic
identification of the Franka Emika Panda robot with retrieval of feasible parameters using
penalty-based optimization", IEEE Robotics and Automation Letters, 2019. Identified on one arm, from
the outside: only sums that show in the torques are known well, single links' figures are one
feasible choice. Links' centres and moments are read as the manufacturer's ROS package
(``franka_ros``, file ``inertial.yaml``) reads them; the hand's and fingers' figures are from there.

The base has three joints, a chassis on four wheels, and a column for the arm. Frames: B the
base (on the floor under the middle of the chassis, x forwards; the link ``chassis`` has this
frame), A the arm's ``panda_link0``.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path

from galley.domain.scene.base_spec import MobileBaseSpec
from galley.robots.files import pybullet_data_file
from galley.robots.inertials import Inertial
from galley.robots.panda.ik import LIMITS
from galley.robots.panda.kinematics import JOINTS

_DROPPED = ("panda_grasptarget", "panda_grasptarget_hand")  # a frame without shape; see p_HT
# Link; mass, centre and moments of ``Inertial``.
_IDENTIFIED = """
link0 0.629769 -0.041018 -0.00014 0.049974 0.00315 0.00388 0.004285 8.2904e-07 0.00015 8.2299e-06
link1 4.970684 0.003875 0.002081 -0.04762 0.70337 0.70661 0.009117 -0.000139 0.006772 0.019169
link2 0.646926 -0.003141 -0.02872 0.003495 0.007962 0.02811 0.025995 -0.003925 0.010254 0.000704
link3 3.228604 0.027518 0.039252 -0.066502 0.037242 0.036155 0.01083 -0.004761 -0.011396 -0.012805
link4 3.587895 -0.05317 0.104419 0.027454 0.025853 0.019552 0.028323 0.007796 -0.001332 0.008641
link5 1.225946 -0.011953 0.041065 -0.038437 0.035549 0.029474 0.008627 -0.002117 -0.004037 0.000229
link6 1.666555 0.060149 -0.014117 -0.010517 0.001964 0.004354 0.005433 0.000109 -0.001158 0.000341
link7 0.735522 0.010517 -0.004252 0.061597 0.012516 0.010027 0.004815 -0.000428 -0.001196 -0.000741
hand 0.73 -0.01 0.0 0.03 0.001 0.0025 0.0017 0.0 0.0 0.0
leftfinger 0.015 0.0 0.0 0.0 2.375e-06 2.375e-06 7.5e-07 0.0 0.0 0.0
rightfinger 0.015 0.0 0.0 0.0 2.375e-06 2.375e-06 7.5e-07 0.0 0.0 0.0
"""


def panda_folder() -> Path:
    """The folder with ``panda.urdf`` and its meshes.

    Raises:
        FileNotFoundError: pybullet_data is not installed, or has no Panda.
    """
    return pybullet_data_file("franka_panda/panda.urdf").parent


def panda_elements() -> list[ET.Element]:
    """Links and joints from ``panda_link0`` to the fingers, adapted for planning.

    Changes against the file: the real arm's position limits replace the wider hard limits; mesh
    paths are absolute ``file://`` ones, which both PyBullet and Drake accept; the fingers don't
    mimic each other, since both are in q; they have no soft contact, through which a held item
    would creep (``execution`` gives them friction); ``panda_link8`` has no inertia, since it has no
    mass; ``panda_grasptarget`` is left out.
    """
    folder = panda_folder()
    root = ET.parse(folder / "panda.urdf").getroot()
    elements = [element for element in root if element.get("name") not in _DROPPED]
    for element in elements:
        for mesh in element.iter("mesh"):
            mesh.set(
                "filename", mesh.get("filename", "").replace("package://", f"file://{folder}/")
            )
        for visual in element.iter("visual"):
            _drop_idle_material(visual)
        for collision in element.iter("collision"):
            _remove(collision, "material")
        _remove(element, "safety_controller")
        _remove(element, "contact")
        _remove(element, "mimic")
        if element.get("name") == "panda_link8":
            for inertia in element.iter("inertia"):
                for axis in ("ixx", "iyy", "izz"):
                    inertia.set(axis, "0")
    _set_limits(elements)
    return elements


def _set_limits(elements: list[ET.Element]) -> None:
    """Write the real arm's position and velocity limits into its seven joints."""
    joints = {element.get("name"): element for element in elements if element.tag == "joint"}
    for k, name in enumerate(JOINTS):
        limit = joints[name].find("limit")
        assert limit is not None, f"{name} has no <limit> in panda.urdf"
        limit.set("lower", repr(float(LIMITS.lower[k])))
        limit.set("upper", repr(float(LIMITS.upper[k])))
        limit.set("velocity", repr(float(LIMITS.velocity[k])))


def _drop_idle_material(visual: ET.Element) -> None:
    """Remove the material of meshes with colours of their own: Drake would warn."""
    for mesh in visual.iter("mesh"):
        file = Path(mesh.get("filename", "").removeprefix("file://"))
        if file.with_suffix(".mtl").is_file():
            _remove(visual, "material")


def _remove(element: ET.Element, tag: str) -> None:
    """Removes every child called ``tag``."""
    for child in element.findall(tag):
        element.remove(child)


def identified() -> dict[str, Inertial]:
    """Mass, centre and moments by link, as identified on a real arm."""
    found = {}
    for line in _IDENTIFIED.split("\n")[1:-1]:
        name, *words = line.split()
        mass, *figures = map(float, words)
        found[f"panda_{name}"] = Inertial(mass, tuple(figures[:3]), tuple(figures[3:]))
    return found


Vector = Sequence[float]

# Colours (rgba). URDF names each one once, on its first use.
_DARK = ("base_dark", "0.17 0.19 0.22 1")
_DECK = ("base_deck", "0.33 0.36 0.40 1")
_LIGHT = ("base_light", "0.86 0.87 0.88 1")
_STRIPE = ("base_stripe", "0.98 0.55 0.09 1")
_TYRE = ("base_tyre", "0.06 0.06 0.07 1")
_LAMP = ("base_lamp", "0.95 0.97 1.00 1")

_CHASSIS_MASS = 60.0  # kg; ours: enough to carry an arm of 18 kg without tipping over
_COLUMN_MASS = 8.0  # kg
_CARRIER_MASS = 0.1  # kg, of the two links between the base's joints, which have no shape
_EFFORT = (1000.0, 1000.0, 500.0)  # N, N, N m


def base_elements(spec: MobileBaseSpec) -> list[ET.Element]:
    """Links and joints from ``world`` to the fixed joint that carries ``panda_link0``."""
    axes = ("1 0 0", "0 1 0", "0 0 1")
    chain = ("world", "base_x_carrier", "base_y_carrier", "chassis")
    elements = [ET.Element("link", name="world")]
    for k, name in enumerate(spec.joints):
        if k < 2:
            elements.append(_link(chain[k + 1], _CARRIER_MASS, (0, 0, 0), (0.1, 0.1, 0.1)))
        else:
            elements.append(_chassis(spec))
        joint = _joint(name, "revolute" if k == 2 else "prismatic", chain[k], chain[k + 1])
        ET.SubElement(joint, "axis", xyz=axes[k])
        ET.SubElement(
            joint,
            "limit",
            lower=repr(spec.lower[k]),
            upper=repr(spec.upper[k]),
            velocity=repr(spec.velocity[k]),
            effort=repr(_EFFORT[k]),
        )
        elements.append(joint)
    top = spec.size[2]
    x, y, z = spec.p_BA
    elements.append(_column(spec))
    elements.append(_joint("column_mount", "fixed", "chassis", "column", (x, y, top)))
    elements.append(_joint("panda_mount", "fixed", "column", "panda_link0", (0, 0, z - top)))
    return elements


def _chassis(spec: MobileBaseSpec) -> ET.Element:
    """The chassis: one collision box; a body with wheels, within its footprint, to look at."""
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
    """The column, its frame on the chassis' lid under ``panda_link0``, and the arm's plate."""
    height = spec.p_BA[2] - spec.size[2]
    plate = spec.plate
    shaft = (spec.column[0], spec.column[1], height - plate[2])
    # link0's foot reaches further back than forward of its axis; the column stands under its
    # middle.
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
    name: str, kind: str, parent: str, child: str, origin: Vector = (0.0, 0.0, 0.0)
) -> ET.Element:
    """A joint whose child frame stands at ``origin`` in the parent's, unturned."""
    joint = ET.Element("joint", name=name, type=kind)
    ET.SubElement(joint, "origin", xyz=_text(origin), rpy="0 0 0")
    ET.SubElement(joint, "parent", link=parent)
    ET.SubElement(joint, "child", link=child)
    return joint


def _add(
    link: ET.Element,
    role: str,
    shape: ET.Element,
    origin: Vector,
    colour: tuple[str, str] | None = None,
    rpy: Vector = (0.0, 0.0, 0.0),
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
    """Numbers as URDF writes them."""
    return " ".join(repr(float(value)) for value in vector)
