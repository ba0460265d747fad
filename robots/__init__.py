"""Kinematics: what a robot is, where its links are, which joints reach a pose.

- ``model``: what a robot is to everyone else: joint groups with limits, links, URDF
- ``urdf_reader``, ``meshes``: any URDF as a tree of joints, link shapes and convex hulls
- ``panda/``: the Panda, on its foot and on wheels; ``urdf_arm``: any arm; ``iiwa``: one of them
- ``spheres/``: spheres that cover links; ``collision_model``: a whole robot of them
- ``files``: those of pybullet_data, and those kept from run to run

Nothing here imports a physics engine.
"""

from galley.domain.scene.base_spec import MobileBaseSpec
from galley.robots.model import JointGroup, RobotModel
from galley.robots.panda.models import mobile_panda, panda_arm

__all__ = ["JointGroup", "MobileBaseSpec", "RobotModel", "mobile_panda", "panda_arm"]
