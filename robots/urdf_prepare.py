"""Makes a checked URDF ready for every engine: finds and cuts meshes, fixes joints outside q."""

from __future__ import annotations

import copy
import xml.etree.ElementTree as ET
from collections.abc import Collection, Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np

from galley.domain.frames import Array, inverse, rotation_rpy, rpy, transform
from galley.domain.scene.robot_file import CONVEX_PARTS
from galley.robots.base_urdf import drop
from galley.robots.files import announced, find_package_file
from galley.robots.meshes import as_obj, parts_as_obj
from galley.robots.urdf_checks import leaders
from galley.robots.urdf_reader import MOVABLE, limit_of, naming, onto_axis, origin_of, ways

# Name of the link that stands for the world in every URDF that is made here.
WORLD = "world"

_NAMED = {"link": ("link", "parent", "child"), "joint": ("joint", "mimic")}
_SKIPPED = ("transmission", "gazebo", "ros2_control")  # joints by name, without limits


def prepare(
    root: ET.Element,
    path: Path | str,
    joints: Collection[str],
    convex_parts: int = CONVEX_PARTS,
    whole: Collection[str] = (),
    slack: float = 0.0,
    stand: Mapping[str, float] = MappingProxyType({}),
) -> None:
    """Changes a URDF from ``read_urdf`` in place.

    Joints that are not in q become fixed where they are held (``held_at``). Elements that no engine
    here reads are dropped. Meshes get absolute paths, and those of collision shapes are replaced by
    convex parts.

    Args:
        root: the URDF.
        path: of its file; relative mesh paths begin there.
        joints: names of the joints in q.
        convex_parts: most hulls for a mesh; see ``meshes``.
        whole: links whose meshes are not cut: one hull stands for each.
        slack: m by which a hull may be larger; see ``meshes.simplified``.
        stand: values (m or rad) at which joints outside q are held, if not as near to zero as
            their range allows.

    Raises:
        FileNotFoundError: a line for each mesh that does not exist.
        ValueError: a mesh can't be read.
    """
    for element in [e for e in root if e.tag in _SKIPPED]:
        root.remove(element)
    table = {e.get("name", ""): e for e in root.findall("joint")}
    held = {name: held_at(table, name, stand) for name in table if name not in joints}
    for name, element in table.items():
        for tag in ("safety_controller", "mimic", "calibration"):
            drop(element, tag)
        if name in held and element.get("type") != "fixed":
            _fix(element, held[name])
    _find_meshes(root, path)
    for link in announced(root.findall("link"), "meshes of the links"):
        for inertial in link.findall("inertial"):  # Drake refuses one without mass
            mass = inertial.find("mass")
            if mass is None or float(mass.get("value", 0.0)) <= 0.0:
                link.remove(inertial)
        with naming(f"{path}: link '{link.get('name')}'"):
            for collision in link.findall("collision"):
                most = 1 if link.get("name") in whole else convex_parts
                _cut_mesh(link, collision, most, slack)
            for mesh in link.iterfind("visual//mesh"):
                mesh.set("filename", f"file://{as_obj(mesh.get('filename', ''))}")


def held_at(
    table: dict[str, ET.Element], joint: str, stand: Mapping[str, float] = MappingProxyType({})
) -> float:
    """The value (m or rad) at which a joint outside q is held.

    It is the one that ``stand`` gives, or as near to zero as the joint's range allows. A joint that
    mimics another is where that one puts it.

    Args:
        table: <joint> elements by name.
        joint: name of the joint.
        stand: values of joints by name.
    """
    led = leaders(table, joint)
    first = table[led[-1][0] if led else joint]
    value = 0.0
    if first.get("type") in ("revolute", "prismatic"):
        value = float(np.clip(0.0, limit_of(first, "lower"), limit_of(first, "upper")))
    value = stand.get(str(first.get("name")), value)
    for _, mimic in reversed(led):
        value = float(mimic.get("multiplier", 1.0)) * value + float(mimic.get("offset", 0.0))
    return value


def _fix(joint: ET.Element, value: float) -> None:
    """Make a joint fixed where a value (m or rad) puts it."""
    if value and joint.get("type") in MOVABLE:
        slides = joint.get("type") == "prismatic"
        R = None if slides else rotation_rpy(0.0, 0.0, value)
        moved = transform(R, (0.0, 0.0, value) if slides else None)
        X_LJ = onto_axis(joint)
        X = origin_of(joint) @ X_LJ @ moved @ inverse(X_LJ)
        drop(joint, "origin")
        joint.append(origin_element(X))
    joint.set("type", "fixed")
    for tag in ("axis", "limit", "dynamics"):
        drop(joint, tag)


def origin_element(X: Array) -> ET.Element:
    """An <origin> for a pose (4, 4), whose numbers have all digits."""
    xyz, angles = (" ".join(map(repr, v.tolist())) for v in (X[:3, 3], rpy(X[:3, :3])))
    return ET.Element("origin", xyz=xyz, rpy=angles)


def fixed_joint(name: str, parent: str, child: str, X: Array) -> ET.Element:
    """A fixed <joint>, with the child link at X (4, 4) in the parent link."""
    joint = ET.Element("joint", name=name, type="fixed")
    joint.append(origin_element(X))
    ET.SubElement(joint, "parent", link=parent)
    ET.SubElement(joint, "child", link=child)
    return joint


def rename(root: ET.Element, kind: str, names: Mapping[str, str]) -> None:
    """Rename links or joints (``kind``: ``link`` or ``joint``), and every mention of them."""
    for element in root.iter():
        for key in ("name", kind):
            if element.tag in _NAMED[kind] and (name := element.get(key, "")) in names:
                element.set(key, names[name])


def foot_of(root: ET.Element) -> str:
    """The name of the root link; it is changed if it is ``world``, which stands for the world."""
    links = ways(root)
    foot = own = next(link for link, way in links.items() if not way)
    while foot == WORLD or (foot != own and foot in links):
        foot += "_0"
    rename(root, "link", {own: foot})
    return foot


def _find_meshes(root: ET.Element, path: Path | str) -> None:
    """Gives all meshes of links absolute paths; FileNotFoundError with a line for each missing."""
    missing = []
    for link in root.findall("link"):
        for mesh in link.iter("mesh"):
            name = mesh.get("filename", "")
            try:
                mesh.set("filename", str(find_package_file(name, path)))
            except FileNotFoundError as error:
                missing.append(f"{path}: link '{link.get('name')}': mesh '{name}': {error}")
    if missing:
        raise FileNotFoundError("\n".join(dict.fromkeys(missing)))


def _cut_mesh(link: ET.Element, collision: ET.Element, most: int, slack: float) -> None:
    """Replace the mesh of a <collision> by at most ``most`` convex parts, each in a copy."""
    mesh = collision.find("geometry/mesh")
    if mesh is None:
        return
    files = parts_as_obj(mesh.get("filename", ""), most, slack)
    at = list(link).index(collision)
    link.remove(collision)
    collision.attrib.pop("name", None)  # Drake refuses one name for several
    for k, file in enumerate(files):
        mesh.set("filename", f"file://{file}")
        link.insert(at + k, copy.deepcopy(collision))
