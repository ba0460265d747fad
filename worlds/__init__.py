"""One scene, three worlds behind one ``Checker``: the kernel plans and proves, Drake audits, and
PyBullet validates what was executed.

- ``checker``: what every world answers; names of pairs in contact
- ``collision_world``: a robot among solids, for the compiled kernel; ``view``: one joint group of
  it; ``solids``, ``moving_bodies``: fixed and moving bodies; ``kernel/``: the compiled functions
- ``scene_kernel``: a scene's States as such worlds
- ``engines/``: the same scene in PyBullet and in Drake
- ``scene_check``: is the start free of collision, and within limits?
"""
