"""Spheres that cover a robot's links, proved to.

- ``covering``: for a convex hull; ``covering_kernel``: its inner loops, compiled
- ``store``: coverings made before; those shipped lie here, a JSON file a link
"""
