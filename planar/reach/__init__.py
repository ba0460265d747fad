"""Base placement in the plane: the distribution p(Q | H) of a two-link arm on a mobile base.

- ``arm``: ``PlanarArm``, kinematics; ``donut``: ``DonutSampler``, samples with exact density
- ``heading``: the wrapped normal distribution of the heading error
- ``context``: obstacles, forbidden regions and visibility, made of ``shapes``
- ``scores``: scores of configurations; ``weighted``: samples and density under contexts and scores
- ``dataset``: samples as files; ``learned/``: the distribution as a neural network
- ``pictures``: of samples and densities; ``field_picture``: the kitchen robot's reachability field
"""

from galley.planar.reach.arm import PlanarArm
from galley.planar.reach.base_sampler import BaseSamples, DonutSampler, uniform_targets
from galley.planar.reach.context import Context
from galley.planar.reach.shapes import shape_of
from galley.planar.reach.weighted import Weighted

__all__ = [
    "BaseSamples",
    "Context",
    "DonutSampler",
    "PlanarArm",
    "Weighted",
    "shape_of",
    "uniform_targets",
]
