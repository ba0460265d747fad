"""Trajectories: positions of a joint group over time.

- ``trajectory``: piecewise polynomials; ``timing``: times a path within a joint group's limits
- ``store``: motions on disk; ``export``: files for the controller of a real arm
"""
