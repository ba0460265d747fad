"""Robot models: joints, links, kinematics and collision shapes, without a physics engine.

- ``model``: RobotModel, which all others use; ``kinematics``: what skills ask of an arm on a base
- ``panda/``: the Panda, fixed and mobile; ``urdf_arm``: any fixed arm; ``iiwa``: an example
- ``assembly``: the model of a robot file; ``draft``: a first robot file of a URDF
- ``catalog``: the model of a scene's robot; ``inertials``: masses other than the URDF's
- ``urdf_reader``, ``meshes``: reads URDF and mesh files, cuts meshes into convex parts
- ``spheres/``: spheres that cover links; ``collision_model``: a robot made of them
- ``files``: files of pybullet_data and of the user's cache
"""

from importlib import import_module
from typing import TYPE_CHECKING

from galley.robots.model import RobotModel
from galley.robots.panda.description import panda_arm

if TYPE_CHECKING:
    from galley.robots.panda.models import mobile_panda

__all__ = ["RobotModel", "mobile_panda", "panda_arm"]


def __getattr__(name: str) -> object:
    """``mobile_panda``, which brings kinematics along: validation is to do without."""
    if name != "mobile_panda":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module("galley.robots.panda.models").mobile_panda
