"""Noise: how the true world differs from the scene, and what is seen of it from what is.

The planner knows the scene file. The world that physics runs in is drawn from it with other
friction, masses and poses, and every look at the world errs a little.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np

from galley.domain.errors import BadInput, did_you_mean
from galley.domain.frames import Array, frozen, inverse
from galley.domain.scene.model import HAND, Scene
from galley.domain.state import State, item_pose
from galley.execution.disturbance.standing import boxes_of, carried, displaced, fits, furniture

logger = logging.getLogger(__name__)
DRAWS = 100  # of an item's pose; where none of them stands free, it stays where it was
_FLAG = "--noise"

# The most that each may be, and why no more.
_MOST: dict[str, tuple[float, str]] = {
    "friction": (0.9, "as a share of what it is: with 1 a surface could have none"),
    "mass": (0.9, "as a share of what it is: with 1 a thing could have none"),
    "position": (0.1, "in m: with more it is another task"),
    "turn": (float(np.pi), "in rad: that is every direction"),
    "observation": (0.05, "in m: a camera that errs more is of no use"),
    "observation_turn": (0.5, "in rad: a camera that errs more is of no use"),
}


@dataclass(frozen=True)
class Noise:
    """How much is perturbed. All zero: nothing.

    Attributes:
        friction: share; each surface, each item, the finger pads and each scene joint have their
            friction multiplied by a factor of their own, uniform in 1 +- this.
        mass: share; likewise for items, drawers and doors.
        position: m; each item's start is displaced by uniform +- this in x and in y.
        turn: rad; and turned by uniform +- this about the vertical through its centre.
        observation: m, standard deviation of what is seen of an item's x and y; of its height too
            while it is held, for a support's height is known. Drawn anew at each look.
        observation_turn: rad, standard deviation of what is seen of its yaw.

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
        for name, (most, why) in _MOST.items():
            value = getattr(self, name)
            if not value >= 0.0:
                raise BadInput.one(_FLAG, f"{name} must be a number from 0, got {value:g}")
            if value > most:
                raise BadInput.one(
                    _FLAG, f"{name} must be at most {most:.3g}, {why}; got {value:g}"
                )

    def __str__(self) -> str:
        told = (f"{f.name}={getattr(self, f.name):g}" for f in fields(self))
        return ",".join(text for text in told if not text.endswith("=0")) or "none"

    def scaled(self, factor: float) -> Noise:
        """``factor`` times as much of everything.

        Raises:
            BadInput: that is too much.
        """
        return Noise(**{f.name: factor * getattr(self, f.name) for f in fields(self)})

    def only(self, *names: str) -> Noise:
        """The same of what is named, none of the rest."""
        return Noise(**{name: getattr(self, name) for name in names})

    def world(self, scene: Scene, rng: np.random.Generator) -> Scene:
        """The true world: the scene with other friction, masses and item poses.

        Items stay on what carries them: a pose in which an item would overlap furniture or another
        item (by their boxes), hang over an edge, or leave a region that its centre is over, is
        drawn again, up to ``DRAWS`` times. What stands on another item moves with that one. The
        same generator gives the same directions whatever the amounts, so that runs with more and
        with less noise can be compared.
        """
        friction, mass, pose = rng.spawn(3)

        def scaled_by(rng: np.random.Generator, share: float) -> Callable[[float], float]:
            return lambda value: value * (1.0 + share * float(rng.uniform(-1.0, 1.0)))

        rubbed, weighed = scaled_by(friction, self.friction), scaled_by(mass, self.mass)
        poses = self._moved(scene, pose)
        pads = rubbed(scene.physics.finger_friction)
        return replace(
            scene,
            physics=replace(scene.physics, finger_friction=pads),
            bodies=tuple(
                replace(body, friction=rubbed(body.friction), mass=weighed(body.mass))
                for body in scene.bodies
            ),
            items=tuple(
                replace(item, friction=rubbed(item.friction), mass=weighed(item.mass), X_WI=X_WI)
                for item, X_WI in zip(scene.items, poses, strict=True)
            ),
            joints=tuple(replace(j, friction=rubbed(j.friction)) for j in scene.joints),
        )

    def seen(self, scene: Scene, state: State, rng: np.random.Generator) -> State:
        """What is observed of ``state``: item poses with errors, everything else as it is."""
        from galley.robots.panda.mobile import hand_pose  # takes a while to load

        if not (self.observation or self.observation_turn):
            return state
        X_WH = hand_pose(state.q, scene.robot.base)
        for index, placement in enumerate(state.items):
            x, y, z, turn = rng.standard_normal(4)
            X_WI = item_pose(scene, state, index, X_WH)
            way = self.observation * np.array([x, y])
            X_WS = displaced(X_WI, way, self.observation_turn * turn)
            X_WP = X_WH
            if placement.parent == HAND:
                X_WS[2, 3] += self.observation * z
            else:
                X_WP = scene.body_pose(placement.parent, state.scene_q)
            seen = replace(placement, X_PI=frozen(inverse(X_WP) @ X_WS))
            state = state.with_item(index, seen)
        return state

    def _moved(self, scene: Scene, rng: np.random.Generator) -> tuple[Array, ...]:
        """X_WI (4, 4) of every item; what stands on each other is moved as one."""
        scene_q = np.array([joint.start for joint in scene.joints])
        solids = furniture(scene, scene_q)
        before = [item.X_WI for item in scene.items]
        poses = list(before)
        groups = _groups(scene)
        for group, own in zip(groups, rng.spawn(len(groups)), strict=True):
            rest = [k for k in range(len(poses)) if k not in group]
            around = solids.joined(
                boxes_of([scene.items[k] for k in rest], [poses[k] for k in rest])
            )
            for _ in range(DRAWS):
                x, y, turn = own.uniform(-1.0, 1.0, 3)
                way = self.position * np.array([x, y])
                D = displaced(before[group[0]], way, self.turn * turn) @ inverse(before[group[0]])
                now = [D @ before[k] for k in group]
                if all(
                    fits(scene, scene_q, scene.items[k], before[k], X_WI, solids, around)
                    for k, X_WI in zip(group, now, strict=True)
                ):
                    for k, X_WI in zip(group, now, strict=True):
                        poses[k] = frozen(X_WI)
                    break
            else:
                names = ", ".join(scene.items[k].name for k in group)
                logger.info("%s: no displaced pose is free, so it stays", names)
        return tuple(poses)


def _groups(scene: Scene) -> list[list[int]]:
    """Indices of the items that stand on each other, the lowest of each group first."""
    poses = [item.X_WI for item in scene.items]
    order = sorted(range(len(poses)), key=lambda k: (float(poses[k][2, 3]), k))
    group = {k: [k] for k in order}
    if len(order) < 2:
        return list(group.values())
    for k in order:
        on = carried(scene.items[k], poses[k], boxes_of(scene.items, poses)).any(axis=0)
        for other in np.flatnonzero(on).tolist():
            if group[other] is not group[k]:
                group[other] += group[k]
                for member in group[k]:
                    group[member] = group[other]
    return list({id(each): each for each in group.values()}.values())


def stream(seed: int, purpose: str) -> np.random.Generator:
    """The random numbers of a run for one purpose (``world``, ``looks``, ``fault``)."""
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
    """A level's name, or ``friction=0.3,position=0.01``: what is not named is 0.

    Raises:
        BadInput: one line that says what is wrong and what there is.
    """
    if text in LEVELS:
        return LEVELS[text]
    keys = [f.name for f in fields(Noise)]
    values: dict[str, float] = {}
    for part in text.split(","):
        key, equals, number = (word.strip() for word in part.partition("="))
        if not equals:
            hint = did_you_mean(key, tuple(LEVELS))
            what = f"no level '{key}'{hint}; there are {', '.join(LEVELS)}, or KEY=NUMBER,..."
            raise BadInput.one(_FLAG, what)
        if key not in keys:
            what = f"no key '{key}'{did_you_mean(key, keys)}; there are {', '.join(keys)}"
            raise BadInput.one(_FLAG, what)
        if key in values:
            raise BadInput.one(_FLAG, f"{key} is given twice")
        try:
            values[key] = float(number)
        except ValueError:
            raise BadInput.one(_FLAG, f"{key} needs a number, got '{number}'") from None
    return Noise(**values)
