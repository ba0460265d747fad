"""Closed-loop execution: run a motion, observe, compare, and continue or replan.

- ``executor``: the interface to what moves, and how a Log is recorded; ``physics/``: under
  PyBullet's dynamics; ``kinematic``: sets joint states over time; ``files``: for a real arm
- ``deviations``: differences between the expected and the observed State
- ``monitor``: runs a MotionPlan motion by motion, and recovers
- ``recovery/``: resumes the plan or replans where the world is not as planned
- ``disturbance/``: noise and faults, on purpose

What judges a Log is separate: ``galley.validation``.
"""
