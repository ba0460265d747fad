"""Noise: perturbs the scene that physics simulates, and the observations.

The planner knows only the scene file. Physics runs in a scene with perturbed friction, masses and
poses, and every observation has an error.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, fields, replace
from typing import TypeVar

import numpy as np

from galley.domain.errors import BadInput, did_you_mean
from galley.domain.frames import Array, frozen, inverse
from galley.domain.scene.model import HAND, Body, Item, Scene
from galley.domain.state import State, item_pose, parent_pose
from galley.execution.disturbance.boxes import (
    displaced,
    is_free_placement,
    item_box,
    obstacles,
    overlaps,
)

_BodyOrItem = TypeVar("_BodyOrItem", Body, Item)
LEVEL = 0.005  # m, the largest gap between an item and one that stands on it
DRAWS = 100  # samples of an item's pose; if none is free, the item stays where it was
_FLAG = "noise"

# The largest amounts. Shares are below 1, so that every surface has friction and every item a mass.
# Beyond the others the task would be a different one, or the camera useless; a turn has all angles.
_LARGEST = {
    "friction": 0.9,
    "mass": 0.9,
    "position": 0.1,
    "turn": float(np.pi),
    "observation": 0.05,
    "observation_turn": 0.5,
}


@dataclass(frozen=True)
class Noise:
    """The amounts of noise; zeros mean no noise, larger values more noise.

    Attributes:
        friction: share. The friction of each surface, item and scene joint and of the finger pads
            is multiplied by a factor of its own, uniform in 1 +- ``friction``.
        mass: share; the same for the masses of items, drawers and doors.
        position: m. Each item starts displaced in x and in y, uniform in +- ``position``.
        turn: rad. Each item starts turned about the vertical through its centre, uniform in
            +- ``turn``.
        observation: m, standard deviation of an item's observed x and y, drawn at each observation.
            The observed height has an error only while the item is held, as support heights are
            known.
        observation_turn: rad, standard deviation of an item's observed yaw.

    Raises:
        BadInput: a value is negative, not a number, or too large.
    """

    friction: float = 0.0
    mass: float = 0.0
    position: float = 0.0
    turn: float = 0.0
    observation: float = 0.0
    observation_turn: float = 0.0

    def __post_init__(self) -> None:
        for name, largest in _LARGEST.items():
            value = getattr(self, name)
            if not 0.0 <= value <= largest:
                what = f"{name} must be a number from 0 to {largest:.3g}, got {value:g}"
                raise BadInput.one(_FLAG, what)

    def __str__(self) -> str:
        parts = (f"{f.name}={getattr(self, f.name):g}" for f in fields(self))
        return ",".join(text for text in parts if not text.endswith("=0")) or "none"

    def scaled(self, factor: float) -> Noise:
        """All amounts times ``factor``.

        Raises:
            BadInput: one is too large.
        """
        return Noise(**{f.name: factor * getattr(self, f.name) for f in fields(self)})

    def only(self, *names: str) -> Noise:
        """The same noise with only the named amounts; all others are zero."""
        return Noise(**{name: getattr(self, name) for name in names})

    def true_scene(self, scene: Scene, rng: np.random.Generator) -> Scene:
        """The scene with perturbed friction, masses and item poses.

        Items keep their supports: a pose in which an item would overlap furniture or another item
        (by bounding boxes), or reach out of a region that its centre is over, is drawn again, up to
        ``DRAWS`` times. Stacked items move together. The same generator gives the same directions
        for all amounts, so that runs with more and less noise can be compared.
        """
        friction, mass, pose = rng.spawn(3)
        poses = self._displaced_poses(scene, pose)

        def new_friction(value: float) -> float:
            return value * (1.0 + self.friction * float(friction.uniform(-1.0, 1.0)))

        def perturbed(body: _BodyOrItem) -> _BodyOrItem:
            factor = 1.0 + self.mass * float(mass.uniform(-1.0, 1.0))
            return replace(body, friction=new_friction(body.friction), mass=body.mass * factor)

        pads = new_friction(scene.physics.finger_friction)
        return replace(
            scene,
            physics=replace(scene.physics, finger_friction=pads),
            bodies=tuple(perturbed(body) for body in scene.bodies),
            items=tuple(
                replace(perturbed(item), X_WI=X_WI)
                for item, X_WI in zip(scene.items, poses, strict=True)
            ),
            joints=tuple(replace(j, friction=new_friction(j.friction)) for j in scene.joints),
        )

    def observed(self, scene: Scene, state: State, rng: np.random.Generator) -> State:
        """The observation of ``state``: item poses with errors, everything else exact."""
        from galley.robots.catalog import robot_of  # slow to import

        if not (self.observation or self.observation_turn):
            return state
        X_WH = robot_of(scene.robot).acting(state.hand).kinematics.hand_pose(state.q)
        for index, placement in enumerate(state.items):
            x, y, z, turn = rng.standard_normal(4)
            X_WI = item_pose(scene, state, index, X_WH)
            offset = self.observation * np.array([x, y])
            X_WS = displaced(X_WI, offset, self.observation_turn * turn)
            X_WP = X_WH
            if index in state.in_hands:
                X_WS[2, 3] += self.observation * z
            if placement.parent != HAND:
                X_WP = parent_pose(scene, state, placement.parent)
            observed = replace(placement, X_PI=frozen(inverse(X_WP) @ X_WS))
            state = state.with_item(index, observed)
        return state

    def _displaced_poses(self, scene: Scene, rng: np.random.Generator) -> tuple[Array, ...]:
        """The displaced pose X_WI (4, 4) of every item; a stack of items moves as one."""
        scene_q = np.array([joint.start for joint in scene.joints])
        before = [item.X_WI for item in scene.items]
        poses = list(before)
        stacks = _stacks(scene)
        for stack, own in zip(stacks, rng.spawn(len(stacks)), strict=True):
            around, first = obstacles(scene, scene_q, poses, stack), before[stack[0]]
            # Numbers are drawn in [-1, 1] and scaled, so that the amounts don't change them.
            for _ in range(DRAWS):
                x, y, turn = own.uniform(-1.0, 1.0, 3)
                offset = self.position * np.array([x, y])
                D = displaced(first, offset, self.turn * turn) @ inverse(first)
                now = {k: frozen(D @ before[k]) for k in stack}
                if all(
                    is_free_placement(scene, scene_q, scene.items[k], before[k], X_WI, around)
                    for k, X_WI in now.items()
                ):
                    poses = [now.get(k, X_WI) for k, X_WI in enumerate(poses)]
                    break
        return tuple(poses)


def _stacks(scene: Scene) -> list[list[int]]:
    """Indices of the items of each stack, the lowest first; a single item is a stack, too."""
    poses, stacks = [item.X_WI for item in scene.items], list[list[int]]()
    boxes = [item_box(item, X_WI) for item, X_WI in zip(scene.items, poses, strict=True)]
    reach = [float(np.abs(box.X[0, 2, :3]) @ box.half[0]) for box in boxes]  # m, up and down
    z = [float(X_WI[2, 3]) for X_WI in poses]
    for k in sorted(range(len(poses)), key=lambda k: (z[k], k)):
        on = {
            j
            for j in range(len(poses))
            if z[k] - reach[k] > z[j] + reach[j] - LEVEL
            and overlaps(boxes[k], boxes[j])[0] > -LEVEL
        }
        below = [stack for stack in stacks if not on.isdisjoint(stack)] or [[]]
        for other in below[1:]:  # it stands on several stacks, which become one
            below[0] += other
            stacks.remove(other)
        if not below[0]:
            stacks.append(below[0])
        below[0].append(k)
    return stacks


def stream(seed: int, purpose: str) -> np.random.Generator:
    """The random generator of a run for one purpose (``world``, ``looks``, ``fault``)."""
    return np.random.default_rng(np.random.SeedSequence((seed, zlib.crc32(purpose.encode()))))


NONE = Noise()
MODERATE = Noise(
    friction=0.2, mass=0.2, position=0.005, turn=0.05, observation=0.001, observation_turn=0.01
)
LEVELS = {
    "none": NONE,
    "low": MODERATE.scaled(0.5),
    "moderate": MODERATE,
    "high": MODERATE.scaled(2.0),
}


def parse_noise(text: str) -> Noise:
    """The noise in a text: a level's name, or amounts such as ``friction=0.3,position=0.01``.

    Amounts that are left out are 0.

    Raises:
        BadInput: the text is malformed; the message, of one line, lists levels and keys.
    """
    if text in LEVELS:
        return LEVELS[text]
    values: dict[str, float] = {}
    for part in text.split(","):
        key, _, number = (word.strip() for word in part.partition("="))
        if key not in _LARGEST:
            hint = did_you_mean(key, (*LEVELS, *_LARGEST))
            there = f"there are {', '.join(LEVELS)}, or KEY=NUMBER,... of {', '.join(_LARGEST)}"
            raise BadInput.one(_FLAG, f"unknown level or key '{key}'{hint}; {there}")
        try:
            values[key] = float(number)
        except ValueError:
            raise BadInput.one(_FLAG, f"{key} needs a number, got '{number}'") from None
    return Noise(**values)
