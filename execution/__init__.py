"""Closed-loop execution: run a motion, observe, compare, and continue or replan.

- ``executor``: the interface of an executor, and the recorder of a Log. Executors: ``physics/``
  under PyBullet's dynamics; ``kinematic`` sets joint states over time; ``files`` for a real arm
- ``deviations``: differences between the expected and the observed State
- ``monitor``: runs a MotionPlan motion by motion, and recovers from deviations
- ``recovery/``: resumes the plan or replans if the world is not as planned
- ``disturbance/``: noise and faults that are injected to test recovery

The validator, which judges a Log, is separate: ``galley.validation``.
"""
