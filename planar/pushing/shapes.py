"""Outlines of bodies to push that ship with Galley, in metres."""

from __future__ import annotations

import numpy as np

from galley.planar.geometry.polygon import SimplePolygon

T = (
    (-0.06, 0.0), (0.06, 0.0), (0.06, 0.03), (0.015, 0.03),
    (0.015, 0.12), (-0.015, 0.12), (-0.015, 0.03), (-0.06, 0.03),
)  # fmt: skip
L = ((0.0, 0.0), (0.09, 0.0), (0.09, 0.03), (0.03, 0.03), (0.03, 0.12), (0.0, 0.12))
RECTANGLE = ((0.0, 0.0), (0.12, 0.0), (0.12, 0.06), (0.0, 0.06))
SHAPES = {"T": T, "L": L, "rectangle": RECTANGLE}
"""The T is that of gym-pusht at 1 mm a pixel: a bar of 120 x 30 mm and a stem of 30 x 90 mm."""


def shape(name: str) -> SimplePolygon:
    """The shipped outline of a name.

    Raises:
        ValueError: an unknown name.
    """
    if not isinstance(name, str) or name not in SHAPES:
        known = ", ".join(SHAPES)
        raise ValueError(f"shape = {name!r}: must be one of {known}, or a Polygon (load_outline)")
    return SimplePolygon(np.array(SHAPES[name]))
