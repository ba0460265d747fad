"""A differential base turns or drives along its heading, and never leaves what is free."""

from dataclasses import replace

import numpy as np
import pytest

from galley.motion.path import Path
from galley.motion.planners.drives import drivable, drive_time
from galley.motion.trajectory.timing import rest_to_rest
from galley.motion.trajectory.trajectory import limit_ratios
from galley.robots.model import JointGroup

ROOM = np.array([-5.0, -5.0, -7.0]), np.array([5.0, 5.0, 7.0])
RATES = ([0.6, 0.6, 1.2], [0.6, 0.6, 1.2], [3.0, 3.0, 6.0])
BASE = JointGroup(
    "base",
    ("x", "y", "heading"),
    ("m", "m", "rad"),
    *ROOM,
    *map(np.array, RATES),
    differential=True,
)
HALF = np.array([0.35, 0.25])  # m, of a rectangular base


def dense(points, step=0.01):
    return Path("base", points).resampled(step).waypoints


def among(discs):
    """Whether a rectangle clears discs (x, y, radius) at all poses of a polygonal line."""
    discs = np.array(discs)

    def free(points):
        x, y, heading = dense(points, 0.02).T[:, :, None]
        c, s = np.cos(heading), np.sin(heading)
        dx, dy = discs[:, 0] - x, discs[:, 1] - y
        beyond = [np.abs(c * dx + s * dy) - HALF[0], np.abs(c * dy - s * dx) - HALF[1]]
        apart = np.hypot(*np.maximum(beyond, 0.0))
        return bool((apart >= discs[:, 2]).all())

    return free


def sideways(points):
    """Metres across the heading, the most of any step between poses on the line."""
    way = dense(points)
    d, heading = np.diff(way, axis=0), way[:-1, 2]
    return np.abs(d[:, 1] * np.cos(heading) - d[:, 0] * np.sin(heading)).max()


def anywhere(_):
    return True


@pytest.mark.parametrize("seed", range(20))
def test_in_the_open_no_single_drive_is_faster(seed):
    a, b = np.random.default_rng(seed).uniform([-3, -3, -6], [3, 3, 6], (2, 3))
    way = drivable(np.stack([a, b]), BASE, anywhere)
    assert sideways(way) < 1e-9
    np.testing.assert_array_equal([way[0], way[-1]], [a, b])
    # By hand: one straight line, and the least of all turns, ahead or astern.
    course, far = np.arctan2(b[1] - a[1], b[0] - a[0]), np.hypot(b[0] - a[0], b[1] - a[1])
    headings = [(course + k * np.pi, k % 2) for k in range(-4, 5)]
    best = min(
        (abs(h - a[2]) + abs(b[2] - h)) / 1.2 + far / 0.6 + back * far
        for h, back in headings
        if abs(h) <= 7.0
    )
    assert drive_time(way, BASE) <= best + 1e-9


def test_a_sideways_shift_between_posts_is_made_of_turns_and_drives():
    free = among([(-0.6, 0.6, 0.1), (0.9, 0.6, 0.1), (0.0, 2.2, 0.1), (0.0, -1.2, 0.1)])
    shift = np.array([[0.0, 0.0, 0.0], [0.0, 1.2, 0.0]])
    assert free(shift)
    assert sideways(shift) > 0.009
    way = drivable(shift, BASE, free)
    assert way is not None
    assert free(way)
    assert sideways(way) < 1e-9
    np.testing.assert_array_equal([way[0], way[-1]], shift)


def slot(room):
    """Walls beside a base that stands across a slot, with so much room (m) ahead and astern."""
    x = HALF[0] + room + 0.05
    return among([(side, y, 0.05) for side in (-x, x) for y in np.arange(-0.6, 1.6, 0.02)])


def test_with_a_little_room_it_shifts_sideways_by_short_slanted_drives():
    shift = np.array([[0.0, 0.0, 0.0], [0.0, 0.1, 0.0]])
    way = drivable(shift, BASE, slot(0.075))
    assert way is not None
    assert slot(0.075)(way)
    assert sideways(way) < 1e-9
    assert np.abs(way[:, 2]).max() < 0.5  # it can't turn round
    np.testing.assert_array_equal([way[0], way[-1]], shift)


def test_where_there_is_no_room_to_turn_there_is_no_drive():
    shift = np.array([[0.0, 0.0, 0.0], [0.0, 0.1, 0.0]])
    assert slot(0.01)(shift)
    assert drivable(shift, BASE, slot(0.01)) is None


def test_no_drive_leaves_the_room_of_the_base():
    """Two drives along the headings of the ends would meet at x = 0.7."""
    low, high = np.array([-0.3, -0.3, -7.0]), np.array([0.3, 1.0, 7.0])
    base = replace(BASE, lower=low, upper=high)

    def ahead(points):
        return np.abs(points[:, 2]).max() <= 0.5

    way = drivable(np.array([[0.0, 0.0, 0.4], [0.0, 0.6, -0.4]]), base, ahead)
    assert way is not None
    assert sideways(way) < 1e-9
    assert ((way >= low) & (way <= high)).all()


def test_turns_on_one_spot_become_one():
    points = np.array([[0, 0, 0], [0, 0, 1.0], [0, 0, -0.5], [1, 0, -0.5]], dtype=float)
    way = drivable(points, BASE, anywhere)
    spots = np.hypot(*np.diff(way[:, :2], axis=0).T) < 1e-9
    assert not (spots[1:] & spots[:-1]).any()
    assert sideways(way) < 1e-9


def test_its_speed_along_a_diagonal_is_that_ahead():
    way = np.array([[0.0, 0.0, np.pi / 4], [2.0, 2.0, np.pi / 4]])
    trajectory = rest_to_rest(Path("base", way), BASE)
    t = np.linspace(0.0, trajectory.duration, 2000)
    speed = np.linalg.norm(np.gradient(trajectory(t)[:, :2], t, axis=0), axis=1)
    assert 0.58 < speed.max() < 0.6 + 1e-3
    assert max(limit_ratios(trajectory, BASE)) <= 1.0 + 1e-9
