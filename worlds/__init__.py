"""One scene, several worlds behind one ``Checker``: PyBullet plans and validates, Drake audits.

- ``checker``: what every world answers; names of pairs in contact
- ``urdf``, ``textured_box``: the scene as URDF, the one source that both engines load
- ``pybullet_world``: states and contacts in PyBullet; ``bullet`` imports it without its greeting
- ``drake_world``: the same in Drake
- ``scene_check``: is the start free of collision, and within limits?
- ``pybullet_camera``: pictures where no graphics library is
"""
