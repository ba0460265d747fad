"""Manipulations, and the proven collision-free Motions that carry them out.

- ``context``: scene, robot, world, settings and random streams; ``effort``: what a search has tried
- ``manipulation``: a description of straight lines of the hand and strokes of the fingers;
  ``contacts``: the manipulations of the kitchen; picks are in ``skills.pick``
- ``grasps``: the grasps of an item; ``grasp_families``: continuous families of them
- ``hand``: collisions of the hand alone, without the arm; ``hand_kernel``: its compiled part
- ``step``: one step of an action: base and arm configurations for a manipulation, and a look ahead
- ``lines``: the arm along a manipulation's lines
- ``motion_builder``: the Motions of a step, and the free motions in between
- ``proof``: proves them free of collision; ``optimize``: their final trajectories
- ``pushes``, ``pushers``, ``overhang``: pushing an item over its support, with the closed hand
- ``polyhedra``: convex geometry
- ``escape``: motions out of contact after an interrupted motion
"""
