"""Collision checking in three worlds: the kernel plans and proves, Drake audits, and PyBullet
validates the execution.

- ``checker``: the ``Checker`` protocol; pairs of names
- ``scene_kernel``: a scene with a robot; gives a State's ``CollisionWorld``
- ``collision_world``: a robot among solids; gives a joint group's ``View``; ``solids``,
  ``moving_bodies``: fixed and moving bodies
- ``view``: checks, proofs and distances for one joint group; ``view_tables``: what its views share
- ``kernel/``: the compiled functions
- ``backends/``: the same scene in PyBullet and in Drake
- ``scene_check``: is the start free of collision and within limits?
"""
