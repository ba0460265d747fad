"""Outlines that several tests look at."""

import numpy as np
import shapely
from hypothesis import strategies as st

from galley.planar.geometry.polygon import SimplePolygon

T = [(-60, 0), (60, 0), (60, 30), (15, 30), (15, 120), (-15, 120), (-15, 30), (-60, 30)]
L = [(0, 0), (2, 0), (2, 1), (1, 1), (1, 3), (0, 3)]


@st.composite
def outlines(draw):
    """Star-shaped outlines about any point, convex or not, in either orientation."""
    n = draw(st.integers(3, 12))
    turns = np.array(draw(st.lists(st.floats(0.1, 1.0), min_size=n, max_size=n)))
    angles = np.cumsum(turns) / turns.sum() * 2.0 * np.pi
    radii = np.array(draw(st.lists(st.floats(0.1, 2.0), min_size=n, max_size=n)))
    centre = np.array([draw(st.floats(-3, 3)), draw(st.floats(-3, 3))])
    points = centre + radii[:, None] * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return points[::-1] if draw(st.booleans()) else points


def polygon_of(points):
    """A ``SimplePolygon``, or None where the star's centre is so far out that it isn't simple."""
    return SimplePolygon(points) if shapely.Polygon(points).is_valid else None
