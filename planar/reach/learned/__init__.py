"""A learned p(Q | H): a spline flow for the base and the elbow, exact IK for the joints.

Needs the extra ``planar`` (JAX).

- ``task``: what is learned, and its data; ``chart``: coordinates of base and elbow
- ``flow``: the density in them; ``training``; ``model``: in the world, and in a file
- ``evaluation``: against the true density
"""

from galley.planar.reach.learned.evaluation import evaluate
from galley.planar.reach.learned.model import LearnedModel, Shape, load_checkpoint, save_checkpoint
from galley.planar.reach.learned.task import Task
from galley.planar.reach.learned.training import Progress, Settings, train

__all__ = [
    "LearnedModel",
    "Progress",
    "Settings",
    "Shape",
    "Task",
    "evaluate",
    "load_checkpoint",
    "save_checkpoint",
    "train",
]
