"""Judges a run from its Log and the Scene alone. Shares no code with planning or execution.

- ``judge``: ``validate_run``, all checks and one verdict
- ``verdict``: the result; ``tolerances``: every tolerance, and why
- ``log_format``: is the log well formed, and of this scene?
- ``replay_world``: scene and robot in PyBullet, built from primitive shapes; ``replay``: checks the
  contacts of every executed state in it; ``poses``: where furniture is
- ``sample_masks``: samples with external pushes or finger contacts, motions before a recovery
- ``joints``: positions, velocities, accelerations, torques, and tracking of commands
- ``mechanics/``: support, contact forces, slip and drift of items, rest at the end
- ``goal``: evaluates PDDL's formulas and predicates in the final geometry

Of Galley it imports ``domain``, the robot's own data and the name under which PyBullet is imported.
"""

from galley.validation.goal import Goal
from galley.validation.judge import validate_run
from galley.validation.verdict import Verdict

__all__ = ["Goal", "Verdict", "validate_run"]
