"""Robot models: joints, links, kinematics and collision shapes, without a physics engine.

- ``model``: RobotModel, which all others use; ``kinematics``: what skills ask of an arm on a base
- ``panda/``: the Panda, fixed and mobile; ``urdf_arm``: any fixed arm; ``iiwa``: an example
- ``catalog``: the model of a scene's robot
- ``urdf_reader``, ``meshes``: reads URDF and mesh files
- ``spheres/``: spheres that cover links; ``collision_model``: a robot made of them
- ``files``: files of pybullet_data and of the user's cache
"""

from galley.domain.scene.base_spec import MobileBaseSpec
from galley.robots.model import JointGroup, RobotModel
from galley.robots.panda.models import mobile_panda, panda_arm

__all__ = ["JointGroup", "MobileBaseSpec", "RobotModel", "mobile_panda", "panda_arm"]
