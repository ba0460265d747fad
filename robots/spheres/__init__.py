"""Spheres that cover a robot's links, proved to.

- ``covering``: for a convex hull, made or read; ``covering_kernel``: its inner loops, compiled
- a JSON file a link: the coverings that are shipped
"""
