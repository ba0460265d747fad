"""Where to stand, in the plane: p(Q | H) of a two-link arm on a mobile base.

- ``arm``: PlanarArm, its kinematics; ``donut``: DonutSampler, samples with their exact density
- ``heading``: the heading error's wrapped normal; ``kept``: what joint limits leave of the ring
- ``grid``: the same distribution from a grid of bases
- ``context``: obstacles, forbidden regions, visibility, made of ``shapes``; ``scores``: how good a
  configuration is; ``weighted``: the samples and density that either leaves
"""

from galley.reachability.planar.arm import PlanarArm
from galley.reachability.planar.context import Body, Context, random_shapes
from galley.reachability.planar.donut import DonutSampler, Samples, uniform_targets
from galley.reachability.planar.grid import enumerate_bases
from galley.reachability.planar.shapes import Circle, Polygon, box, shape_of
from galley.reachability.planar.weighted import Weighted

__all__ = [
    "Body",
    "Circle",
    "Context",
    "DonutSampler",
    "PlanarArm",
    "Polygon",
    "Samples",
    "Weighted",
    "box",
    "enumerate_bases",
    "random_shapes",
    "shape_of",
    "uniform_targets",
]
