"""A scene and a robot in PyBullet and Drake.

- ``urdf``: the scene as URDF, which both load
- ``pybullet_world``: states and contacts in PyBullet; ``bullet`` imports it silently
- ``drake_world``: the same in Drake
- ``numeric_ik``: inverse kinematics of any arm
"""
