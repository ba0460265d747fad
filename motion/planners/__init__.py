"""Paths for a joint group.

- ``planning``: ``plan``, the entry point of the library; poses as goals
- ``impassable``: a joint value between start and goal that is never free
- ``compiled_search``: the compiled planners of ``motion.kernel`` for Python
- ``rrt``: the baseline RRT, in Python; its configuration space and edge checks
"""
