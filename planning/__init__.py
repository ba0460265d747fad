"""Task planning: which actions, in which order. Symbols only; geometry is not seen here.

From PDDL to a ground task:

* ``task`` - the ground task, and how it changes: ``forbid``, ``with_facts``, ``with_goal``.
* ``operators`` - facts as bits, actions as masks.
* ``normal_form``, ``schemas``, ``relaxation``, ``masks`` - how it is made; ``naming`` reads what
  callers write; ``limits`` says when to give up.

From a task to a plan:

* ``mutex``, ``relevance``, ``packing``, ``space`` - states as small integers.
* ``decision``, ``codegen`` - their successors as compiled Python.
* ``searches`` - the searches, behind one function; the best plans one after the other.

When there is none, and whether it is one:

* ``unreachable``, ``contradiction``, ``explain``, ``conflict`` - why there is no plan.
* ``plan_file``, ``semantics``, ``validation`` - reads a plan, and checks it against the PDDL.
* ``gym_limits``, ``gym_replay`` - the same check by PDDLGym, loaded when it is called.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from galley.planning.gym_replay import Replay, ReplayStatus, replay
    from galley.planning.limits import LimitReached, Limits
    from galley.planning.operators import GroundAction, Operator
    from galley.planning.plan_file import read_plan
    from galley.planning.searches.methods import METHODS, search
    from galley.planning.searches.result import Plan
    from galley.planning.searches.top_k import PlanIterator, plans
    from galley.planning.semantics import Semantics
    from galley.planning.task import Task, ground
    from galley.planning.validation import Validation, validate_actions

# Where each name is, to be imported when it is first used: a plan for a small task should not wait
# for the parts that it doesn't need.
_HOMES = {
    "METHODS": "searches.methods",
    "GroundAction": "operators",
    "LimitReached": "limits",
    "Limits": "limits",
    "Operator": "operators",
    "Plan": "searches.result",
    "PlanIterator": "searches.top_k",
    "Replay": "gym_replay",
    "ReplayStatus": "gym_replay",
    "Semantics": "semantics",
    "Task": "task",
    "Validation": "validation",
    "ground": "task",
    "plans": "searches.top_k",
    "read_plan": "plan_file",
    "replay": "gym_replay",
    "search": "searches.methods",
    "validate_actions": "validation",
}

__all__ = [
    "METHODS",
    "GroundAction",
    "LimitReached",
    "Limits",
    "Operator",
    "Plan",
    "PlanIterator",
    "Replay",
    "ReplayStatus",
    "Semantics",
    "Task",
    "Validation",
    "ground",
    "plans",
    "read_plan",
    "replay",
    "search",
    "validate_actions",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
