"""State: the configuration of the robot, the scene joints and the items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from galley.domain.frames import Array, as_pose, frozen, plane_poses
from galley.domain.scene.model import HAND, WORLD, Scene

_RESTING = f"{HAND} "


def resting_hand(hand: str) -> str:
    """The parent name of an item in a hand that doesn't act; its frame is the robot's base."""
    return f"{_RESTING}{hand}"


@dataclass(frozen=True)
class Placement:
    """The placement of an item: its pose in the frame of the parent that it moves with.

    Attributes:
        parent: the parent P: ``world``, a body's name, ``hand`` for the acting hand, or
            ``resting_hand`` of another one.
        X_PI: pose (4, 4) in the frame of P.
    """

    parent: str
    X_PI: Array

    def __post_init__(self) -> None:
        as_pose(self.X_PI, "X_PI")


@dataclass(frozen=True)
class State:
    """Robot configuration, scene joint values and item placements.

    Attributes:
        q: robot configuration (n,): base, arm, fingers; m and rad.
        scene_q: scene joint values (nj,), m and rad, in the order of ``scene.joints``.
        items: placements, in the order of ``scene.items``.
        hand: name of the acting hand of a robot with several hands; else empty. The other hands
            stay where they are relative to the base, with the items that they hold.
            ``motion.effects.seen_by`` changes the acting hand.
    """

    q: Array
    scene_q: Array
    items: tuple[Placement, ...]
    hand: str = ""

    def with_robot(self, q: Array) -> State:
        """A copy with the robot at q; a held item moves with the hand."""
        return replace(self, q=frozen(q))

    def with_scene(self, scene_q: Array) -> State:
        """A copy with other scene joint values; a drawer's contents move with it."""
        return replace(self, scene_q=frozen(scene_q))

    def with_item(self, index: int, placement: Placement) -> State:
        """A copy with one item placed elsewhere."""
        items = (*self.items[:index], placement, *self.items[index + 1 :])
        return replace(self, items=items)

    @property
    def held(self) -> int | None:
        """Index of the item in the acting hand, or None."""
        for index, placement in enumerate(self.items):
            if placement.parent == HAND:
                return index
        return None

    @property
    def resting(self) -> dict[int, str]:
        """The items in hands that don't act: index of the item, name of the hand."""
        parents = ((k, each.parent) for k, each in enumerate(self.items))
        return {k: p.removeprefix(_RESTING) for k, p in parents if p.startswith(_RESTING)}

    def holds(self, hands: Sequence[str]) -> tuple[int | None, ...]:
        """Index of the item in each of the named hands, or None; one hand has the empty name."""
        rests = {hand: index for index, hand in self.resting.items()}
        return tuple(self.held if h == self.hand else rests.get(h) for h in hands or ("",))

    @property
    def in_hands(self) -> set[int | None]:
        """Indices of the items in any hand; with None among them if the acting hand is empty."""
        return {self.held, *self.resting}


def initial_state(scene: Scene) -> State:
    """The start state that the scene file describes."""
    scene_q = frozen([joint.start for joint in scene.joints])
    items = tuple(placement_at(scene, item.X_WI, scene_q) for item in scene.items)
    return State(scene.robot.q, scene_q, items, next(iter(scene.robot.hands), ""))


def item_pose(scene: Scene, state: State, index: int, X_WH: Array) -> Array:
    """X_WI (4, 4) of one item; X_WH is the hand's pose, used if the item is held."""
    placement = state.items[index]
    if placement.parent == HAND:
        return X_WH @ placement.X_PI
    return parent_pose(scene, state, placement.parent) @ placement.X_PI


def parent_pose(scene: Scene, state: State, parent: str) -> Array:
    """The pose X_WP (4, 4) of any parent except the acting hand."""
    if parent.startswith(_RESTING):
        return base_pose(state.q)
    return scene.body_pose(parent, state.scene_q)


def base_pose(q: Array) -> Array:
    """X_WB (4, 4) of the robot's base for q (n,), which begins with its x, y and heading."""
    return plane_poses(q[:3])


def item_poses(scene: Scene, state: State, X_WH: Array) -> list[Array]:
    """X_WI (4, 4) of every item, in the order of ``scene.items``."""
    return [item_pose(scene, state, index, X_WH) for index in range(len(state.items))]


def placement_at(scene: Scene, X_WI: Array, scene_q: Array) -> Placement:
    """The placement of a released item at X_WI (4, 4): in a drawer it moves with the drawer."""
    parent = _moving_body(scene, X_WI, scene_q)
    return Placement(parent, frozen(scene.in_parent(X_WI, parent, scene_q)))


def _moving_body(scene: Scene, X_WI: Array, scene_q: Array) -> str:
    """The body whose volume region contains an item at X_WI (4, 4), or ``world``.

    The item moves with that body, such as a drawer.
    """
    for region in scene.regions:
        if region.kind != "volume":
            continue
        p = scene.in_parent(X_WI, region.body, scene_q)[:3, 3]
        if bool((p >= region.boxes[0, 0]).all() and (p <= region.boxes[0, 1]).all()):
            return region.body
    return WORLD
