"""Trajectories.

- ``trajectory``: piecewise polynomials; ``timing``: from a path to one within limits
- ``archive``, ``store``: on disk; ``export``: for a real arm
"""
