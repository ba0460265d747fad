"""Runs Motions and says what is seen after each: in a simulator, in files, or on an arm of yours.

- ``executor``: the interface, and how a Log is collected
- ``physics``: under PyBullet's dynamics, with guards; ``physics_world``: the scene and the robot
  in it; ``stepper``: its steps, and what is seen after them
- ``kinematic``: sets joint states over time
- ``files``: motions as files for a real arm
- ``deviations``: what differs between what is and what was to be
- ``noise``: what is not as the scene says; ``standing``: whether an item stands somewhere
- ``faults``: what goes wrong on purpose; ``fault``: how it is asked for, and what a fault is;
  ``fault_kinds``: what each kind does

What judges a Log stands apart, in ``galley.validation``.
"""
