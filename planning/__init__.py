"""Task planning: which actions, in which order. Symbols only; geometry is not seen here.

* ``task`` - the ground task: facts as bits, operators as masks.
* ``relaxation``, ``grounding`` - from PDDL to a task.
* ``successors``, ``search`` - from a task to a plan.
* ``explain``, ``conflict`` - why there is no plan.
* ``plan_file``, ``validate`` - reads a plan, and checks it against the PDDL.
* ``gym_replay`` - the same check by PDDLGym, loaded when it is called.
"""

from galley.planning.grounding import ground
from galley.planning.gym_replay import Replay, ReplayStatus, replay
from galley.planning.plan_file import read_plan
from galley.planning.search import Plan, breadth_first
from galley.planning.task import GroundAction, Operator, Task
from galley.planning.validate import Validation, validate

__all__ = [
    "GroundAction",
    "Operator",
    "Plan",
    "Replay",
    "ReplayStatus",
    "Task",
    "Validation",
    "breadth_first",
    "ground",
    "read_plan",
    "replay",
    "validate",
]
