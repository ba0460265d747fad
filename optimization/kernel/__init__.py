"""Compiled functions of trajectory optimization.

- ``path_timing``: the two passes of time-optimal path parametrisation
- ``dynamics``: joint torques of a motion
"""
