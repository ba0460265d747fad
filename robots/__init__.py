"""Kinematics: what a robot is, where its links are, which joints reach a pose.

- ``model``: what a robot is to everyone else: joint groups with limits, links, URDF
- ``urdf_reader``, ``meshes``: any URDF as a tree of joints, link shapes and convex hulls
- ``covering``: spheres that cover a hull; ``covering_store`` keeps them;
  ``collision_model``: a whole robot of them, on the frames of its tree
- ``urdf_arm``: any arm; ``iiwa``: one of them
- ``panda``: the Panda's forward kinematics and its closed-form inverse, compiled, and a
  bound that proves a pose out of reach; ``panda_ik``: its figures and the derivation
- ``panda_models``: the Panda on its foot and on wheels, and which of its links are never checked
  against each other; ``panda_urdf``: its links, and what they weigh; ``base_urdf``: the wheels
- ``kinematics``: where the mobile Panda's hand is, and bounds on how far its points travel
- ``files``: those of pybullet_data, and those kept from run to run

Nothing here imports a physics engine.
"""

from galley.domain.base_spec import MobileBaseSpec
from galley.robots.model import JointGroup, RobotModel
from galley.robots.panda_models import mobile_panda, panda_arm

__all__ = ["JointGroup", "MobileBaseSpec", "RobotModel", "mobile_panda", "panda_arm"]
