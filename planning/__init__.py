"""Task planning in PDDL, without geometry.

- ``task``: ground tasks; ``operators``: ground actions as bit masks, and plans
- ``grounding/``: relaxed reachability; ``successors``: the state space and its successor generator
- ``searches/``: breadth-first, A*, greedy best-first and top-k search
- ``explain/``: certificates of unsolvability; ``checks/``: plan validation
- ``limits``: limits on expanded states, time and memory
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

# Modules of the exported names, imported on first use: small tasks should start fast.
_MODULES = {
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
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
