"""Worlds of ``galley contact``: a lift, a slope, a push."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import numpy as np

from galley.domain.frames import Array as NumPyArray
from galley.planar.contact.bodies import Body2D, Contact, Points, Support, World
from galley.planar.contact.setup import Setup, Waypoints
from galley.planar.contact.shapes import Box, Circle, HalfPlane, Polygon, regular_polygon
from galley.planar.contact.simulation import simulate
from galley.planar.geometry.polygon import Polygon as Outline
from galley.planar.geometry.support import GRAVITY, characteristic_length

_H = 1.0 / 60.0  # s


def shape_of(name: str, size: float) -> tuple[Circle | Box | Polygon, float]:
    """A circle, hexagon or rectangle; how high its centre is when it rests on an edge, m."""
    match name:
        case "circle":
            return Circle(size), size
        case "hexagon":
            return regular_polygon(6, size), size * float(np.cos(np.pi / 6.0))
        case "rectangle":
            return Box((size, 0.6 * size)), 0.6 * size
    raise ValueError(f"shape = {name!r}: must be circle, hexagon or rectangle")


def lift(
    shape: str = "circle",
    friction: float = 0.1,
    points: Points = Points.AUTO,
    force: float = 15.0,
    steps: int = 100,
) -> Setup:
    """A platform of 0.5 kg on the ground, with a body of 0.1 kg on it, is lifted by a force that
    grows from 0.

    Args:
        shape: circle, hexagon or rectangle, 1.5 m.
        friction: coefficient, of both contacts.
        points: of the contact between platform and body.
        force: N, at the end.
        steps: of 1/60 s.

    Raises:
        ValueError: no such shape, or a virtual contact of faces, where it is not one point.
    """
    form, high = shape_of(shape, 1.5)
    if not isinstance(form, Circle) and points in (Points.NEWTON, Points.STEIN):
        raise ValueError(
            f"{points.value}: the {shape} lies on a face, where no single virtual contact is "
            "nearest: use perimeter or auto; newton and stein are for the circle"
        )
    thick = 0.15
    bodies = (
        Body2D(HalfPlane(), name="ground"),
        Body2D(Box((1.8, thick)), mass=0.5, pose=(0.0, thick, 0.0), name="platform"),
        Body2D(form, mass=0.1, pose=(0.0, 2.0 * thick + high, 0.0), name=shape),
    )
    # The parameters of the demonstration that this follows. Of points fixed to an edge few bear, so
    # where there are such, the law is firmer.
    law = Contact(friction=friction, count=10, stiffness=1e4, damping=1e5, points=Points.PERIMETER)
    if points is Points.AUTO:
        points = Points.NEWTON if isinstance(form, Circle) else Points.PERIMETER
    on_top = Contact(friction=friction, count=10, points=points)
    if points is Points.PERIMETER:
        on_top = law
    controls = np.zeros((steps, 2, 3))
    controls[:, 0, 1] = np.linspace(0.0, force, steps)
    world = World(bodies, {(1, 0): law, (2, 1): on_top}, (0.0, -GRAVITY))
    return Setup(world, controls, _H, (2, 1))


def _block_on_ground(friction: float, motion: Any = None) -> World:
    law = Contact(friction=friction, count=10)
    bodies = (
        Body2D(HalfPlane(), motion=motion, name="slope"),
        Body2D(Box((0.25, 0.1)), mass=0.1, pose=(0.0, 0.1, 0.0), name="block"),
    )
    return World(bodies, {(1, 0): law}, (0.0, -GRAVITY))


def incline(friction: float = 0.1) -> Setup:
    """A block on a plane that is tilted, slowly, to half as much again as the angle of slip."""
    angle, duration = 1.5 * float(np.arctan(friction)), 4.0  # rad, s
    motion = Waypoints([(0.0, (0.0, 0.0, 0.0)), (duration, (0.0, 0.0, -angle))])
    world = _block_on_ground(friction, motion)
    steps = round(duration / _H)
    return Setup(world, np.zeros((steps, 1, 3)), _H, (1, 0))


def sliding(friction: float, angles: NumPyArray) -> NumPyArray:
    """Mean accelerations (k,), m/s^2, of a block down slopes of ``angles`` (k,), rad.

    They are of the second half of the run, when the block has settled. The closed form is
    g (sin - mu cos), or 0 up to the angle of slip, arctan mu.
    """
    world, steps = _block_on_ground(friction), round(1.0 / _H)
    gravity = GRAVITY * np.stack([np.sin(angles), -np.cos(angles)], axis=1)

    def speeds(one: Any) -> Any:
        tilted = eqx.tree_at(lambda w: w.gravity, world, one)
        return simulate(tilted, np.zeros((steps, 1, 3)), _H).velocity[:, 1, 0]

    with jax.enable_x64(True):
        v = np.asarray(eqx.filter_jit(jax.vmap(speeds))(gravity))
    half = steps // 2
    return np.asarray((v[:, -1] - v[:, half]) / (_H * (steps - half)))


def angle_of_slip(angles: NumPyArray, accelerations: NumPyArray) -> float:
    """The angle (rad) where the block begins to slide.

    a / cos is a line in tan, g (tan - mu): the root of the one through what slid.
    """
    slid = accelerations > 0.25 * accelerations.max()
    at, rate = np.tan(angles[slid]), accelerations[slid] / np.cos(angles[slid])
    slope, offset = np.polyfit(at, rate, 1)
    return float(np.arctan(-offset / slope))


def push(
    shape: str = "hexagon",
    friction: float = 0.3,
    offset: float = 0.08,
    force: float = 6.0,
    duration: float = 2.0,
) -> Setup:
    """A round pusher against a body of 1 kg that lies on a table, seen from above.

    Args:
        shape: circle, hexagon or rectangle, 0.5 m.
        friction: coefficient, of the pusher on the body and of the body on the table.
        offset: m, of the pusher's line from the body's centre.
        force: N, on the pusher for the first 60 % of the run.
        duration: s.
    """
    size, mass, radius = 0.5, 1.0, 0.1
    form, high = shape_of(shape, size)
    near = high if shape == "hexagon" else size  # of the side that faces the pusher
    grip = friction * GRAVITY  # N/kg
    if isinstance(form, Circle):
        reach = 2.0 / 3.0 * size
    else:
        reach = characteristic_length(Outline(np.asarray(form.vertices)))
    bodies = (
        Body2D(
            form,
            mass=mass,
            pose=(0.0, 0.0, np.pi / 6.0 if shape == "hexagon" else 0.0),
            support=Support(limit=grip * mass, length=reach),
            name=shape,
        ),
        Body2D(
            Circle(radius),
            mass=0.5,
            pose=(-near - 0.12, offset, 0.0),
            support=Support(limit=grip * 0.5, length=2.0 / 3.0 * radius),
            name="pusher",
        ),
    )
    steps = round(duration / _H)
    controls = np.zeros((steps, 2, 3))
    controls[: round(0.6 * steps), 1, 0] = force
    law = Contact(friction=friction, stiffness=1e4, damping=200.0)
    return Setup(World(bodies, {(1, 0): law}, (0.0, 0.0)), controls, _H, (0, 0))
