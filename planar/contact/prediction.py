"""Quasi-static pushing: how a body on a plane moves when a point pushes it.

The body is so slow that inertia does not count: the push balances support friction, whose limit
surface is the ellipsoid of ``planar.geometry.support``. A contact force f at the lever r from the
centroid moves the body with v = f, w = (r x f) / c^2, up to a factor that the speed of the push
sets; so the body's material under the contact moves with

    u = A f,    A = 1 + p p^T / c^2,    p = (-r_y, r_x).

The contact sticks if the force for u = push lies in the friction cone; the cone's image under A is
the motion cone (Mason, 1986). Else the force lies on an edge of the cone, and the pusher slips
along the outline (Lynch, Maekawa, Tanie, 1992). Plain NumPy.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike

from galley.domain.frames import Array, frozen
from galley.planar.geometry.polygon import Polygon, signed_distance
from galley.planar.geometry.support import FRICTION, characteristic_length


class Mode(StrEnum):
    """What the contact does."""

    STICK = "stick"
    SLIP_LEFT = "slip left"
    SLIP_RIGHT = "slip right"
    PART = "part"


@dataclass(frozen=True)
class PredictedPush:
    """How the body moves, in the frame of the outline.

    Attributes:
        mode: left is that of one who looks along the push's normal, into the body.
        twist: (3,) velocity of the centroid (m/s) and angular velocity (rad/s).
        slip: m/s, of the pusher along the outline, to the left of the inward normal.
        force: (2,) direction of the force on the body, of unit length; 0 where they part.
    """

    mode: Mode
    twist: Array
    slip: float
    force: Array


def predict_push(
    outline: Polygon | ArrayLike,
    friction: float,
    contact: ArrayLike,
    push: ArrayLike,
    normal: ArrayLike | None = None,
) -> PredictedPush:
    """The body's velocity while a point pushes it.

    Args:
        outline: of the body, with uniform density and pressure; vertices (n, 2) m.
        friction: coefficient between pusher and body. That of the support doesn't matter.
        contact: (2,) m, a point of the outline; what is off it counts as its nearest point.
        push: (2,) m/s, velocity of the pusher.
        normal: (2,) into the body; by default that of the outline there. Say it at a corner, where
            the pusher's shape decides.

    Raises:
        ValueError: not a simple polygon, a negative friction, no finite push, or a normal of zero
            length.
    """
    polygon = outline if isinstance(outline, Polygon) else Polygon(np.asarray(outline))
    mu = FRICTION.checked("friction", friction)
    u = np.asarray(push, dtype=np.float64)
    at = np.asarray(contact, dtype=np.float64)
    for name, value in (("push", u), ("contact", at)):
        if value.shape != (2,) or not np.isfinite(value).all():
            raise ValueError(f"{name} = {value.tolist()}: must be two finite numbers")
    _, nearest, outward = signed_distance(polygon, at)
    n = -outward if normal is None else np.asarray(normal, dtype=np.float64)
    if not np.linalg.norm(n) > 0.0:
        raise ValueError(f"normal = {n.tolist()}: must have a length")
    n = n / np.linalg.norm(n)
    t = np.array([-n[1], n[0]])
    if u @ n <= 0.0:
        return PredictedPush(Mode.PART, frozen(np.zeros(3)), float(u @ t), frozen(np.zeros(2)))
    r = nearest - polygon.mass_properties(1.0).centroid
    lever = np.array([-r[1], r[0]])
    c2 = characteristic_length(polygon) ** 2
    A = np.eye(2) + np.outer(lever, lever) / c2
    f, mode = np.linalg.solve(A, u), Mode.STICK
    if abs(f @ t) > mu * (f @ n) + 1e-12 * np.linalg.norm(f):
        # A pusher that slips to a side drags the body along to that side.
        for side, slips in ((1.0, Mode.SLIP_LEFT), (-1.0, Mode.SLIP_RIGHT)):
            edge = n + side * mu * t
            along = n @ A @ edge
            if along > 0.0:
                f, mode = edge * (u @ n) / along, slips
                if side * (t @ (u - A @ f)) >= 0.0:
                    break
    twist = np.array([f[0], f[1], lever @ f / c2])
    slip = 0.0 if mode is Mode.STICK else float(t @ (u - A @ f))
    return PredictedPush(mode, frozen(twist), slip, frozen(f / np.linalg.norm(f)))
