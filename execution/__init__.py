"""Runs a plan with eyes open: execute a motion, look, compare, and go on or plan anew.

- ``executor``: the interface to what moves, and how a Log is collected; ``physics/``: under
  PyBullet's dynamics; ``kinematic``: sets joint states over time; ``files``: for a real arm
- ``deviations``: what differs between what is and what was to be
- ``loop``: motion by motion
- ``recovery/``: what to do where the world is not as planned
- ``disturbance/``: noise and faults, on purpose

What judges a Log stands apart, in ``galley.validation``.
"""
