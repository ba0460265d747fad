"""What happens when something is touched.

- ``parameters``: names, units and bounds of the models' parameters, checked in one place
- ``finger/``: one dimension, event by event: a finger, an object, and a sensor at the fingertip

Importing this package loads nothing; SciPy comes with ``finger``.
"""
