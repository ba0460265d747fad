"""Skills: one file a skill. ``refine`` turns a symbolic action into Motions, or a Failure.

- ``skill``: what a skill is; ``SKILLS`` here registers one for each PDDL action
- ``navigate``, ``pick``, ``place``, ``stow``, ``drawer``, ``symbolic``: those of the two domains
- ``own``: a user's; ``guarded``: as they are called

What they are made of:

- ``manipulation/``: the parts in contact; ``placing/``: where items can stand
- ``solving/``: from those to motions that are proven free
- ``impossible/``: what can't be done, with certificates
"""

from collections.abc import Mapping
from types import MappingProxyType

from galley.skills.drawer import Close, Open
from galley.skills.navigate import Navigate
from galley.skills.pick import Pick, TakeOut
from galley.skills.place import Place, PutIn
from galley.skills.skill import BoundAction, Skill
from galley.skills.solving.context import PlanningContext, Settings
from galley.skills.stow import Stow
from galley.skills.symbolic import AtPlace


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

__all__ = ["SKILLS", "BoundAction", "PlanningContext", "Settings", "Skill", "skill_set"]
