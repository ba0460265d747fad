"""From manipulations to proven collision-free motions.

- ``context``: scene, robot, world, settings and random streams
- ``step``: the Motions of one manipulation; ``free_motion``: those in between
- ``proof``: certifies them; ``optimize``: their final trajectories; ``polyhedra``: geometry
"""
