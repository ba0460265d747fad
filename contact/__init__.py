"""What happens when something is touched.

- ``parameters``: names, units and bounds of the models' parameters, checked in one place
- ``finger/``: one dimension, event by event: a finger, an object, and a sensor at the fingertip
- ``polygon``: mass, intersection and signed distance of simple polygons, also for compiled code
- ``segments``: distances of points and line segments in the plane
- ``support``: friction of a body that lies on a plane, also for compiled code
- ``planar/``: two dimensions, differentiable: virtual contacts, implicit steps (extra ``contact``);
  ``planar.prediction`` says how a pushed body moves, without JAX
- ``guard``: how hard a guarded approach will touch, how fast it may be, from what force it counts

Importing this package loads nothing; SciPy is loaded by the first simulation, by
``filter`` and by ``identification``, Numba by the first area of intersection or distance.
"""
