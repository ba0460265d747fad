"""Runs Motions and says what is seen after each: in a simulator, in files, or on an arm of yours.

- ``executor``: the interface
- ``physics``: under PyBullet's dynamics; ``physics_world``: the scene and the robot in it;
  ``stepper``, ``gripper``, ``guards``, ``sensing``: what it is made of
- ``kinematic``: sets joint states over time
- ``files``: motions as files for a real arm; ``files_readme``: what it tells its reader
- ``deviations``: what differs between what is and what was to be
- ``noise``: what is not as the scene says; ``standing``: whether an item stands somewhere
- ``faults``: what goes wrong on purpose (``fault_spec``, ``fault``, ``fault_items``,
  ``fault_friction``, ``fault_base``)
- ``recorder``: collects the Log

What judges a Log stands apart, in ``galley.validation``.
"""
