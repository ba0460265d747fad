"""Kinematics: what a robot is, where its links are, which joints reach a pose.

- ``model``: what a robot is to everyone else: joint groups with limits, links, URDF
- ``tree``, ``link_shapes``, ``hull``, ``covering``: any URDF as joints and covering spheres;
  ``collision_model`` puts them together, ``model_store`` and ``covering_store`` keep them
- ``urdf_arm``: any arm; ``panda_arm``, ``iiwa``: two of them
- ``panda``: the Panda's forward kinematics and its closed-form inverse, compiled;
  ``panda_ik``: its figures and the derivation; ``panda_reach``: the bound that proves a pose
  out of reach
- ``panda_inertials``: what the Panda's links weigh, as identified on a real arm
- ``base_urdf``: the wheeled base, from ``domain.base_spec``; ``panda_urdf``: the arm on it
- ``mobile_panda``: the whole robot; ``kinematics``: where its links are
- ``travel``: bounds on how far its points move; ``self_collisions``: links never checked
  against each other

Nothing here imports a physics engine.
"""

from galley.domain.base_spec import MobileBaseSpec
from galley.robots.mobile_panda import mobile_panda
from galley.robots.model import JointGroup, RobotModel

__all__ = ["JointGroup", "MobileBaseSpec", "RobotModel", "mobile_panda"]
