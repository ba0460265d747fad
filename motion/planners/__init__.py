"""Planners of collision-free paths for a joint group.

- ``planning``: ``plan``, the entry point of the library; finds configurations for poses as goals
- ``compiled_search``: calls the compiled RRT-Connect of ``motion.kernel`` from Python
- ``rrt``: the baseline RRT, in Python; its configuration space and edge checks
- ``turns``: joints that turn without end
- ``drives``: turns and straight drives of a differential base
"""
