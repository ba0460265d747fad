"""From manipulations to motions that are proven free.

- ``workbench``: scene, robot, world, settings and random streams
- ``step``: one go of the hand; ``free_motion``, ``finders``: the ways between; ``build``: the
  Motions of all; ``proof``: that they are free; ``finish``: their final trajectories
"""
