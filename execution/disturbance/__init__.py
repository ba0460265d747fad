"""Disturbances of runs under physics: noise and faults.

- ``noise``: perturbs the scene and the observations
- ``faults``: injects faults, such as a pushed item or a stuck drawer
- ``boxes``: checks by bounding boxes whether an item can stand somewhere
"""
