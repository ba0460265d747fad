"""Throw a ball into a basket: the hand's forces are found by gradient, through the contact."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from galley.domain.frames import Array as NumPyArray
from galley.planar.contact.bodies import Body2D, Contact, Points, World
from galley.planar.contact.setup import Setup
from galley.planar.contact.shapes import Circle, HalfPlane, Polygon
from galley.planar.contact.simulation import simulate
from galley.planar.geometry.support import GRAVITY

_H = 0.01  # s
_PUSH, _BRAKE, _SETTLE = 22, 12, 90  # steps: the hand speeds up, and stops; after the landing
_BALL, _HAND = 0.1, 0.4  # kg
_RADIUS = 0.1  # m, of the ball
_RIM = 0.22  # m, height of the basket
HIT = 1e-3  # m, a miss below which the search ends
_ITERATIONS = 30
_DAMPING = 1e-6  # of the minimum-norm step, relative to the largest entry of J J^T


@dataclass(frozen=True)
class Throw:
    """A try.

    Attributes:
        forces: (22, 2), N, on the hand while it speeds up.
        miss: m, of the ball's centre from the middle of the basket's rim, at the time of landing.
        gradient: (22, 2), m/N, of ``miss`` by the forces.
        converged: whether all steps of the simulation did.
    """

    forces: NumPyArray
    miss: float
    gradient: NumPyArray
    converged: bool


@dataclass(frozen=True)
class Task:
    """Where the basket stands, and when the ball is to arrive.

    Attributes:
        distance: m, from the hand to the basket's middle.
        friction: coefficient, of ball and hand.
    """

    distance: float = 2.0
    friction: float = 0.3

    @property
    def landing(self) -> int:
        """The step of the landing."""
        flight = np.sqrt(2.8 * self.distance / GRAVITY)  # for 55 degrees or so
        return _PUSH + int(np.rint(flight / _H))

    @property
    def target(self) -> NumPyArray:
        """Where the ball's centre is to be at that step, p_W (2,)."""
        return np.array([self.distance, _RIM])

    def world(self) -> World:
        """A hand with a ball in it, a basket, the ground."""
        around: Any = {"friction": self.friction, "count": 32, "points": Points.PERIMETER}
        law = Contact(stiffness=2e4, damping=2e3, **around)
        # So that the ball stays: off a wall it has half its speed.
        dead = Contact(stiffness=2e4, damping=5e3, softness=2e-3, still=0.05, **around)
        # A V, in which the ball has no play until it leaves.
        slope, low, y = np.radians(40.0), 0.03, 0.8
        wide = 0.15
        high = low + wide * np.tan(slope)
        cup = Polygon([(-wide, 0.0), (wide, 0.0), (wide, high), (0.0, low), (-wide, high)])
        ball_y = y + low + _RADIUS / np.cos(slope)
        bodies = (
            Body2D(HalfPlane(), name="ground"),
            # Thick, for a ball must not get beyond the middle of a wall in a step.
            Body2D(_bowl(0.2, 0.1 + _RIM, 0.1), pose=(self.distance, -0.1, 0.0), name="basket"),
            # So much inertia that it doesn't turn: a hand on a wrist that holds it.
            Body2D(cup, mass=_HAND, inertia=10.0, pose=(0.0, y, 0.0), name="hand"),
            Body2D(Circle(_RADIUS), mass=_BALL, pose=(0.0, ball_y, 0.0), name="ball"),
        )
        return World(bodies, {(3, 2): law, (3, 1): dead}, (0.0, -GRAVITY))

    def guess(self) -> NumPyArray:
        """Forces (22, 2) that would throw at an angle but too short."""
        speed = 0.8 * self.distance / ((self.landing - _PUSH) * _H)
        rise = 0.4 * GRAVITY * (self.landing - _PUSH) * _H
        total = _BALL + _HAND
        force = total * np.array([speed, rise]) / (_PUSH * _H) + (0.0, total * GRAVITY)
        return np.tile(force, (_PUSH, 1))

    def controls(self, forces: Array, steps: int) -> Array:
        """Forces and torques (steps, 2, 3) on hand and ball: a push, a brake, and holding still.

        The brake takes from the hand the momentum that the push gave to it and not to the ball.
        """
        weight = jnp.array([0.0, GRAVITY])
        speed = _H * jnp.sum(forces / (_HAND + _BALL) - weight, axis=0)
        brake = jnp.tile(_HAND * (weight - speed / (_BRAKE * _H)), (_BRAKE, 1))
        hold = jnp.tile(_HAND * weight, (steps, 1))
        hand = jnp.concatenate([forces, brake, hold])[:steps]
        full = jnp.zeros((steps, 2, 3))
        return full.at[:, 0, :2].set(hand)

    def setup(self, forces: NumPyArray) -> Setup:
        """The whole run, until the ball rests in the basket."""
        with jax.enable_x64(True):
            controls = np.asarray(self.controls(jnp.asarray(forces), self.landing + _SETTLE))
        return Setup(self.world(), controls, _H, (3, 0))

    def search(self) -> Iterator[Throw]:
        """Tries, each nearer than the last, until one misses by less than a millimetre.

        A step is the smallest change of the forces that would hit if the miss were linear in them,
        halved until it is nearer.
        """
        target = self.target
        world = self.world()

        def arrival(forces: Any, world: World) -> tuple[Array, Array]:
            found = simulate(world, self.controls(forces, self.landing), _H)
            return found.pose[-1, 3, :2] - target, jnp.all(found.converged)

        def both(forces: Any, world: World) -> tuple[Array, Array, Array]:
            jacobian, (value, good) = jax.jacrev(
                lambda f: (lambda v: (v[0], v))(arrival(f, world)), has_aux=True
            )(forces)
            return value, jacobian, good

        compiled = eqx.filter_jit(both)

        def measure(forces: NumPyArray) -> tuple[Throw, NumPyArray, NumPyArray]:
            with jax.enable_x64(True):
                value, jacobian, good = (np.asarray(x) for x in compiled(forces, world))
            miss = float(np.linalg.norm(value))
            slope = np.tensordot(value / max(miss, 1e-12), jacobian, 1)
            return Throw(forces, miss, slope, bool(good)), value, jacobian.reshape(2, -1)

        now, value, J = measure(self.guess())
        yield now
        for _ in range(_ITERATIONS):
            if not now.converged or now.miss < HIT:
                return
            square = J @ J.T
            step = J.T @ np.linalg.solve(square + _DAMPING * square.max() * np.eye(2), value)
            for share in 0.5 ** np.arange(8.0):
                tried, *rest = measure(now.forces - share * step.reshape(-1, 2))
                if tried.converged and tried.miss < now.miss:
                    break
            else:
                return
            now, (value, J) = tried, rest
            yield now


def _bowl(inner: float, height: float, wall: float) -> Polygon:
    """A U of a given inner half width, height and thickness (m), its middle below at the origin."""
    out = inner + wall
    return Polygon(
        [(-out, 0.0), (out, 0.0), (out, height), (inner, height), (inner, wall), (-inner, wall),
         (-inner, height), (-out, height)]
    )  # fmt: skip
