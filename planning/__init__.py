"""Task planning: which actions, in which order. Symbols only; geometry is not seen here.

From PDDL to a ground task:

* ``normal_form``, ``schemas``, ``relaxation`` - actions and conditions on facts, as far as they
  can be reached.
* ``operators``, ``task`` - facts as bits, actions as masks; plans of them.
* ``limits`` - when to give up.

From a task to a plan:

* ``mutex``, ``packing``, ``space`` - states as small integers.
* ``codegen`` - their successors as compiled Python.
* ``searches`` - the searches, behind one function; the best plans one after the other.

When there is none, and whether it is one:

* ``unreachable``, ``contradiction``, ``explain`` - why there is no plan.
* ``semantics``, ``validation`` - reads a plan, and checks it against the PDDL.
* ``gym_replay`` - the same check by PDDLGym, loaded when it is called.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from galley.planning.gym_replay import replay as replay
    from galley.planning.limits import LimitReached as LimitReached
    from galley.planning.limits import Limits as Limits
    from galley.planning.operators import GroundAction as GroundAction
    from galley.planning.operators import Plan as Plan
    from galley.planning.searches.methods import search as search
    from galley.planning.searches.top_k import plans as plans
    from galley.planning.semantics import Semantics as Semantics
    from galley.planning.task import Task as Task
    from galley.planning.task import ground as ground
    from galley.planning.validation import Validation as Validation
    from galley.planning.validation import read_plan as read_plan
    from galley.planning.validation import validate_actions as validate_actions

# Where each name is, to be imported when it is first used: a plan for a small task should not wait
# for the parts that it doesn't need.
_HOMES = {
    "replay": "gym_replay",
    **dict.fromkeys(("LimitReached", "Limits"), "limits"),
    **dict.fromkeys(("GroundAction", "Plan"), "operators"),
    "search": "searches.methods",
    "plans": "searches.top_k",
    "Semantics": "semantics",
    **dict.fromkeys(("Task", "ground"), "task"),
    **dict.fromkeys(("Validation", "read_plan", "validate_actions"), "validation"),
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
