"""The searches: from a ground task to a plan, or to why there is none.

* ``methods`` - ``search``, the one function behind which they all stand.
* ``breadth_first``, ``layers``, ``arrays`` - fewest actions.
* ``astar``, ``uniform_cost``, ``landmark_cut``, ``landmark_cut_kernel`` - least cost.
* ``greedy``, ``relaxed`` - some plan, quickly.
* ``top_k`` - the cheapest plans, one after the other.
"""
