"""The validator: judges a run from its Log and the Scene alone, independently of the planner.

- ``judge``: ``validate_run`` runs all checks and collects them in one verdict
- ``verdict``: the result; ``tolerances``: every tolerance, with its reason
- ``log_format``: whether the log is well formed, complete, and of this scene
- ``replay_world``: scene and robot in PyBullet, built from primitive shapes; ``replay``: checks
  every executed state for penetrations; ``poses``: poses of furniture and items
- ``forces``: recorded contact forces; ``joints``: limits of position, velocity, acceleration and
  torque, and tracking of commands; ``items``: slip in the hand, support, rest at the end
- ``sample_masks``: samples and motions to which some checks don't apply
- ``goal``: evaluates the PDDL goal in the final geometry

It shares no code with planning or execution: it imports ``domain``, the robot's model and the
wrapper of PyBullet only.
"""

from galley.validation.goal import Goal
from galley.validation.judge import validate_run
from galley.validation.verdict import Verdict

__all__ = ["Goal", "Verdict", "validate_run"]
