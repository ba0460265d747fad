"""The searches: from a ground task to a plan, or to why there is none.

* ``methods`` - ``search``, the one function behind which they all stand.
* ``limits``, ``result`` - when to give up, and what comes back.
* ``breadth_first``, ``arrays`` - fewest actions; large layers as arrays.
* ``astar``, ``uniform_cost``, ``landmark_cut``, ``landmark_cut_kernel``, ``costs`` - least cost.
* ``greedy``, ``relaxed``, ``relaxed_plan``, ``cleanup`` - some plan, quickly.
* ``top_k``, ``region`` - the cheapest plans, one after the other.
"""

from galley.planning.search.limits import Limits
from galley.planning.search.methods import METHODS, search
from galley.planning.search.result import Plan
from galley.planning.search.top_k import PlanIterator, plans

__all__ = ["METHODS", "Limits", "Plan", "PlanIterator", "plans", "search"]
