"""Robot models: joints, links, kinematics and collision shapes, without a physics engine.

- ``model``: RobotModel, which all others use; ``kinematics``: the interface of an arm's kinematics
- ``panda/``: the Panda, fixed and mobile; ``urdf_arm``: any fixed arm; ``iiwa``: an example
- ``chain/``: kinematics of any arm on a base
- ``assembly``: the model of a robot file; ``draft``: a first robot file for a URDF
- ``catalog``: the model of a scene's robot; ``inertials``: masses other than the URDF's
- ``urdf_reader``, ``urdf_checks``, ``urdf_prepare``: reads, checks and prepares URDF files
- ``meshes``: converts mesh files, and cuts meshes into convex parts
- ``spheres/``: spheres that cover links; ``collision_model``: a robot's hulls, spheres and solids
- ``files``: finds files of pybullet_data and of packages; ``base_urdf``: the base under an arm
- ``gripper``: the measures of a gripper from its URDF
"""

from importlib import import_module
from typing import TYPE_CHECKING

from galley.robots.model import RobotModel
from galley.robots.panda.description import panda_arm

if TYPE_CHECKING:
    from galley.robots.panda.models import mobile_panda

__all__ = ["RobotModel", "mobile_panda", "panda_arm"]


def __getattr__(name: str) -> object:
    """``mobile_panda``, imported late, since it imports kinematics: validation must not."""
    if name != "mobile_panda":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module("galley.robots.panda.models").mobile_panda
