"""Support friction of a body that lies on a plane, against sliding and turning together.

The largest wrenches of friction form the limit surface (Goyal, Ruina, Papadopoulos, 1991). Here
it is the ellipsoid of Lynch, Maekawa and Tanie (1992),

    (|f| / f_max)^2 + (m / m_max)^2 = 1,    f_max = mu m g,    m_max = c f_max,

and friction dissipates as much power as it can, so the velocity is normal to the surface:

    f = -f_max v / s,    m = -f_max c^2 w / s,    s = sqrt(|v|^2 + (c w)^2 + still^2).

The characteristic length c is the mean distance of the outline's points from its centroid: then
friction against pure turning is exact for uniform pressure. ``still`` smooths friction near rest.

``support_kernel`` has the function for compiled code: a step of implicit Euler under this force.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from galley.domain.parameters import FORCE_LIMIT, MASS, Quantity, check, parameter
from galley.planar.geometry.polygon import SimplePolygon

GRAVITY = 9.81  # m/s^2
FRICTION = Quantity("1", 0.0)
LENGTH = Quantity("m", 0.0, above=True)
STILL = Quantity("m/s", 0.0)


@dataclass(frozen=True)
class SupportFriction:
    """Parameters of support friction; the module has the formula.

    Attributes:
        limit: f_max, friction against pure translation, N.
        length: characteristic length c, m. Larger: more friction against turning.
        still: speed below which friction falls off to 0, m/s; 0: none.

    Raises:
        ValueError: a number out of its bounds; the message names it.
    """

    limit: float = parameter(1.0, FORCE_LIMIT, "friction against pure translation, f_max")
    length: float = parameter(1.0, LENGTH, "characteristic length c")
    still: float = parameter(0.0, STILL, "speed below which friction falls off to 0")

    def __post_init__(self) -> None:
        check(self)


def support_friction(
    polygon: SimplePolygon,
    mass: float,
    friction: float,
    gravity: float = GRAVITY,
    still: float = 0.0,
) -> SupportFriction:
    """The support friction of a plate of uniform density and pressure.

    Args:
        polygon: outline of the plate.
        mass: kg.
        friction: coefficient mu.
        gravity: m/s^2.
        still: speed below which friction falls off to 0, m/s.
    """
    mu, m = FRICTION.checked("friction", friction), MASS.checked("mass", mass)
    return SupportFriction(mu * m * gravity, characteristic_length(polygon), still)


def characteristic_length(polygon: SimplePolygon) -> float:
    """Mean distance (m) of a polygon's points from its centroid, in closed form.

    It is a sum over triangles of the centroid and an edge. If the edge is at a distance h and its
    ends are at the angles a and b from its normal, the integral of r dA over the triangle is
    h^3 / 3 times the integral of 1 / cos^3 from a to b.
    """
    properties = polygon.mass_properties(1.0)
    p = polygon.vertices - properties.centroid
    q = np.roll(p, -1, axis=0)
    edge = q - p
    length = np.hypot(*edge.T)
    height = (p[:, 0] * q[:, 1] - q[:, 0] * p[:, 1]) / length  # negative if seen from outside
    along_p, along_q = (p * edge).sum(axis=1) / length, (q * edge).sum(axis=1) / length
    far_p, far_q = np.hypot(*p.T), np.hypot(*q.T)
    # h^3 / 6 (tan / cos + asinh(tan)) between the ends, in lengths: h -> 0 gives 0.
    seen = np.abs(height) > 1e-12 * length
    h = np.where(seen, height, 1.0)
    turn_p = along_p * far_p / h**2 + np.arcsinh(along_p / np.abs(h))
    turn_q = along_q * far_q / h**2 + np.arcsinh(along_q / np.abs(h))
    total = np.where(seen, h**3 / 6.0 * (turn_q - turn_p), 0.0).sum()
    return float(total / properties.area)
