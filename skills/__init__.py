"""Skills: one file a skill. ``refine`` turns a symbolic action into Motions, or a Failure.

- ``skill``: what a skill is; ``SKILLS`` here registers one for each PDDL action
- ``navigate``, ``pick``, ``place``, ``stow``: the kitchen's four
- ``contacts``: their parts in contact, as ``manipulation`` describes them (lines and strokes)
- ``grasps``: from an item's geometry; ``reach``: base and arm configurations for a manipulation
- ``free_motion``: the ways between; ``timing``: their trajectories; ``proof``: certifies all of
  them; ``build``: puts the Motions together
- ``workbench``: scene, robot, world, settings and random streams
"""

from galley.skills.navigate import Navigate
from galley.skills.pick import Pick
from galley.skills.place import Place
from galley.skills.skill import BoundAction, Skill
from galley.skills.stow import Stow
from galley.skills.workbench import Settings, Workbench

SKILLS: dict[str, Skill] = {"pick": Pick(), "place": Place(), "stow": Stow()}
SKILLS["navigate"] = Navigate(SKILLS)

__all__ = ["SKILLS", "BoundAction", "Settings", "Skill", "Workbench"]
