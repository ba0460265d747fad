"""Spheres that cover a robot's links, proved to.

- ``covering``: for a convex hull, made or read
- a JSON file a link: the coverings that are shipped
"""
