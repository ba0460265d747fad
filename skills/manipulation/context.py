"""The context of motion planning: scene, robot, collision worlds, settings, random streams."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.collision.checker import Checker, Pair, pairs
from galley.collision.scene_kernel import SceneKernel
from galley.domain.frames import Array, frozen, transform
from galley.domain.listener import Listener
from galley.domain.scene.model import WORLD, Scene
from galley.domain.state import Placement, State
from galley.motion.motion import Slide
from galley.robots.model import RobotModel
from galley.skills.manipulation.effort import Effort

if TYPE_CHECKING:  # pydrake loads late
    from galley.optimization.torques import TorqueModel

HELD_SPEED = 0.6  # share of the usual speed while an item is held
AWAY = -50.0  # m, height of removed items, far below the floor
_RECOVERY = 40_000  # part of the key of the random streams of replanning


@dataclass(frozen=True)
class Settings:
    """Settings of refinement. Budgets count iterations, not seconds.

    Attributes:
        seed: the seed of all random streams.
        planner: the planner of free arm motions on the kernel: ``rrt-connect`` or ``rrt``.
        checker: the collision checker: ``kernel``, compiled and conservative; or ``pybullet``, with
            which the baseline RRT plans for every joint group, whatever ``planner`` is.
        optimize: how a free path becomes a trajectory: ``smooth``, ``time-optimal``, ``shortest``
            (the baseline QP, for the arm) or ``none``; the last two stop at each corner.
        l1: whether the goal region of the baseline RRT uses the L1 norm instead of a box.
        iterations: limit on the iterations of one RRT-Connect search.
        rrt_iterations: limit on the iterations of one RRT search.
        shortcuts: number of shortcuts tried on a path; more make it shorter.
        placements: how many stances, grasps and poses are tried for one manipulation.
        attempts: refinements of one action before backtracking to the action before it.
        speed: share of the joint limits that free motions use.
        effort: factor on how much a search may try before it gives up.
    """

    seed: int = 0
    planner: str = "rrt-connect"
    checker: str = "kernel"
    optimize: str = "smooth"
    l1: bool = False
    iterations: int = 1500
    rrt_iterations: int = 4000
    shortcuts: int = 60
    placements: int = 150
    attempts: int = 4
    speed: float = 0.8
    effort: float = 1.0


@dataclass(frozen=True)
class FailedContacts:
    """Grasps and placements that failed in execution.

    Attributes:
        grasps: grasps that closed on nothing: the item's index and X_IT (4, 4).
        placements: poses at which an item did not stay: its index and X_WI (4, 4).
    """

    grasps: tuple[tuple[int, Array], ...] = ()
    placements: tuple[tuple[int, Array], ...] = ()


NOTHING_FAILED = FailedContacts()


@dataclass(frozen=True)
class OnBase:
    """An item that fell onto the robot's base.

    Attributes:
        index: the item's index in the scene.
        placement: where it lies.
        touching: pairs of the item and the links under it, which only the base moves.
    """

    index: int
    placement: Placement
    touching: frozenset[Pair]


@dataclass
class PlanningContext:
    """Scene, robot, worlds, settings and random streams, with their caches.

    Attributes:
        scene: the scene as it is known.
        robot: the robot, as the hand that acts sees it.
        world: PyBullet's world of scene and robot.
        settings: the settings of refinement.
        recovery: number of replannings in this run; part of the key of every random stream.
        listener: is notified of each stance and grasp that is tried.
        failed: grasps and placements that failed in execution in this run. They are tried again
            only if there are no others.
        slide: the slide of the push that was interrupted, if any: its goal is kept.
        on_base: items that fell onto the robot's base.
        fell: indices of items that were found lying: they may lie again until they are stood up.
    """

    scene: Scene
    robot: RobotModel
    world: PyBulletWorld
    settings: Settings = field(default_factory=Settings)
    recovery: int = 0
    listener: Listener = field(default_factory=Listener)
    failed: FailedContacts = NOTHING_FAILED
    slide: Slide | None = None
    on_base: tuple[OnBase, ...] = ()
    fell: frozenset[int] = frozenset()

    @cached_property
    def torque_models(self) -> dict[object, TorqueModel]:
        """The robot's dynamics by held item, a cache for ``optimize``."""
        return {}

    @cached_property
    def effort(self) -> Effort:
        """What the search has tried so far."""
        return Effort()

    def rng(self, *key: int) -> np.random.Generator:
        """The random stream of a key such as (action, attempt): the same for the same seed."""
        recovery = (_RECOVERY, self.recovery) if self.recovery else ()
        entropy = (self.settings.seed, *recovery, *key)
        return np.random.default_rng(np.random.SeedSequence(entropy))

    def for_replanning(self, recovery: int, **changes: Any) -> PlanningContext:
        """The context for replanning: the same kernel, other random streams.

        Args:
            recovery: number of replannings, this one included.
            changes: new values of attributes; a ``scene`` must have the same bodies and items.
        """
        context = replace(self, recovery=recovery, **changes)
        for hand in self.robot.views or ("",):
            known, new = self.acting(hand), context.acting(hand)
            new.__dict__["kernel"] = known.kernel
            new.__dict__["torque_models"] = known.torque_models
        return context

    def without(self, bodies: Collection[str]) -> PlanningContext:
        """The context without some bodies, and without their regions and handles.

        It uses the kernel's checker, for PyBullet's world keeps all bodies.
        """
        scene = replace(
            self.scene,
            bodies=tuple(body for body in self.scene.bodies if body.name not in bodies),
            regions=tuple(part for part in self.scene.regions if part.body not in bodies),
            handles=tuple(part for part in self.scene.handles if part.body not in bodies),
        )
        return replace(self, scene=scene, settings=replace(self.settings, checker="kernel"))

    @cached_property
    def kernel(self) -> SceneKernel:
        """The scene in the compiled collision kernel."""
        return SceneKernel(self.scene, self.robot)

    @property
    def compiled(self) -> bool:
        """Whether the kernel checks collisions; else PyBullet does."""
        return self.settings.checker == "kernel"

    def acting(self, hand: str) -> PlanningContext:
        """The context in which another hand acts, with the same caches.

        Returns this context if the hand acts here already, or if the name is empty.
        """
        if hand in ("", self.robot.hand):
            return self
        views: dict[str, PlanningContext] = self.__dict__.setdefault(
            "_views", {self.robot.hand: self}
        )
        if hand not in views:
            views[hand] = replace(self, robot=self.robot.acting(hand))
            views[hand].__dict__["_views"] = views
        views[hand].__dict__["effort"] = self.effort
        return views[hand]

    def always_touching(self, state: State) -> frozenset[Pair]:
        """Pairs that touch in ``state`` whatever the acting hand does.

        These are pairs of the base and items on it, and of other hands and the items they hold.
        """
        items = ((self.scene.items[k].name, hand) for k, hand in state.resting.items())
        held = (pairs(tuple(self.robot.acting(h).hand_links), (name,)) for name, h in items)
        return self.lying_on_base(state).union(*held)

    def lying_on_base(self, state: State) -> frozenset[Pair]:
        """Pairs of the robot's base and the items that still lie on it in ``state``."""
        still = (item for item in self.on_base if state.items[item.index] is item.placement)
        return frozenset().union(*(item.touching for item in still))

    def checker(
        self, state: State, allowed: frozenset[Pair] = frozenset(), margin: float | None = None
    ) -> Checker:
        """A collision checker for ``state``; the margin is the robot's if left out."""
        margin = self.robot.spacing.margin if margin is None else margin
        allowed = allowed | self.always_touching(state)
        if self.compiled:
            return self.kernel.checker(state, allowed, margin)
        return self.world.checker(state, allowed, margin)

    def free(
        self, state: State, group: str, allowed: frozenset[Pair], margin: float
    ) -> Callable[[Array], bool]:
        """A function that tells whether a configuration (k,) of one group is free of collision.

        All other joints are as in ``state``.

        Args:
            allowed: pairs that may touch.
            margin: distance (m) that all other pairs must keep.
        """
        checker = self.checker(state, allowed, margin)
        joints = self.robot.slice(group)
        q = state.q.copy()

        def free(values: Array) -> bool:
            q[joints] = values
            return checker.free(q)

        return free

    def speed(self, state: State, group: str) -> float:
        """The share of the joint limits that a free motion of ``group`` uses in ``state``."""
        careful = state.held is not None and group != "base"
        return self.settings.speed * (HELD_SPEED if careful else 1.0)

    def nearest(self, X_WH: Array, state: State) -> Array:
        """The hand pose nearest to X_WH (4, 4) that the arm can have if its base can't move.

        The grasp centre stays where it is; see ``Kinematics.nearest``. X_WH itself for a robot with
        a mobile base.
        """
        if not self.robot.standing_links:
            return X_WH
        return self.robot.kinematics.nearest(X_WH, state.q[self.robot.slice("base")])

    @cached_property
    def folded_arm(self) -> Array:
        """The folded arm (7,): its configuration at the start."""
        return self.scene.robot.q[self.robot.slice("arm")]

    def hand(self, state: State) -> Callable[[Array], Array]:
        """A function from arm configurations (7,) to X_WH (4, 4), with the base as in ``state``."""
        q, joints = state.q.copy(), self.robot.slice("arm")

        def pose(arm: Array) -> Array:
            q[joints] = arm
            return self.robot.kinematics.hand_pose(q)

        return pose


def without(state: State, items: Iterable[int]) -> State:
    """The State with some items removed: moved far below the floor, apart from each other."""
    for index in items:
        away = frozen(transform(None, (0.0, 5.0 * index, AWAY)))
        state = state.with_item(index, Placement(WORLD, away))
    return state
