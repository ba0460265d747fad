"""Trajectories.

- ``trajectory``: piecewise polynomials; ``timing``: from a path to one within limits
- ``store``: motions on disk; ``export``: for a real arm
"""
