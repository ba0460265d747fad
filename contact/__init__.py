"""What happens when something is touched.

- ``parameters``: names, units and bounds of the models' parameters, checked in one place
- ``finger/``: one dimension, event by event: a finger, an object, and a sensor at the fingertip
- ``planar/``: two dimensions, differentiable: virtual contacts, implicit steps (extra ``contact``)
- ``guard``: how hard a guarded approach will touch, how fast it may be, from what force it counts

Importing this package loads nothing; SciPy is loaded by the first simulation, by
``filter`` and by ``identification``.
"""
