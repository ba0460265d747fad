"""gym-pusht's table in px: a T of 120 px, walls whose inner sides stand at 7 and 504 px.

Two physics move it. ``GalleyPhysics`` is ours at 1 mm a pixel: forces of a spring and a damper,
friction with the table, and the mass properties of the outline. ``UpstreamPhysics`` is pymunk, set
up so that its states are those of gym-pusht 0.1.8 to the last bit. A block's pose is that of the
middle of the T's top edge, in gym-pusht as here.

gym-pusht's block isn't a T of uniform density: its moment of inertia is 3000 px^2 about
(0, 45) px, that of the outline 1931.6 px^2 about (0, 40.71) px, for a mass of 1. So a push turns
its block less.
"""

from __future__ import annotations

import math
from dataclasses import replace
from importlib.util import find_spec
from math import cos, pi, sin
from typing import Any, NamedTuple, Protocol

import numpy as np

from galley.domain.frames import Array
from galley.planar.pushing.config import PushConfig
from galley.planar.pushing.picture import View, view_of
from galley.planar.pushing.shapes import shape
from galley.planar.pushing.simulation import Simulation, State

SIZE = 512.0  # px, of what is observed and commanded
GOAL = np.array([256.0, 256.0, pi / 4.0])  # pose of the block
KEYPOINTS = np.array(
    [(-60, 0), (60, 0), (60, 30), (-60, 30), (-15, 30), (15, 30), (15, 120), (-15, 120)],
    dtype=float,
)
"""(8, 2) px in the block's frame: corners of bar and stem."""
_GRAVITY_CENTER = np.array([0.0, 45.0])  # px in the block's frame: where gym-pusht has it
_WALL, _FAR = 7.0, 504.0  # px: the walls' inner sides
_SCALE = 1000.0  # px/m
_RADIUS = 15.0  # px, of the pusher
_DT, _SUBSTEPS = 0.01, 10  # s
_TRIES = 1000  # half of the draws are free
_T = shape("T")  # whose frame is that of gym-pusht's block
_CENTROID = _T.mass_properties(1.0).centroid  # m


class Point(NamedTuple):
    """x, y (px, or px/s)."""

    x: float
    y: float


class Body(NamedTuple):
    """What pymunk says of a body: px, px/s of its centre of gravity, rad, rad/s."""

    position: Point
    velocity: Point
    angle: float = 0.0
    angular_velocity: float = 0.0


class Physics(Protocol):
    """What moves the table.

    Attributes:
        sim: of the same table in m, whose origin is the inner corner of the walls.
        state: the table as ``sim`` has it, with its coverage.
        pusher: (2,) px. pusher_velocity: (2,) px/s. block: (3,) px, px, rad.
        contacts: gym-pusht's ``n_contacts`` of the last control step.
        bodies: pusher and block, as pymunk has them.
        dt: s, of a substep.
    """

    sim: Simulation
    state: State
    pusher: Array
    pusher_velocity: Array
    block: Array
    contacts: int
    dt: float

    @property
    def bodies(self) -> tuple[Any, Any]:
        """Pusher and block."""

    def random(self, rng: np.random.Generator) -> Array:
        """A start for ``place``."""

    def place(self, start: Array) -> None:
        """Put all at rest: (5,) px, rad; see ``turned``."""

    def move(self, start: Array) -> None:
        """As gym-pusht's ``_set_state``, which goes on with the same table; see ``turned``."""

    def step(self, x: float, y: float) -> None:
        """Drive the pusher to (x, y) px for 0.1 s."""


def drawn(rng: np.random.Generator) -> Array:
    """gym-pusht's random start (5,): the same numbers of the same generator."""
    whole = [rng.integers(*bounds) for bounds in ((50, 450), (50, 450), (100, 400), (100, 400))]
    return np.array([*whole, rng.uniform(-np.pi, np.pi)], dtype=np.float64)


def turned(start: Array, before: float = 0.0) -> Array:
    """Pose (3,) px, px, rad of the block after a start (5,).

    gym-pusht puts the block where the start says, at the angle (rad) ``before``, and then turns it
    about its centre of gravity, which moves its frame.
    """
    x, y, theta = start[2:].tolist()
    x, y = np.array([x, y]) + _turn(before) @ _GRAVITY_CENTER - _turn(theta) @ _GRAVITY_CENTER
    return np.array([x, y, theta])


def simulation(config: PushConfig | None) -> Simulation:
    """Ours of gym-pusht's table, pusher and goal; the rest is that of a config.

    Raises:
        ValueError: the config's body isn't the T.
    """
    config = PushConfig() if config is None else config
    if not np.array_equal(config.shape.vertices, _T.vertices):
        raise ValueError('shape: compat="gym-pusht" has the T only')
    inside = (_FAR - _WALL) / _SCALE
    x, y, theta = _centroid(GOAL)
    return Simulation(
        replace(
            config, width=inside, height=inside, pusher_radius=_RADIUS / _SCALE,
            goal_x=x, goal_y=y, goal_theta=theta,
        )
    )  # fmt: skip


def view(width: int, height: int) -> View:
    """The plane from 0 to 512 px, in a picture of so many pixels."""
    return view_of(metres(np.zeros(2)), metres(np.full(2, SIZE)), width, height)


class GalleyPhysics:
    """Ours; ``n_contacts`` is 1 where the pusher touches the block at the end of a step."""

    def __init__(self, sim: Simulation) -> None:
        self.sim, self.dt = sim, sim.config.dt

    @property
    def bodies(self) -> tuple[Body, Body]:
        """Pusher and block; to look at, ``move`` moves them."""
        x, y, angle = self.block.tolist()
        vx, vy, omega = self.state.body_velocity[:, 0].tolist()
        pusher = Body(Point(*self.pusher.tolist()), Point(*self.pusher_velocity.tolist()))
        return pusher, Body(Point(x, y), Point(_SCALE * vx, _SCALE * vy), angle, omega)

    def random(self, rng: np.random.Generator) -> Array:
        """gym-pusht's draw; drawn again while the block overlaps the pusher or a wall."""
        for _ in range(_TRIES):
            start = drawn(rng)
            body, pusher = self._metres(start)
            if self.sim.free(body[None], pusher[None])[0]:
                break
        return start

    def place(self, start: Array) -> None:
        """Put all at rest."""
        self.state = self.sim.states(*self._metres(start))
        self._look()

    def move(self, start: Array) -> None:
        """The same, from the angle that the block has."""
        self.state = self.sim.states(*self._metres(start, self.block[2]))
        self._look()

    def step(self, x: float, y: float) -> None:
        """Drive the pusher for a control step of the config."""
        self.sim.run(self.state, metres(np.array([[x, y]])))
        self._look()

    def _metres(self, start: Array, before: float = 0.0) -> tuple[Array, Array]:
        """Body and pusher in the simulation's frame."""
        return _centroid(turned(start, before)), metres(start[:2])

    def _look(self) -> None:
        values, (x, y, theta) = self.state.values[:, 0], self.state.body[:, 0].tolist()
        self.pusher, self.pusher_velocity = _SCALE * values[0:2] + _WALL, _SCALE * values[2:4]
        self.sim.check(x, y)
        x, y = (x, y) - _turn(theta) @ _CENTROID
        self.block = np.array([_SCALE * x + _WALL, _SCALE * y + _WALL, theta])
        away = math.hypot(values[0] - values[4], values[1] - values[5])
        near = away < self.sim.radius + self.sim.config.pusher_radius
        self.contacts = int(near and self.sim.gap(self.state.body.T, self.state.pusher.T)[0] <= 0.0)


class UpstreamPhysics:
    """pymunk as gym-pusht 0.1.8 uses it; tested with pymunk 6.6, 6.8, 6.9, 6.11 and 7.3.

    The pusher is kinematic: nothing stops it. A damping of 0 takes all velocity from the block at
    the start of each substep. The walls give way to a block that is pressed on them hard enough.

    Raises:
        ImportError: pymunk isn't there.
    """

    def __init__(self, sim: Simulation) -> None:
        if find_spec("pymunk") is None:
            raise ImportError('physics="upstream" needs pymunk: install the extra upstream')
        self.sim, self.dt = sim, _DT
        self._done: list[tuple[float, ...]] = []  # since the table was new, see ``_do``

    def __deepcopy__(self, memo: object) -> UpstreamPhysics:
        """One that has done the same.

        pymunk's own copy isn't exact: it moves a body whose centre of gravity isn't its origin, and
        forgets what parts overlapping bodies.

        Raises:
            RuntimeError: somebody else has moved the bodies.
        """
        copied = UpstreamPhysics(self.sim)
        if self._done:
            copied._build()
            for each in self._done:
                copied._do(each)
            copied._look()
            now, its = (
                [(body.position, body.angle, body.velocity) for body in each.bodies]
                for each in (self, copied)
            )
            if now != its:
                raise RuntimeError("bodies were moved by hand: such a table can't be copied")
        return copied

    @property
    def bodies(self) -> tuple[Any, Any]:
        """pymunk's own."""
        return self._pusher, self._block

    def random(self, rng: np.random.Generator) -> Array:
        """gym-pusht's draw."""
        return drawn(rng)

    def place(self, start: Array) -> None:
        """Put all at rest, and step once as gym-pusht does, which parts what overlaps."""
        self._build()
        self.move(start)

    def move(self, start: Array) -> None:
        """Put both where the start says, and step once."""
        self._do(tuple(start.tolist()))
        self._look()

    def step(self, x: float, y: float) -> None:
        """Drive the pusher for 0.1 s, by gym-pusht's proportional and derivative gains."""
        self._do((x, y))
        self._look()

    def _do(self, what: tuple[float, ...]) -> None:
        """``move`` (five numbers) or ``step`` (two)."""
        self._done.append(what)
        if len(what) == 5:
            self._pusher.position, self._block.position = what[:2], what[2:4]
            self._block.angle = what[4]
            self._space.step(_DT)
            return
        (x, y), pusher, gain, brake = what, self._pusher, 100, 20
        self._touched = 0
        for _ in range(_SUBSTEPS):
            (px, py), (vx, vy) = pusher.position, pusher.velocity
            # The order of operations decides the last bit.
            ax, ay = gain * (x - px) + brake * (0.0 - vx), gain * (y - py) + brake * (0.0 - vy)
            pusher.velocity = vx + ax * _DT, vy + ay * _DT
            self._space.step(_DT)

    def _build(self) -> None:
        """A new space: pymunk's answers depend on the order in which shapes come into it."""
        import pymunk

        space = pymunk.Space()
        space.damping = 0.0
        near, far = 5.0, 506.0
        for a, b in (
            ((near, far), (near, near)),
            ((near, near), (far, near)),
            ((far, near), (far, far)),
            ((near, far), (far, far)),
        ):
            space.add(pymunk.Segment(space.static_body, a, b, 2.0))
        pusher = pymunk.Body(body_type=pymunk.Body.KINEMATIC)
        space.add(pusher, pymunk.Circle(pusher, _RADIUS))
        bar, stem = KEYPOINTS[:4].tolist(), KEYPOINTS[4:].tolist()
        # Twice that of the bar about the frame's origin, for the stem's and about the centre.
        block = pymunk.Body(1.0, 2.0 * pymunk.moment_for_poly(1.0, bar))
        block.center_of_gravity = tuple(_GRAVITY_CENTER)
        space.add(block, pymunk.Poly(block, bar), pymunk.Poly(block, stem))
        space.on_collision(0, 0, post_solve=self._count)
        self._space, self._pusher, self._block, self._touched = space, pusher, block, 0
        self._done = []

    def _count(self, arbiter: Any, space: Any, data: Any) -> None:
        self._touched += len(arbiter.contact_point_set.points)

    def _look(self) -> None:
        block = self._block
        self.pusher = np.array(self._pusher.position)
        self.pusher_velocity = np.array(self._pusher.velocity)
        self.block = np.array([*block.position, block.angle])
        self.contacts = -(-self._touched // 1000)  # gym-pusht's mean over 1000 substeps, not 10
        self.state = self.sim.states(_centroid(self.block), metres(self.pusher))
        self.state.pusher_velocity[:, 0] = self.pusher_velocity / _SCALE


def _turn(theta: float) -> Array:
    return np.array([[cos(theta), -sin(theta)], [sin(theta), cos(theta)]])


def metres(p: Array) -> Array:
    """Points (..., 2) of the simulation's frame, from px."""
    return (p - _WALL) / _SCALE


def blocks_to_bodies(blocks: Array) -> Array:
    """Poses (n, 3) of centroids in the simulation's frame (m), of blocks' poses (n, 3) in px."""
    return np.stack([_centroid(each) for each in blocks])


def _centroid(block: Array) -> Array:
    """Pose (3,) of the centroid in the simulation's frame (m), from the block's pose in px."""
    theta = float(block[2])
    return np.array([*(metres(block[:2]) + _turn(theta) @ _CENTROID), theta])
