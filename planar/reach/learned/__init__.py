"""A learned p(Q | H): a spline flow for base and elbow, and exact IK for the joints.

Needs the extra ``planar`` (JAX).

- ``task``: the distribution to learn, and its data; ``chart``: coordinates of base and elbow
- ``flow``: the density in these coordinates; ``training``; ``model``: in the world, and as a file
- ``evaluation``: comparison with the true density
"""

from galley.planar.reach.learned.evaluation import evaluate
from galley.planar.reach.learned.model import (
    FlowArchitecture,
    LearnedModel,
    load_checkpoint,
    save_checkpoint,
)
from galley.planar.reach.learned.task import ReachTask
from galley.planar.reach.learned.training import FitProgress, FitSettings, train

__all__ = [
    "FitProgress",
    "FitSettings",
    "FlowArchitecture",
    "LearnedModel",
    "ReachTask",
    "evaluate",
    "load_checkpoint",
    "save_checkpoint",
    "train",
]
