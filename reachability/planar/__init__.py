"""Where to stand, in the plane: p(Q | H) of a two-link arm on a mobile base.

- ``arm``: PlanarArm, kinematics; ``donut``: DonutSampler, samples with their exact density
- ``heading``: the heading error's wrapped normal; ``kept``: what joint limits leave of the ring
"""

from galley.reachability.planar.arm import PlanarArm
from galley.reachability.planar.donut import DonutSampler, Samples, uniform_targets

__all__ = ["DonutSampler", "PlanarArm", "Samples", "uniform_targets"]
