"""A scene and a robot in other people's engines.

- ``urdf``: the scene as URDF, the one source that both load
- ``pybullet_world``: states and contacts in PyBullet; ``bullet`` imports it without its greeting
- ``drake_world``: the same in Drake; ``numeric_ik``: Drake's inverse kinematics
"""
