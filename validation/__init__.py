"""Judges a run from its Log and the Scene alone. Shares no code with planning or execution.

- ``judge``: ``validate_run``, all checks and one verdict
- ``verdict``: the result; ``tolerances``: every tolerance, and why
- ``log_format``: is the log well formed, complete, and of this scene?
- ``replay_world``: scene and robot in PyBullet, built from primitive shapes; ``replay``: looks for
  penetrations in every executed state; ``poses``: where furniture is
- ``forces``: recorded contact forces; ``joints``: limits of position, velocity, acceleration and
  torque, and tracking of commands; ``items``: slip in the hand, support, rest at the end
- ``sample_masks``: what a log says of its samples
- ``goal``: evaluates PDDL's formulas and predicates in the final geometry

Of Galley it imports ``domain``, the robot's own data and the name under which PyBullet is imported.
"""

from galley.validation.goal import Goal
from galley.validation.judge import validate_run
from galley.validation.verdict import Verdict

__all__ = ["Goal", "Verdict", "validate_run"]
