"""The searches: from a ground task to a plan, or to why there is none.

* ``methods`` - ``search``, the one function behind which they all stand.
* ``result`` - what comes back.
* ``breadth_first``, ``first_states``, ``layers``, ``arrays``, ``regression`` - fewest actions.
* ``astar``, ``uniform_cost``, ``uniform_cost_arrays``, ``informed``, ``landmark_cut``,
  ``landmark_cut_kernel``, ``costs`` - least cost.
* ``greedy``, ``relaxed``, ``relaxed_plan``, ``cleanup`` - some plan, quickly.
* ``top_k``, ``region`` - the cheapest plans, one after the other.
"""
