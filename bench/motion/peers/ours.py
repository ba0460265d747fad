"""Galley's planner in the motion benchmark; nothing else here calls it."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

from galley.bench.motion.peers.planners import Answer
from galley.bench.motion.queries import Query
from galley.collision.scene_kernel import SceneKernel
from galley.domain.failure import Failure
from galley.domain.frames import Array
from galley.domain.scene.model import Scene
from galley.motion import SearchOptions, plan
from galley.robots.model import RobotModel

if TYPE_CHECKING:
    from galley.bench.motion.peers.ompl import Checkers, Free

RAW, SHORT, PROVEN = "galley, raw", "galley, shortcut", "galley, shortcut and proven"
SHORTCUTS = 100


class Ours:
    """The compiled RRT-Connect, with its own margin.

    Args:
        shortcuts: tries of shortcutting; 0 leaves the path as it was found.
        prove: whether the path must be proven free between its checked states.
    """

    def __init__(
        self, name: str, scene: Scene, robot: RobotModel, shortcuts: int, prove: bool
    ) -> None:
        self.name = name
        self.kernel = SceneKernel(scene, robot)
        self.shortcuts = shortcuts
        self.prove = prove

    def prepare(self, query: Query) -> None:
        """See ``Planner``. The tables of the query's world are made here."""
        self._world = self.kernel.world(query.state)
        self._world.view("arm")

    def plan(self, query: Query, seed: int, limit: float) -> Answer:
        """See ``Planner``. The planner counts iterations; ``limit`` is left to its budget."""
        began = perf_counter()
        found = plan(
            self._world,
            query.start,
            query.goal,
            seed=seed,
            prove=self.prove,
            options=SearchOptions(shortcuts=self.shortcuts),
        )
        seconds = perf_counter() - began
        return Answer(None if isinstance(found, Failure) else found.waypoints, seconds)

    def close(self) -> None:
        """See ``Planner``."""


def planners(scene: Scene, robot: RobotModel) -> list[Ours]:
    """As it is found; shortcut; shortcut and proven."""
    return [
        Ours(RAW, scene, robot, 0, False),
        Ours(SHORT, scene, robot, SHORTCUTS, False),
        Ours(PROVEN, scene, robot, SHORTCUTS, True),
    ]


def kernel_checker(scene: Scene, robot: RobotModel) -> Checkers:
    """The compiled checker's answers, one configuration at a time, for OMPL to ask."""
    from galley.bench.motion.peers.ompl import Checkers  # OMPL asks; without it this is not called

    kernel = SceneKernel(scene, robot)

    def make(query: Query) -> Free:
        view = kernel.view(query.state, "arm")

        def free(arm: Array) -> bool:
            return view.free(arm)

        return free

    return Checkers(make, lambda: None)
