"""Searches: from a ground task to a plan, or to the reason why there is none.

- ``methods``: ``search``, which calls one of the next three by its name
- ``breadth_first``: a plan with the fewest actions
- ``astar``: a plan of least cost
- ``greedy``: any plan, with the FF heuristic of ``relaxed``
- ``top_k``: all plans, in order of cost
"""
