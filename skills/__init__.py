"""Skills: one file a skill. ``refine`` turns a symbolic action into Motions, or a Failure.

- ``skill``: what a skill is; ``SKILLS`` here registers one for each PDDL action
- ``navigate``, ``pick``, ``place``, ``stow``, ``drawer``, ``symbolic``: those of the two domains
- ``step``: one go of the hand, from the present stance or another; skills consist of steps
- ``escape``: out of contact, from wherever a motion was broken off
- ``contacts``: their parts in contact, as ``manipulation`` describes them (lines and strokes)
- ``grasps``: from an item's geometry; ``placements``: where in a region an item can stand, with
  ``footprints`` and ``packing``
- ``reach``: base and arm configurations for a manipulation, with ``lines``
- ``free_motion``: the ways between; ``finish``: their trajectories; ``proof``: certifies all of
  them; ``build``: puts the Motions together
- ``refusals``: what sizes and distances rule out; ``free_travel``: how far a drawer opens
- ``exhaustive``: certificates that something is blocked; ``own``: a user's skills
- ``workbench``: scene, robot, world, settings and random streams
"""

from collections.abc import Mapping
from types import MappingProxyType

from galley.skills.drawer import Close, Open
from galley.skills.navigate import Navigate
from galley.skills.pick import Pick, TakeOut
from galley.skills.place import Place, PutIn
from galley.skills.skill import BoundAction, Skill
from galley.skills.stow import Stow
from galley.skills.symbolic import AtPlace
from galley.skills.workbench import Settings, Workbench


def skill_set(own: Mapping[str, Skill] = MappingProxyType({})) -> dict[str, Skill]:
    """A skill for each action of the two domains, and ``own`` ones, which take precedence.

    Skills that look ahead (where to stand, what needs room) see the own ones too.
    """
    skills: dict[str, Skill] = {}
    skills |= {
        "navigate": Navigate(skills),
        "pick": Pick(skills),
        "place": Place(skills),
        "open": Open(),
        "close": Close(),
        "take_out": TakeOut(skills),
        "put_in": PutIn(skills),
        "stow": Stow(skills),
        "cook": AtPlace(),
        "wash": AtPlace(),
    }
    skills |= own
    return skills


SKILLS = skill_set()

__all__ = ["SKILLS", "BoundAction", "Settings", "Skill", "Workbench", "skill_set"]
