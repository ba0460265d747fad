"""Query: from one arm configuration to another, the base where it stands."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from galley.domain.base_spec import MobileBaseSpec
from galley.domain.frames import Array
from galley.domain.state import State
from galley.motion.rrt import EndRegion
from galley.robots.kinematics import link0_pose
from galley.robots.model import RobotModel
from galley.robots.panda import X_FH, forward
from galley.worlds.checker import MARGIN, held_pairs
from galley.worlds.scene_kernel import SceneKernel
from galley.worlds.view import View


@dataclass(frozen=True)
class Query:
    """What every method is asked.

    Attributes:
        name: unique among those of one run.
        state: the world; the arm stands at the start, an item may be in the hand.
        goals: free arm configurations (m, 7), rad, of which one is to be reached.
        region: where the RRT's hand may end instead; None for ``goals`` only.
        about: what it asks, in a few words.
    """

    name: str
    state: State
    goals: Array
    region: EndRegion | None = None
    about: str = ""

    def start(self, robot: RobotModel) -> Array:
        """The arm's configuration (7,) at the start, rad."""
        return np.array(self.state.q[robot.slice("arm")])


def arm_view(kernel: SceneKernel, state: State, margin: float = MARGIN) -> View:
    """The arm in the world as ``state`` has it, what it holds in its hand."""
    return kernel.view(state, "arm", held_pairs(kernel.scene, kernel.robot, state), margin)


def stands_free(kernel: SceneKernel, state: State) -> bool:
    """Whether the whole robot, base and all, keeps the margin in ``state``."""
    allowed = held_pairs(kernel.scene, kernel.robot, state)
    return kernel.view(state, "all", allowed).free(state.q)


def hand_poses(spec: MobileBaseSpec, base: Array, Q: Array) -> Array:
    """X_WH (n, 4, 4) of the hand for arm configurations (n, 7), the base at (x, y, heading)."""
    return np.asarray(link0_pose(base, spec) @ forward(Q) @ X_FH)
