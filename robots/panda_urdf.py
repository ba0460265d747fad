"""The Panda's links and joints as URDF elements, from the copy that ``pybullet_data`` ships."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from importlib.util import find_spec
from pathlib import Path

from galley.robots.panda import JOINTS, LIMITS

_DROPPED = ("panda_grasptarget", "panda_grasptarget_hand")  # a frame without shape: p_HT says it


def panda_folder() -> Path:
    """The folder with ``panda.urdf`` and its meshes; found without importing PyBullet.

    Raises:
        FileNotFoundError: pybullet_data is not installed, or has no Panda.
    """
    spec = find_spec("pybullet_data")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        folder = Path(place).resolve() / "franka_panda"
        if (folder / "panda.urdf").is_file():
            return folder
    raise FileNotFoundError(
        "franka_panda/panda.urdf: the robot's meshes come with the package pybullet_data,"
        " which was not found; install pybullet"
    )


def panda_elements() -> list[ET.Element]:
    """Links and joints from ``panda_link0`` to the fingers, made fit for planning.

    Changed against the file: the real arm's position limits take the place of the wider hard ones;
    meshes stand as ``file://`` and an absolute path, the one form that PyBullet and Drake both find
    (Drake refuses a bare path in URDF text); the fingers no longer mimic one another, since both
    are in q; the fingers' soft contact goes, through which a held item would creep, and
    ``simulation`` gives them friction; ``panda_link8`` loses its inertia, since it has no mass;
    ``panda_grasptarget`` is left out.
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
    """Writes the real arm's position and velocity limits into its seven joints."""
    joints = {element.get("name"): element for element in elements if element.tag == "joint"}
    for k, name in enumerate(JOINTS):
        limit = joints[name].find("limit")
        assert limit is not None, f"{name} has no <limit> in panda.urdf"
        limit.set("lower", repr(float(LIMITS.lower[k])))
        limit.set("upper", repr(float(LIMITS.upper[k])))
        limit.set("velocity", repr(float(LIMITS.velocity[k])))


def _drop_idle_material(visual: ET.Element) -> None:
    """Removes the material of a mesh that brings its own colours: Drake would warn about each."""
    for mesh in visual.iter("mesh"):
        file = Path(mesh.get("filename", "").removeprefix("file://"))
        if file.with_suffix(".mtl").is_file():
            _remove(visual, "material")


def _remove(element: ET.Element, tag: str) -> None:
    """Removes every child called ``tag``."""
    for child in element.findall(tag):
        element.remove(child)
