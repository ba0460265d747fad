"""Judges a run from its Log and the Scene alone. Shares no code with planning or execution.

- ``judge``: ``validate_run``, every check and one verdict
- ``verdict``: what comes out; ``tolerances``: what is still right, and why
- ``usable``: is the log whole, and of this scene?
- ``stage``: the scene and the robot in PyBullet, built from primitive shapes; ``replay``: every
  executed state in it, and recorded contacts; ``poses``: where furniture is
- ``circumstances``: pushes from outside, mishaps after which was planned anew, windows of samples
- ``limits``: positions, velocities, accelerations, torques, and commands against positions
- ``items``: in the hand and loose; ``ending``: all at rest
- ``goal``: PDDL's formulas, and what their predicates mean in metres

Of Galley it imports ``domain``, the robot's own data and the name under which PyBullet is imported.
"""

from galley.validation.goal import Goal
from galley.validation.judge import validate_run
from galley.validation.verdict import GoalFact, Verdict, Violation

__all__ = ["Goal", "GoalFact", "Verdict", "Violation", "validate_run"]
