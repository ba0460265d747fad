"""Geometry of the plane: polygons and support friction.

- ``polygon``: mass, convex parts and signed distance of simple polygons, also for compiled code
- ``support``: support friction of a body that lies on a plane, also for compiled code

Importing this package loads nothing; Numba is loaded by the first distance.
"""
