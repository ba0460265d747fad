"""Manipulations, and the proven collision-free Motions that carry them out.

- ``context``: scene, robot, world, settings and random streams
- ``manipulation``: a description of straight lines of the hand and strokes of the fingers;
  ``contacts``: those of the kitchen; ``grasps``, ``fans``: of an item
- ``hand``: collisions of the hand alone, without the arm
- ``reach``: base and arm configurations for a manipulation; ``lines``: along its lines
- ``step``: the Motions of one manipulation; ``free_motion``: those in between
- ``proof``: certifies them; ``optimize``: their final trajectories; ``polyhedra``: geometry
- ``escape``: out of contact after an interrupted motion
"""
