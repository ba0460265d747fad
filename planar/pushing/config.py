"""The config of a pushing simulation: every parameter with its unit and bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf, isfinite, pi
from typing import Any

import numpy as np

from galley.domain.parameters import (
    DURATION,
    LINEAR_DRAG,
    MASS,
    MASS_OR_WALL,
    Quantity,
    check,
    parameter,
    parameters,
)
from galley.planar.geometry.polygon import SimplePolygon
from galley.planar.geometry.support import FRICTION, GRAVITY, LENGTH, STILL
from galley.planar.pushing.shapes import shape

POSITION = Quantity("m")
ANGLE = Quantity("rad")
TURN = Quantity("rad", 0.0)
STIFFNESS = Quantity("N/m", 0.0)
COUNT = Quantity("1", 1.0)
ANY_FRICTION = Quantity("1", 0.0, infinite=True)
GAIN = Quantity("1/s^2", 0.0)
RATE = Quantity("1/s", 0.0)
ACCELERATION = Quantity("m/s^2", 0.0)
_ROUNDING = 1e-9  # m
_ADDED = ("start_away", "start_turned")
"""Parameters that records of earlier versions don't have."""
RANGED = ("mass", "friction", "pusher_mass", "contact_friction")
"""Numbers that ``PushConfig.ranges`` may vary; others depend on each other."""


@dataclass(frozen=True)
class ArmConfig:
    """The arm that holds the pusher; the links are the original's at 1 mm a pixel.

    Its base is beside the table. On the table, as the original's at (300, 300), the tip couldn't
    come near the base without touching the first link.

    Attributes:
        links: lengths of the links from the base on, m.

    Raises:
        ValueError: a number out of its bounds; the message names it.
    """

    links: tuple[float, ...] = (0.15, 0.15, 0.15, 0.15, 0.15)
    base_x: float = parameter(0.256, POSITION, "position of the base")
    base_y: float = parameter(-0.1, POSITION, "position of the base")
    base_theta: float = parameter(pi / 2.0, ANGLE, "heading of the base")
    threshold: float = parameter(0.02, LENGTH, "distance of links below which they are penalised")
    weight: float = parameter(0.005, Quantity("m", 0.0), "penalty (m^2) per metre below it")

    def __post_init__(self) -> None:
        check(self)
        links = tuple(LENGTH.checked(f"links[{i}]", length) for i, length in enumerate(self.links))
        if not links:
            raise ValueError("links = (): an arm needs at least one")
        object.__setattr__(self, "links", links)


@dataclass(frozen=True)
class PushConfig:
    """A body, a pusher and a table from (0, 0) to (width, height).

    Attributes:
        shape: the outline in any frame (a body's pose is that of its centroid), or the name of a
            shipped outline.
        arm: the arm that holds the pusher.
        ranges: of parameters that differ by seed, see ``drawn``: the lowest and highest value of
            each of ``RANGED``, and for ``shape`` a list of outlines' vertices. The parameter itself
            takes the first entry; a single entry isn't a range.

    Raises:
        ValueError: a number out of its bounds, an unknown shape, a bad range, or a goal beyond the
            table; the message names it.
    """

    shape: SimplePolygon = field(default_factory=lambda: shape("T"))
    mass: float = parameter(1.0, MASS, "of the body")
    friction: float = parameter(0.5, FRICTION, "between body and table")
    gravity: float = parameter(GRAVITY, ACCELERATION, "that presses the body on the table")
    still: float = parameter(0.0, STILL, "speed below which friction with the table falls off")
    pusher_radius: float = parameter(0.02, LENGTH, "of the round pusher")
    pusher_mass: float = parameter(float("inf"), MASS_OR_WALL, "inf: no contact slows the pusher")
    pusher_gain: float = parameter(100.0, GAIN, "acceleration per distance from the target")
    pusher_damping: float = parameter(20.0, RATE, "deceleration per speed")
    contact_stiffness: float = parameter(2000.0, STIFFNESS, "force per depth")
    contact_damping: float = parameter(20.0, LINEAR_DRAG, "force per relative velocity")
    contact_friction: float = parameter(
        float("inf"), ANY_FRICTION, "bounds the damping force along the outline; inf: does not"
    )
    width: float = parameter(0.512, LENGTH, "of the table, along x")
    height: float = parameter(0.512, LENGTH, "of the table, along y")
    wall_stiffness: float = parameter(1000.0, STIFFNESS, "force per depth of each vertex")
    wall_damping: float = parameter(10.0, LINEAR_DRAG, "force per speed into the wall")
    dt: float = parameter(0.01, DURATION, "of a substep")
    substeps: float = parameter(10, COUNT, "in a control step")
    goal_x: float = parameter(0.256, POSITION, "where the centroid shall be")
    goal_y: float = parameter(0.256, POSITION, "where the centroid shall be")
    goal_theta: float = parameter(pi / 4.0, ANGLE, "how the body shall be turned")
    start_away: float = parameter(
        1.0, LENGTH, "of a random start from the goal, at most in x and y"
    )
    start_turned: float = parameter(pi, TURN, "of a random start from the goal, at most")
    arm: ArmConfig = field(default_factory=ArmConfig)
    ranges: Mapping[str, Sequence[Any]] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        for name, values in self.ranges.items():
            for vertices in values[:0:-1] if name == "shape" else ():
                # Checks that the goal of this outline, too, is on the table.
                replace(self, shape=SimplePolygon(np.array(vertices)), ranges={})
            if name != "shape" and len(values) > 1 and not values[0] <= values[1] < inf:
                raise ValueError(f"{name} = {list(values)}: must be the least and the most, finite")
            first = SimplePolygon(np.array(values[0])) if name == "shape" else values[0]
            object.__setattr__(self, name, first)
        ranges = {name: list(values) for name, values in self.ranges.items() if len(values) > 1}
        object.__setattr__(self, "ranges", ranges)
        check(self)
        if self.substeps != round(self.substeps):
            raise ValueError(f"substeps = {self.substeps:g}: must be a whole number")
        if not isinstance(self.shape, SimplePolygon):
            object.__setattr__(self, "shape", shape(self.shape))
        size = np.array([self.width, self.height])
        outline = SimplePolygon(self.shape.vertices - self.shape.mass_properties(1.0).centroid)
        corners = outline.moved(self.goal).vertices
        beyond = np.maximum(-corners, corners - size).max(axis=0)
        if beyond.max() > _ROUNDING:
            name = ("goal_x", "goal_y")[int(beyond.argmax())]
            raise ValueError(
                f"{name} = {getattr(self, name):g}: there the body is {beyond.max():.3g} m beyond "
                f"the table of {size[0]:g} x {size[1]:g} m"
            )

    @property
    def goal(self) -> tuple[float, float, float]:
        """Pose of the centroid at the goal: x, y (m), theta (rad)."""
        return self.goal_x, self.goal_y, self.goal_theta

    def drawn(self, seed: int) -> PushConfig:
        """The table of a seed: a value of each range, uniformly drawn, from the seed alone."""
        drawn = {}
        for name, values in self.ranges.items():
            rng = np.random.default_rng([seed, *name.encode()])  # independent of other ranges
            pick = int(rng.integers(len(values)))
            drawn[name] = [values[pick] if name == "shape" else rng.uniform(*values)]
        return replace(self, ranges=drawn)


def config_record(config: PushConfig) -> dict[str, Any]:
    """A config as data of JSON; infinity, which JSON doesn't have, becomes text."""

    def numbers(model: PushConfig | ArmConfig) -> dict[str, Any]:
        values = {field.name: getattr(model, field.name) for field in parameters(type(model))}
        return {name: v if isfinite(v) else str(v) for name, v in values.items()}

    arm = {**numbers(config.arm), "links": list(config.arm.links)}
    record = {**numbers(config), "vertices": config.shape.vertices.tolist(), "arm": arm}
    return record | ({"ranges": config.ranges} if config.ranges else {})


def same_table(a: PushConfig, b: PushConfig) -> bool:
    """Whether two configs differ at most in their random starts and in ranges."""
    ignored = {"ranges", "start_away", "start_turned", *a.ranges, *b.ranges}
    x, y = config_record(a), config_record(b)
    return all(x[name] == y[name] for name in x.keys() - ignored)


def config_of_record(record: Mapping[str, Any]) -> PushConfig:
    """The config of a record: the inverse of ``config_record``.

    Raises:
        KeyError, TypeError, ValueError: it isn't such a record.
    """
    made = {name: getattr(PushConfig, name) for name in _ADDED}
    made |= record  # an older record without a parameter means its default
    values: dict[str, Any] = {f.name: float(made[f.name]) for f in parameters(PushConfig)}
    arm = {field.name: float(record["arm"][field.name]) for field in parameters(ArmConfig)}
    links = tuple(float(length) for length in record["arm"]["links"])
    outline = SimplePolygon(np.array(record["vertices"], dtype=np.float64))
    values["ranges"] = record.get("ranges", {})
    return PushConfig(shape=outline, arm=ArmConfig(links=links, **arm), **values)
