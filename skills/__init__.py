"""Skills turn symbolic actions into Motions. One file per skill.

- ``skill``: the interface; ``SKILLS`` here maps each PDDL action to its skill
- ``navigate``, ``pick``, ``place``, ``stow``, ``drawer``, ``push``, ``handover``, ``symbolic``:
  the skills of the kitchen's actions
- ``own``: loads a user's skills, and checks the values that they return

Their building blocks:

- ``base_placement/``: where to stand; ``placing/``: where items can stand
- ``manipulation/``: motions in contact, and collision-free ones in between
- ``infeasibility/``: refusals and proofs with certificates
"""

from collections.abc import Mapping
from types import MappingProxyType

from galley.skills.drawer import Close, Open
from galley.skills.handover import Handover
from galley.skills.manipulation.context import PlanningContext, Settings
from galley.skills.navigate import Navigate
from galley.skills.pick import Pick, TakeOut
from galley.skills.place import Place, PutIn
from galley.skills.push import Push, PushAside
from galley.skills.skill import BoundAction, Skill
from galley.skills.stow import Stow
from galley.skills.symbolic import SymbolicSkill


def skill_set(own: Mapping[str, Skill] = MappingProxyType({})) -> dict[str, Skill]:
    """A skill for each action of the kitchen's domains; ``own`` ones take precedence.

    Skills that look ahead (where to stand, what needs room) see all of them.
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
        "push": Push(skills),
        "push_aside": PushAside(skills),
        "handover": Handover(skills),
        "cook": SymbolicSkill(),
        "wash": SymbolicSkill(),
    }
    skills |= own
    return skills


SKILLS = skill_set()

__all__ = ["SKILLS", "BoundAction", "PlanningContext", "Settings", "Skill", "skill_set"]
