"""What every skill works with: scene, robot, world, settings, and one source of randomness."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from galley.domain.frames import Array, frozen, transform
from galley.domain.scene.model import WORLD, Scene, Stance
from galley.domain.state import Placement, State
from galley.robots.model import RobotModel
from galley.worlds.checker import MARGIN, Checker, Pair
from galley.worlds.engines.pybullet_world import PyBulletWorld
from galley.worlds.scene_kernel import SceneKernel

if TYPE_CHECKING:  # pydrake loads late
    from galley.optimization.torques import TorqueModel

HELD_SPEED = 0.6  # of the usual speed while something is in the hand
AWAY = -50.0  # m, far below the floor: the height of items that are thought away
_RECOVERY = 40_000  # sets the streams of later plannings apart from those of the first


@dataclass(frozen=True)
class Settings:
    """What a user may choose about refinement. Budgets count iterations, not seconds.

    Attributes:
        seed: of every random stream.
        planner: ``rrt-connect``, ``rrt`` or ``anytime`` for free arm motions, on the kernel.
        checker: ``kernel``, compiled and conservative, or ``pybullet``: then the seed's RRT in
            Python plans for every joint group, whatever ``planner`` is.
        optimize: what makes trajectories of free motions' paths: ``smooth``, ``time-optimal``,
            ``shortest`` (the seed's QP, for the arm) or ``none``; these two stop at each corner.
        l1: the seed's RRT arrives by the L1 norm instead of a box.
        iterations: budget of one RRT-Connect search. rrt_iterations: of one RRT search.
        shortcuts: tries of shortcutting.
        placements: candidate stances, grasps and poses tried for one manipulation.
        attempts: how often one action is refined anew before the one before it is.
        speed: share of the joint limits that free motions use.
    """

    seed: int = 0
    planner: str = "rrt-connect"
    checker: str = "kernel"
    optimize: str = "smooth"
    l1: bool = False
    iterations: int = 1500
    rrt_iterations: int = 4000
    shortcuts: int = 60
    placements: int = 300
    attempts: int = 4
    speed: float = 0.8


@dataclass
class PlanningContext:
    """Scene, robot, world and settings at hand.

    Attributes:
        recovery: how often planning has begun anew in this run; part of every stream's key.
    """

    scene: Scene
    robot: RobotModel
    world: PyBulletWorld
    settings: Settings = field(default_factory=Settings)
    recovery: int = 0

    @cached_property
    def torque_models(self) -> dict[object, TorqueModel]:
        """The robot's dynamics by what it holds, as they are made (``skills.solving.finish``)."""
        return {}

    @cached_property
    def grasp_room(self) -> dict[object, Array]:
        """Whether the hand has room for the grasps of items as they stand, as it is found out."""
        return {}

    def rng(self, *key: int) -> np.random.Generator:
        """The stream of a key such as (action, attempt): the same for the same seed and key."""
        recovery = (_RECOVERY, self.recovery) if self.recovery else ()
        entropy = (self.settings.seed, *recovery, *key)
        return np.random.default_rng(np.random.SeedSequence(entropy))

    def anew(self, recovery: int, stances: tuple[Stance, ...] = ()) -> PlanningContext:
        """The same context, its kernel shared, with the streams of a later planning of a run.

        Args:
            recovery: how often planning has begun anew, this time included.
            stances: stance sets that the scene has besides its own.
        """
        scene = replace(self.scene, stances=self.scene.stances + stances)
        found = replace(self, scene=scene, recovery=recovery)
        found.__dict__["kernel"] = self.kernel
        found.__dict__["torque_models"] = self.torque_models
        return found

    def without(self, bodies: Collection[str]) -> PlanningContext:
        """The context in a scene without some bodies, their regions and their handles.

        The kernel plans there: the other world stays as it is.
        """
        scene = replace(
            self.scene,
            bodies=tuple(body for body in self.scene.bodies if body.name not in bodies),
            regions=tuple(each for each in self.scene.regions if each.body not in bodies),
            handles=tuple(each for each in self.scene.handles if each.body not in bodies),
        )
        return replace(self, scene=scene, settings=replace(self.settings, checker="kernel"))

    @cached_property
    def kernel(self) -> SceneKernel:
        """The scene for the compiled kernel."""
        return SceneKernel(self.scene, self.robot)

    @property
    def compiled(self) -> bool:
        """Whether the kernel plans; else PyBullet does."""
        return self.settings.checker == "kernel"

    def checker(
        self, state: State, allowed: frozenset[Pair] = frozenset(), margin: float = MARGIN
    ) -> Checker:
        """A Checker for the world as ``state`` has it."""
        if self.compiled:
            return self.kernel.checker(state, allowed, margin)
        return self.world.checker(state, allowed, margin)

    def free(
        self, state: State, group: str, allowed: frozenset[Pair] = frozenset()
    ) -> Callable[[Array], bool]:
        """Whether one group's configuration (k,) is free while the rest stays as in ``state``."""
        checker = self.checker(state, allowed)
        where = self.robot.slice(group)
        q = state.q.copy()

        def free(values: Array) -> bool:
            q[where] = values
            return checker.free(q)

        return free

    def speed(self, state: State, group: str) -> float:
        """The share of the joint limits that a free motion of ``group`` uses in ``state``."""
        careful = state.held is not None and group != "base"
        return self.settings.speed * (HELD_SPEED if careful else 1.0)

    @cached_property
    def tucked(self) -> Array:
        """The arm's folded configuration (7,): the one it starts in."""
        return self.scene.robot.q[self.robot.slice("arm")]

    def hand(self, state: State) -> Callable[[Array], Array]:
        """The hand's pose X_WH (4, 4) as a function of the arm (7,), the base as in ``state``."""
        q, where = state.q.copy(), self.robot.slice("arm")

        def pose(arm: Array) -> Array:
            q[where] = arm
            return self.robot.kinematics.hand_pose(q)

        return pose


def without(state: State, items: Iterable[int]) -> State:
    """The State with some items far away, each by itself."""
    for index in items:
        away = frozen(transform(None, (0.0, 5.0 * index, AWAY)))
        state = state.with_item(index, Placement(WORLD, away))
    return state
