"""Paths for a joint group.

- ``planning``: ``plan``, the entry point of the library; poses as goals
- ``drives``: turns and straight drives of a differential base
- ``compiled_search``: the compiled planners of ``motion.kernel`` for Python
- ``rrt``: the baseline RRT, in Python; its configuration space and edge checks
"""
