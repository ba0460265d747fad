"""Simulation of one or many tables: a round pusher, a body, walls, and support friction.

Each substep is one of semi-implicit Euler, as in the original: forces at the old state, then
v' = v + dt F / m and x' = x + dt v'. With the depth d of the pusher's rim in the body, the normal
n into the body, and the velocities v_p and v_c of pusher and body at the contact point, the force
and the torque on the body are

    F = k d n + c (v_p - v_c),    torque = r x F

but it never pulls along n. Support friction (``planar.geometry.support``) acts implicitly after the
other forces, so that a body comes to rest exactly. A PD controller drives the pusher to its target:
a = gain (target - p) - damping v.

    sim = Simulation(PushConfig())
    state = sim.random_states(np.random.default_rng(0), 1024)  # a structure of arrays
    sim.advance(state, targets)  # (1024, 2) m
    state.coverage
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from galley.compiled.build import PUSHING, ensure
from galley.domain.frames import Array
from galley.planar.geometry.polygon import SimplePolygon, room, signed_distance
from galley.planar.geometry.support import SupportFriction, support_friction
from galley.planar.pushing.config import PushConfig

_log = logging.getLogger(__name__)
_MARGIN = 0.2  # share of the table's size that random bodies keep from its rim, as in gym-pusht
_TRIES = 1000


@dataclass(frozen=True, eq=False)
class PushState:
    """State of n tables. The properties are views that ``PushSimulation.advance`` changes.

    Attributes:
        values: (11, n), all rows; see ``simulation_kernel``.
    """

    values: Array

    @property
    def pusher(self) -> Array:
        """Positions of the pushers (2, n), m."""
        return self.values[0:2]

    @property
    def pusher_velocity(self) -> Array:
        """Velocities of the pushers (2, n), m/s."""
        return self.values[2:4]

    @property
    def body(self) -> Array:
        """Poses of the bodies (3, n): x, y of the centroid (m), angle (rad, not wrapped)."""
        return self.values[4:7]

    @property
    def body_velocity(self) -> Array:
        """Velocities of the bodies (3, n), m/s and rad/s."""
        return self.values[7:10]

    @property
    def coverage(self) -> Array:
        """Shares (n,) of the goal that the bodies cover, 0 to 1."""
        return np.asarray(self.values[10])

    def copy(self) -> PushState:
        """A copy that shares no memory with this state."""
        return PushState(self.values.copy())


class PushSimulation:
    """Simulates tables of one config.

    Args:
        config: the parameters.
        support: support friction; None: that of a plate that lies on all of its area.
        centre: (2,), centre of mass and friction in the outline's frame, m; None: the centroid.

    Raises:
        ValueError: the config has ranges, see ``PushConfig.drawn``.

    Attributes:
        config: the parameters.
        body: the outline about the centre.
        goal: the outline at the goal.
        inertia: moment of inertia about the centre, kg m^2.
        radius: distance of the farthest vertex from the centre, m.
    """

    def __init__(
        self, config: PushConfig, support: SupportFriction | None = None,
        centre: Array | None = None,
    ) -> None:  # fmt: skip
        from galley.planar.pushing import simulation_kernel

        for name in config.ranges:
            raise ValueError(f"{name}: a range or list is for galley push collect, eval and film")
        ensure(PUSHING)
        self._kernel = simulation_kernel
        self.config, self._support = config, support
        properties = config.shape.mass_properties(config.mass)
        off = np.zeros(2) if centre is None else centre - properties.centroid
        self.inertia = properties.inertia + config.mass * float(off @ off)
        self.body = SimplePolygon(config.shape.vertices - properties.centroid - off)
        self.goal = self.body.moved(config.goal)
        self.radius = float(np.hypot(*self.body.vertices.T).max())
        self._numbers, self._layout = self._packed()
        if config.dt > (most := self.longest_substep()):
            _log.warning(
                "dt = %g s may be unstable with these springs and dampers: use %.2g or less",
                config.dt,
                most,
            )

    def __deepcopy__(self, memo: object) -> PushSimulation:
        """Itself: nothing in it changes."""
        return self

    def longest_substep(self) -> float:
        """The largest dt (s) at which contacts and the pusher's drive are stable; inf without any.

        Semi-implicit Euler of a spring k and damper c at a mass m is stable for
        k dt^2 + 2 c dt < 4 m. At the lever r, 1 / m = 1 / mass + r^2 / inertia + 1 / pusher_mass.
        Two vertices, the ends of a side, can touch a wall together.
        """
        config = self.config
        body = 1.0 / config.mass + self.radius**2 / self.inertia
        pushed, walled = body + 1.0 / config.pusher_mass, 2.0 * body
        springs = (
            (config.contact_stiffness * pushed, config.contact_damping * pushed),
            (config.wall_stiffness * walled, config.wall_damping * walled),
            (config.pusher_gain, config.pusher_damping),
        )
        most = [4.0 / (c + np.sqrt(c * c + 4.0 * k)) for k, c in springs if k + c > 0.0]
        return float(min(most, default=np.inf))

    def states(self, body: ArrayLike, pusher: ArrayLike) -> PushState:
        """Tables at rest, with bodies at poses (n, 3), m and rad, and pushers at (n, 2), m."""
        bodies = np.atleast_2d(np.asarray(body, dtype=np.float64))
        values = np.zeros((self._kernel.ROWS, len(bodies)))
        values[4:7] = bodies.T
        values[0:2] = np.atleast_2d(np.asarray(pusher, dtype=np.float64)).T
        if not np.isfinite(values).all():
            raise ValueError("poses of bodies and pushers must be finite")
        state = PushState(values)
        self.measure(state)
        return state

    def random_states(
        self, rng: np.random.Generator | Sequence[np.random.Generator], n: int
    ) -> PushState:
        """Random tables at rest, each with a body on it that is clear of walls and pusher.

        Args:
            rng: one for all tables; or one for each, which draws what it would for a single table.
            n: number of tables.

        Raises:
            ValueError: the table is too small for both.
        """
        config, size = self.config, np.array([self.config.width, self.config.height])
        radius = config.pusher_radius
        low = np.array([*_MARGIN * size, -np.pi, radius, radius])
        high = np.array([*(1.0 - _MARGIN) * size, np.pi, *(size - radius)])
        goal, near = np.array(config.goal), config.start_away
        low[:2], high[:2] = (
            np.maximum(low[:2], goal[:2] - near),
            np.minimum(high[:2], goal[:2] + near),
        )
        if config.start_turned < np.pi:  # else all angles, from -pi on, with the same draws as ever
            low[2], high[2] = goal[2] - config.start_turned, goal[2] + config.start_turned
        drawn = np.empty((n, 5))
        bodies, pushers = drawn[:, :3], drawn[:, 3:]
        left = np.arange(n)  # tables that aren't clear yet: they are drawn again
        for _ in range(_TRIES):
            if not len(left):
                return self.states(bodies, pushers)
            if isinstance(rng, np.random.Generator):
                for part in (slice(0, 2), slice(2, 3), slice(3, 5)):  # each for all tables at once
                    shape = (len(left), part.stop - part.start)
                    drawn[left, part] = rng.uniform(low[part], high[part], shape)
            else:
                drawn[left] = [rng[k].uniform(low, high) for k in left.tolist()]
            left = left[~self.free(bodies[left], pushers[left])]
        raise ValueError(f"no room for body and pusher on a table of {size[0]:g} x {size[1]:g} m")

    def free(self, bodies: Array, pushers: Array) -> NDArray[np.bool_]:
        """Whether (n,) bodies (n, 3) are on the table and clear of pushers at (n, 2), m."""
        corners = self.outlines(bodies)
        off = (corners < 0.0) | (corners > (self.config.width, self.config.height))
        clear: NDArray[np.bool_] = ~off.any(axis=(1, 2)) & (self.gap(bodies, pushers) > 0.0)
        return clear

    def outlines(self, bodies: Array) -> Array:
        """The outline's vertices (n, k, 2), m, of bodies at poses (n, 3), in the world."""
        c, s = np.cos(bodies[:, 2:]), np.sin(bodies[:, 2:])
        x, y = self.body.vertices.T
        corners = [c * x - s * y + bodies[:, :1], s * x + c * y + bodies[:, 1:2]]
        return np.stack(corners, axis=2)

    def gap(self, bodies: Array, pushers: Array) -> Array:
        """Distances (n,) (m) of pushers (n, 2) from bodies (n, 3); negative where they overlap."""
        c, s = np.cos(bodies[:, 2]), np.sin(bodies[:, 2])
        u, v = (pushers - bodies[:, :2]).T
        local = np.stack([c * u + s * v, c * v - s * u], axis=1)
        return np.asarray(signed_distance(self.body, local)[0] - self.config.pusher_radius)

    def advance(self, state: PushState, targets: ArrayLike) -> None:
        """Advance all tables by one control step, in place.

        Args:
            state: the tables; it is changed.
            targets: (n, 2), where the pushers are driven to, m.

        Raises:
            ValueError: targets of another shape, or not finite; or the motion is unstable, see
                ``check``.
        """
        to, n = np.ascontiguousarray(targets, dtype=np.float64), state.values.shape[1]
        if to.shape != (n, 2) or not np.isfinite(to).all():
            raise ValueError(f"targets must be ({n}, 2) finite numbers, got {targets!r}")
        self.run(state, to)
        # The extremes stand for all tables: if one table isn't finite, neither are they.
        for x, y in (state.body[:2].min(axis=1), state.body[:2].max(axis=1)):
            self.check(x, y)

    def check(self, x: float, y: float) -> None:
        """Refuse a position (m) of a body's centroid that only an unstable motion can reach.

        Raises:
            ValueError: it isn't finite, or more than a table's size beyond the table.
        """
        width, height = self.config.width, self.config.height
        if -width <= x <= 2.0 * width and -height <= y <= 2.0 * height:
            return
        dt, most = self.config.dt, self.longest_substep()
        why = "the walls don't hold it: make wall_stiffness or wall_damping larger"
        if dt > most:
            why = f"dt = {dt:g} s is too long for these springs and dampers: use {most:.2g} or less"
        raise ValueError(f"the body has left the table, to {x:.3g}, {y:.3g} m: {why}")

    def run(self, state: PushState, targets: Array) -> None:
        """``advance`` without checks: targets must be (n, 2), contiguous, float64 and finite."""
        self._kernel.advance(state.values, targets, self._numbers, self._layout)

    def measure(self, state: PushState) -> None:
        """Compute the coverage again, after poses of bodies were set."""
        self._kernel.measure(state.values, self._numbers, self._layout)

    def _packed(self) -> tuple[Array, NDArray[np.int64]]:
        """The arrays ``numbers`` and ``layout`` of ``simulation_kernel``."""
        config = self.config
        friction = self._support or support_friction(
            self.body, config.mass, config.friction, config.gravity, config.still
        )
        c = config
        p = np.array([
            c.mass, self.inertia, friction.limit, friction.length, friction.still,
            c.pusher_radius, 1.0 / c.pusher_mass, c.pusher_gain, c.pusher_damping,
            c.contact_stiffness, c.contact_damping, c.contact_friction, c.width, c.height,
            c.wall_stiffness, c.wall_damping, c.dt, self.radius, self.goal.area, c.substeps,
            c.goal_x, c.goal_y,
        ])  # fmt: skip
        (parts, starts), (goal, goal_starts) = self.body.table, self.goal.table
        pieces = [p, self.body.vertices.ravel(), parts.ravel(), goal.ravel()]
        ends = np.cumsum([len(piece) for piece in pieces])
        heads = [*ends, room(self.body, self.goal).shape[1], len(starts) - 1, len(goal_starts) - 1]
        layout = np.concatenate([heads, starts, goal_starts]).astype(np.int64)
        return np.concatenate(pieces), layout


Simulation, State = PushSimulation, PushState  # their documented names
