"""From manipulations to motions that are proven free.

- ``workbench``: scene, robot, world, settings and random streams
- ``step``: one go of the hand, and its Motions; ``free_motion``: the ways between; ``proof``: that
  they are free; ``finish``: their final trajectories
"""
