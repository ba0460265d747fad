"""Task planning: which actions, in which order. Symbols only; geometry is not seen here.

- ``task``: a ground task, facts as bits; ``operators``: actions as masks, and plans of them
- ``grounding/``: from PDDL to what can be reached; ``states/``: states as small integers
- ``searches/``: the searches, behind one function; the best plans one after the other
- ``explain/``: why there is no plan; ``checks/``: whether a plan is one
- ``limits``: when to give up
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from galley.planning.checks.gym_replay import replay as replay
    from galley.planning.checks.semantics import Semantics as Semantics
    from galley.planning.checks.validation import Validation as Validation
    from galley.planning.checks.validation import read_plan as read_plan
    from galley.planning.checks.validation import validate_actions as validate_actions
    from galley.planning.limits import LimitReached as LimitReached
    from galley.planning.limits import SearchLimits as SearchLimits
    from galley.planning.operators import GroundAction as GroundAction
    from galley.planning.operators import Plan as Plan
    from galley.planning.searches.methods import search as search
    from galley.planning.searches.top_k import plans as plans
    from galley.planning.task import Task as Task
    from galley.planning.task import ground as ground

# Where each name is, to be imported when it is first used: a plan for a small task should not wait
# for the parts that it doesn't need.
_HOMES = {
    "replay": "checks.gym_replay",
    **dict.fromkeys(("LimitReached", "SearchLimits"), "limits"),
    **dict.fromkeys(("GroundAction", "Plan"), "operators"),
    "search": "searches.methods",
    "plans": "searches.top_k",
    "Semantics": "checks.semantics",
    **dict.fromkeys(("Task", "ground"), "task"),
    **dict.fromkeys(("Validation", "read_plan", "validate_actions"), "checks.validation"),
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
