"""Where to stand, in the plane: p(Q | H) of a two-link arm on a mobile base.

- ``arm``: PlanarArm, its kinematics; ``donut``: DonutSampler, samples with their exact density
- ``heading``: the heading error's wrapped normal
- ``context``: obstacles, forbidden regions, visibility, made of ``shapes``; ``scores``: how good a
  configuration is; ``weighted``: the samples and density that either leaves
- ``dataset``: rows that reach targets, as files; ``learned/``: the distribution by a network
- ``pictures``; ``field_picture``: the kitchen robot's reachability field of an item
"""

from galley.planar.reach.arm import PlanarArm
from galley.planar.reach.context import Context
from galley.planar.reach.donut import DonutSampler, Samples, uniform_targets
from galley.planar.reach.shapes import shape_of
from galley.planar.reach.weighted import Weighted

__all__ = [
    "Context",
    "DonutSampler",
    "PlanarArm",
    "Samples",
    "Weighted",
    "shape_of",
    "uniform_targets",
]
