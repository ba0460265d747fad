"""Systems in one and two dimensions beside the kitchen, which doesn't import them.

- ``finger/``: one dimension, event by event: a finger, an object, and a sensor at the fingertip
- ``contact/``: two dimensions, differentiable: virtual contacts and implicit steps
- ``pushing/``: pushing a body to a goal on a table, with environments and demonstrators
- ``reach/``: base poses of a two-link arm on a mobile base, with exact and learned densities
- ``geometry/``: polygons, and support friction of a body that lies on a plane
- ``arm``: a chain of N links; ``window``: shows pictures, reads mouse and keys (pygame)
- ``commands/``: ``galley touch``, ``contact`` and ``reach``

Importing this package loads nothing. The extra ``planar`` installs what these systems need beyond
the kitchen: JAX, Gymnasium, pyarrow, pygame.
"""
