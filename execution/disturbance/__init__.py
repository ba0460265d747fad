"""Noise and faults for runs under physics.

- ``noise``: perturbs the scene and the observations; ``boxes``: where items can stand
- ``faults``: each kind of fault, and several at once
"""
