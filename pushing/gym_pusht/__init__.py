"""``compat="gym-pusht"``: policies that were made for gym-pusht's Push-T run here unchanged.

- ``physics``: its table, in px, moved by our simulation or (extra ``upstream``) by pymunk as there
- ``environment``: its spaces, observations, reward, info and starts

Importing this package loads nothing.
"""
