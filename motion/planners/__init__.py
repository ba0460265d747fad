"""Paths for a joint group.

- ``planning``: ``plan``, the library's way in; a pose as goal
- ``compiled_search``: the compiled planners of ``motion.kernel`` for Python
- ``rrt``: the seed's RRT, in Python; where it searches, and how edges are checked
"""
