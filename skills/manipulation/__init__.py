"""Manipulations, and the proven collision-free Motions that carry them out.

- ``context``: scene, robot, world, settings and random streams; ``effort``: what a search has tried
- ``manipulation``: a description of straight lines of the hand and strokes of the fingers;
  ``contacts``: the manipulations of the kitchen
- ``grasps``: the grasps of an item; ``fans``: continuous families of them
- ``hand``: collisions of the hand alone, without the arm; ``hand_kernel``: its compiled part
- ``reach``: base and arm configurations for a manipulation; ``lines``: the arm along its lines
- ``step``: the Motions of one manipulation; ``free_motion``: the motions in between
- ``proof``: proves them free of collision; ``optimize``: their final trajectories
- ``pushes``, ``pushers``, ``overhang``: pushing an item over its support, with the closed hand
- ``polyhedra``: convex geometry
- ``escape``: motions out of contact after an interrupted motion
"""
