"""URDF elements of the Panda, and the masses of its links.

Links and joints are those of ``pybullet_data``'s URDF. Its masses are plausible, but all moments of
inertia are 0.1 kg m^2, far too large for wrist and hand: joint 7 at its limits would need 3.6 N m,
while the real one needs 0.1. ``identified`` has figures that were identified on a real arm.

Their source: C. Gaz, M. Cognetti, A. Oliva, P. Robuffo Giordano, A. De Luca, "Dynamic
identification of the Franka Emika Panda robot with retrieval of feasible parameters using
penalty-based optimization", IEEE Robotics and Automation Letters, 2019. They were identified on one
arm from its torques: only sums that show in the torques are known well, and the figures of single
links are one feasible choice. Links' centres and moments are read as in the manufacturer's ROS
package (``franka_ros``, file ``inertial.yaml``), which also has the figures of hand and fingers.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

from galley.robots.base_urdf import drop
from galley.robots.files import pybullet_data_file
from galley.robots.inertials import Inertial
from galley.robots.panda.ik import LIMITS
from galley.robots.panda.kinematics import JOINTS

_DROPPED = ("panda_grasptarget", "panda_grasptarget_hand")  # a frame without shape; see p_HT
# In each line a link, then its mass, centre and moments as in ``Inertial``.
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
            drop(collision, "material")
        for tag in ("safety_controller", "contact", "mimic"):
            drop(element, tag)
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
        for key in ("lower", "upper", "velocity"):
            limit.set(key, repr(float(getattr(LIMITS, key)[k])))


def _drop_idle_material(visual: ET.Element) -> None:
    """Remove the material of meshes with colours of their own: Drake would warn."""
    for mesh in visual.iter("mesh"):
        file = Path(mesh.get("filename", "").removeprefix("file://"))
        if file.with_suffix(".mtl").is_file():
            drop(visual, "material")


def identified() -> dict[str, Inertial]:
    """Mass, centre and moments by link, as identified on a real arm."""
    inertials = {}
    for line in _IDENTIFIED.split("\n")[1:-1]:
        name, *words = line.split()
        mass, *figures = map(float, words)
        inertials[f"panda_{name}"] = Inertial(mass, tuple(figures[:3]), tuple(figures[3:]))
    return inertials
