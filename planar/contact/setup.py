"""A world with all that a run needs: controls, time step, and the cost to differentiate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from galley.domain.frames import Array as NumPyArray
from galley.planar.contact.bodies import Points, World
from galley.planar.contact.record import ENDLESS, PlanarRun
from galley.planar.contact.shapes import HalfPlane, Moved, Shape2D, is_traced, rounded_corners
from galley.planar.contact.simulation import PlanarTrajectory, simulate
from galley.planar.contact.virtual_contacts import chosen
from galley.planar.finger.force import Profile

COORDINATES = {"x": "m", "y": "m", "angle": "rad"}


class Waypoints(eqx.Module):
    """A prescribed motion: a smooth curve through poses, at rest before and after them.

    Between two poses it is a cubic; the slope at a pose is that of the line between its neighbours.

    Attributes:
        times: (k,), s, ascending.
        poses: X_WB (k, 3), m and rad.
    """

    times: Any
    poses: Any

    def __init__(self, pairs: Sequence[tuple[float, Any]]) -> None:
        """The motion through (time, pose) pairs.

        Raises:
            ValueError: there are no pairs, or their times don't ascend.
        """
        self.times = np.array([time for time, _ in pairs], dtype=np.float64)
        poses = [pose for _, pose in pairs]
        self.poses = (jnp if is_traced(poses) else np).asarray(poses, dtype=float).reshape(-1, 3)
        if not len(pairs) or np.any(np.diff(self.times) <= 0.0):
            raise ValueError("motion: needs (time, pose) pairs, each later than the one before")

    def __call__(self, time: Array) -> Array:
        """The pose (3,) at a time (s)."""
        t, p = jnp.asarray(self.times), jnp.asarray(self.poses)
        if len(t) == 1:
            return p[0] + 0.0 * time
        k = jnp.clip(jnp.searchsorted(t, time) - 1, 0, len(t) - 2)
        still = jnp.zeros((1, 3))
        slope = jnp.concatenate([still, (p[2:] - p[:-2]) / (t[2:] - t[:-2])[:, None], still])
        span = t[k + 1] - t[k]
        s = jnp.clip((time - t[k]) / span, 0.0, 1.0)
        return (
            p[k] * (1.0 + 2.0 * s) * (1.0 - s) ** 2
            + p[k + 1] * s * s * (3.0 - 2.0 * s)
            + span * s * (1.0 - s) * (slope[k] * (1.0 - s) - slope[k + 1] * s)
        )


def sampled(pairs: Sequence[tuple[float, Any]], h: float, n: int) -> NumPyArray:
    """Controls (n, 3) of one body, from (time, (x, y, torque)) pairs: their means over each step.

    The pairs are joined by lines, constant before the first and after the last; two with the same
    time are a jump.

    Raises:
        ValueError: no pairs, or not in the order of time.
    """
    values = np.array([value for _, value in pairs], dtype=np.float64).reshape(-1, 3)
    parts = 8  # samples of a step, so that a jump within it counts in proportion
    middles = (np.arange(parts * n) + 0.5) * h / parts
    columns = []
    for column in values.T:
        profile = Profile.of(zip([time for time, _ in pairs], column, strict=True))
        columns.append(np.array([profile(t) for t in middles]).reshape(n, parts).mean(axis=1))
    return np.stack(columns, axis=1)


@dataclass(frozen=True)
class Setup:
    """All that a run depends on.

    Attributes:
        world: bodies, contact laws, gravity.
        controls: (n, m, 3), force and torque on each free body in each step, N and N m.
        h: time of a step, s.
        cost: index of a body, and its coordinate (0 to 2 for x, y, angle); the cost is the value at
            the end.
        scheme: ``bdf1`` or ``bdf2``.
    """

    world: World
    controls: NumPyArray
    h: float
    cost: tuple[int, int]
    scheme: str = "bdf2"

    def run(self, differentiate: bool = True) -> tuple[PlanarTrajectory, NumPyArray | None]:
        """The trajectory, and the gradient (n, m, 3) of the cost by the controls.

        If a step failed, the gradient is NaN.
        """
        if not differentiate:
            return simulate(self.world, self.controls, self.h, scheme=self.scheme), None
        with jax.enable_x64(True):
            controls, h = np.asarray(self.controls), np.float64(self.h)
            (_, traced), gradient = _differentiated(controls, self.world, h, self.cost, self.scheme)
        as_numpy = jax.tree.map(lambda x: np.asarray(x) if eqx.is_array(x) else x, traced)
        return as_numpy, np.asarray(gradient)


@eqx.filter_jit
def _differentiated(
    controls: Any, world: World, h: Any, cost: tuple[int, int], scheme: str
) -> tuple[tuple[Array, PlanarTrajectory], Array]:
    """The cost, the trajectory, and the gradient of the cost by the controls."""

    def final(controls: Any) -> tuple[Array, PlanarTrajectory]:
        trajectory = simulate(world, controls, h, scheme=scheme)
        return trajectory.pose[-1, cost[0], cost[1]], trajectory

    result: tuple[tuple[Array, PlanarTrajectory], Array] = jax.value_and_grad(final, has_aux=True)(
        controls
    )
    return result


def planar_run(
    setup: Setup,
    trajectory: PlanarTrajectory,
    gradient: NumPyArray | None = None,
    target: NumPyArray | None = None,
) -> PlanarRun:
    """A trajectory as plain arrays, up to the first step that failed.

    Args:
        setup: what was simulated.
        trajectory, gradient: results of ``Setup.run``.
        target: p_W (2,), a point to mark in pictures.
    """
    failure = trajectory.failure()
    steps = len(setup.controls) if failure is None else failure.step
    world, (body, which) = setup.world, setup.cost
    coordinate, unit = list(COORDINATES.items())[which]
    good: Any = jax.tree.map(lambda leaf: np.asarray(leaf)[: steps + 1], trajectory)
    with jax.enable_x64(True):  # as its shapes' numbers are
        pairs = np.repeat(np.array(world.pairs).reshape(-1, 2), _points_of_pairs(world), axis=0)
    return PlanarRun(
        time=good.time,
        names=tuple(body.name for body in world.bodies),
        outlines=tuple(outline(body.shape) for body in world.bodies),
        free=world.free,
        pose=good.pose,
        velocity=good.velocity,
        controls=setup.controls[:steps],
        gradient=gradient if failure is None else None,
        cost=f"final {coordinate} of {world.bodies[body].name}",
        cost_unit=unit,
        pairs=pairs,
        virtual=good.contacts.virtual,
        points=good.contacts.position,
        forces=good.contacts.force,
        target=target,
    )


def _points_of_pairs(world: World) -> list[int]:
    """Number of contact points of each pair."""
    counts = []
    for pair, law in zip(world.pairs, world.contacts, strict=True):
        shapes = [world.bodies[k].shape for k in pair]
        match chosen(law, *shapes):
            case Points.PERIMETER:
                counts.append(sum(len(shape.perimeter(law.count)) for shape in shapes))
            case Points.AUTO:
                counts.append(max(len(pair[0]) for pair in map(rounded_corners, shapes) if pair))
            case _:
                counts.append(law.count)
    return counts


def outline(shape: Shape2D) -> NumPyArray:
    """The edge of a shape as a polygon (n, 2) in its body's frame, m, for pictures.

    Raises:
        TypeError: this kind of shape has no outline.
    """
    if isinstance(shape, Moved):
        x, y, angle = (float(value) for value in shape.pose)
        turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
        return np.asarray(outline(shape.shape) @ turn + (x, y))
    if isinstance(shape, HalfPlane):
        n = np.asarray(shape.direction) / np.linalg.norm(shape.direction)
        along = np.array([n[1], -n[0]])
        corners = np.array([-along, along, along - n, -along - n])
        return np.asarray(float(shape.offset) * n + ENDLESS * corners)
    if (rounded := rounded_corners(shape)) is None:
        raise TypeError(f"{type(shape).__name__}: its outline isn't known")
    import shapely

    corners, radius = np.asarray(rounded[0]), float(rounded[1])
    core = shapely.Point(corners[0]) if len(corners) == 1 else shapely.Polygon(corners)
    grown = core.buffer(radius, quad_segs=12) if radius else core
    return np.asarray(grown.exterior.coords)[:-1]
