"""What makes the variants of ``galley/Push-v0`` beside ``planar.pushing.environment`` itself.

- ``variants``: which environment ``gymnasium.make`` makes, by its arguments
- ``rendered``: what they share: a picture, a window
- ``joints``: ``action="joints"``, the arm commands the pusher
- ``gym_pusht``: ``compat="gym-pusht"``, so that policies made for gym-pusht run unchanged
- ``physics``: gym-pusht's table, moved by our simulation or (extra ``upstream``) by pymunk as there

Importing this package loads nothing.
"""
