"""Collision checking in three worlds: the kernel plans and proves, Drake audits, and PyBullet
validates the execution.

- ``checker``: the ``Checker`` protocol; pairs of names
- ``scene_kernel``: a scene with a robot; gives a State's ``CollisionWorld``
- ``collision_world``: a robot among solids; gives a joint group's ``View``; ``solids``,
  ``moving_bodies``: fixed and moving bodies
- ``view``: checks, proofs and distances for one joint group; ``view_tables``: the arrays that the
  views of a group share
- ``kernel/``: the compiled functions
- ``backends/``: the same scene in PyBullet and in Drake
- ``scene_check``: refuses a scene whose start is in collision or beyond the joint limits
"""
