"""The plane: small systems beside the kitchen, which imports none of them.

- ``finger/``: one dimension, event by event: a finger, an object, and a sensor at the fingertip
- ``contact/``: two dimensions, differentiable: virtual contacts, implicit steps
- ``pushing/``: a body on a table is pushed to a goal, with environments and demonstrators
- ``reach/``: where a two-link arm on a mobile base stands, with exact and learned densities
- ``geometry/``: polygons, segments, and the friction of a body that lies on a plane
- ``arm``: N links in the plane; ``window``: shows pictures and knows mouse and keys (pygame)
- ``commands/``: ``galley touch``, ``contact`` and ``reach``

Importing this package loads nothing. The extra ``planar`` has what the plane needs beyond the
kitchen: JAX, Gymnasium, pyarrow, pygame.
"""
