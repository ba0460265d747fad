"""Noise and faults for runs under physics.

- ``noise``: perturbs the scene and the observations; ``box_placement``: where items can stand
- ``fault``: specification and base class of a fault; ``faults``: each kind, and several at once
"""
