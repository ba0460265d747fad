"""Spheres that are proved to cover a robot's links.

- ``covering``: the covering of a convex hull, made or read from a file
- JSON files: the coverings that are shipped, a hull each
"""
