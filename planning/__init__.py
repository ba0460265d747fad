"""Task planning: which actions, in which order. Symbols only; geometry is not seen here.

From PDDL to a ground task:

* ``task`` - the ground task: facts as bits, actions as masks; ``forbid``, ``with_facts`` and
  ``with_goal`` change it.
* ``limits`` - when to give up.
* ``normal_form``, ``schemas``, ``relaxation``, ``grounding`` - how it is made; ``naming`` reads
  what callers write.

From a task to a plan:

* ``mutex``, ``relevance``, ``packing``, ``codegen``, ``space`` - states as small integers, and
  their successors as compiled Python.
* ``search`` - the searches, behind one function; the best plans one after the other.
* ``pddl_writer``, ``fast_downward_dialect``, ``fast_downward`` - the optional peer.

When there is none, and whether it is one:

* ``unreachable``, ``explain``, ``conflict`` - why there is no plan.
* ``plan_file``, ``semantics``, ``validate`` - reads a plan, and checks it against the PDDL.
* ``gym_limits``, ``gym_replay`` - the same check by PDDLGym, loaded when it is called.
"""

from galley.planning.extras import MissingExtra
from galley.planning.grounding import ground
from galley.planning.gym_replay import Replay, ReplayStatus, replay
from galley.planning.limits import LimitReached, Limits
from galley.planning.plan_file import read_plan
from galley.planning.search import METHODS, Plan, PlanIterator, plans, search
from galley.planning.semantics import Semantics
from galley.planning.task import GroundAction, Operator, Task
from galley.planning.validate import Validation, validate, validate_actions

__all__ = [
    "METHODS",
    "GroundAction",
    "LimitReached",
    "Limits",
    "MissingExtra",
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
    "validate",
    "validate_actions",
]
