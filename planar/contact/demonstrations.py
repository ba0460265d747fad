"""The world of ``galley contact lift``."""

from __future__ import annotations

import numpy as np

from galley.planar.contact.bodies import Body2D, Contact, Points, World
from galley.planar.contact.setup import Setup
from galley.planar.contact.shapes import Box, Circle, HalfPlane, Polygon, regular_polygon
from galley.planar.geometry.support import GRAVITY

_H = 1.0 / 60.0  # s


def shape_of(name: str, size: float) -> tuple[Circle | Box | Polygon, float]:
    """A circle, hexagon or rectangle, and the height of its centre when it lies on an edge, m.

    Raises:
        ValueError: an unknown name.
    """
    match name:
        case "circle":
            return Circle(size), size
        case "hexagon":
            return regular_polygon(6, size), size * float(np.cos(np.pi / 6.0))
        case "rectangle":
            return Box((size, 0.6 * size)), 0.6 * size
    raise ValueError(f"shape = {name!r}: must be circle, hexagon or rectangle")


def lift(shape: str, friction: float, points: Points, force: float, steps: int) -> Setup:
    """A platform on the ground, with a body on it, under a lifting force that grows from 0.

    The platform has 0.5 kg, the body 0.1 kg.

    Args:
        shape: of the body: circle, hexagon or rectangle, 1.5 m.
        friction: coefficient of both contacts.
        points: kind of points of the contact between platform and body.
        force: lifting force at the end, N.
        steps: number of steps of 1/60 s.

    Raises:
        ValueError: an unknown shape, or a virtual contact between faces, where it isn't unique.
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
    # The parameters of the demonstration that this follows. Of points fixed to an edge only a few
    # carry the load, so the law is firmer for them.
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
