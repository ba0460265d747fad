"""The trace of a point in a picture, and two pictures side by side."""

from itertools import pairwise

import numpy as np
import pytest

from galley.viz.film.side_by_side import draw_trace, joined, middle
from galley.viz.render.view import Camera

CAMERA = Camera([3.0, 0.0, 1.5], [0.0, 0.0, 1.0])
RED = (255, 0, 0)


def blank():
    return np.full((240, 426, 3), 128, dtype=np.uint8)


def test_a_track_is_red_where_its_points_are_and_nowhere_far_away():
    points = np.array([[0.0, -0.4, 0.9], [0.2, 0.0, 1.3], [0.0, 0.5, 1.0]])
    picture = blank()
    drawn = draw_trace(picture, points, CAMERA, RED)
    assert (picture == 128).all(), "the picture itself is kept"
    pixels, _ = CAMERA.project(points, 426, 240)
    for x, y in pixels.round().astype(int)[1:2]:
        assert drawn[y, x, 0] > 200
        assert drawn[y, x, 1] < 60
    changed = np.argwhere((drawn != 128).any(axis=2))[:, ::-1]  # x, y
    low, high = pixels.min(axis=0) - 8, pixels.max(axis=0) + 8
    assert ((changed >= low) & (changed <= high)).all()
    away = np.min([distance(changed, a, b) for a, b in pairwise(pixels)], axis=0)
    assert away.max() < 5.0
    assert len(changed) > 200


def distance(p, a, b):
    """Of points (n, 2) from the segment a-b."""
    u = np.clip((p - a) @ (b - a) / ((b - a) @ (b - a)), 0.0, 1.0)
    return np.linalg.norm(p - (a + u[:, None] * (b - a)), axis=1)


@pytest.mark.parametrize(
    "points",
    [
        np.array([[0.0, 0.0, 1.0]]),
        np.array([[9.0, 0.0, 1.0], [9.0, 1.0, 1.0]]),  # behind the camera
        np.array([[0.0, 50.0, 1.0], [0.0, 51.0, 1.0]]),  # beside the picture
    ],
)
def test_what_is_not_in_the_picture_changes_nothing(points):
    assert (draw_trace(blank(), points, CAMERA, RED) == 128).all()


def test_halves_are_the_middles_of_both_and_fill_the_picture():
    left = np.tile(np.arange(212, dtype=np.uint8)[None, :, None], (4, 1, 3))
    right = np.full((4, 212, 3), 7, dtype=np.uint8)
    both = joined(middle(left), middle(right))
    assert both.shape == (4, 212, 3)
    assert (both[:, :104] == left[:, 53:157]).all()
    assert (both[:, 108:] == 7).all()
    assert (both[:, 104:108] > 200).all()
