"""Searches: from a ground task to a plan, or to the reason why there is none.

- ``methods``: ``search``, by the name of a method
- ``breadth_first``: fewest actions
- ``astar``: least cost
- ``greedy``, ``relaxed``: any plan, with the FF heuristic
- ``top_k``: plans in order of cost
"""
