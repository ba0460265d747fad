"""The searches: from a ground task to a plan, or to why there is none.

* ``methods`` - ``search``, the one function behind which they all stand.
* ``breadth_first`` - fewest actions: small tasks as they are, others by ``uniform_cost``.
* ``astar``, ``uniform_cost``, ``landmark_cut``, ``landmark_cut_kernel`` - least cost.
* ``arrays`` - the layers of ``uniform_cost`` once they are large.
* ``greedy``, ``relaxed`` - some plan, quickly.
* ``top_k`` - the cheapest plans, one after the other.
"""
