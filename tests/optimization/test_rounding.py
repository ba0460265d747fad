"""Rounded corners: smooth, near the polygon, free, and as large as they may be."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from galley.domain.frames import frozen
from galley.motion.path import Path
from galley.optimization.rounding import proven_cuts, round_corners, useful_cuts
from galley.robots.model import JointGroup
from galley.tests.optimization.curves import curve, rounded

few = settings(max_examples=30, deadline=None)
seeds = st.integers(0, 10**6)

PLANE = JointGroup(
    "plane", ("x", "y"), ("m", "m"), frozen([-9, -9]), frozen([9, 9]), *[frozen([1, 2])] * 3
)
BEND = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])


def polygon(seed, n, k=2):
    return np.random.default_rng(seed).uniform(-2, 2, (n, k))


def to_polygon(q, points):
    """Distance of q to the nearest point of the polygon, by projection on each segment."""
    nearest = np.inf
    for a, b in itertools.pairwise(points):
        share = np.clip((q - a) @ (b - a) / ((b - a) @ (b - a)), 0, 1)
        nearest = min(nearest, np.linalg.norm(q - a - share * (b - a)))
    return nearest


class Disc:
    """A view of a point in the plane and a disc in its way; sampled densely."""

    def __init__(self, middle, radius):
        self.middle, self.radius, self.asked = np.asarray(middle), radius, 0

    def curve_unproven(self, breaks, coefficients, required=None):
        self.asked += 1
        for begin, end, rows in zip(breaks[:-1], breaks[1:], coefficients, strict=True):
            for u in np.linspace(0, end - begin, 400):
                q = sum(row * u**p for p, row in enumerate(rows))
                if np.linalg.norm(q - self.middle) < self.radius + (required or 0.0):
                    return float(begin + u)
        return None


@few
@given(seeds, st.integers(2, 7))
def test_position_and_direction_are_continuous_and_the_ends_kept(seed, n):
    points = polygon(seed, n)
    path = rounded(Path("plane", points), PLANE, deviation=0.3)
    assert path.stops == ()
    np.testing.assert_allclose(curve(path)(0.0), points[0], atol=1e-12)
    np.testing.assert_allclose(curve(path)(path.breaks[-1]), points[-1], atol=1e-12)
    for s in path.breaks[1:-1]:
        for order in (0, 1):
            np.testing.assert_allclose(
                curve(path)(s - 1e-9, order), curve(path)(s, order), atol=1e-6
            )


@few
@given(seeds, st.integers(3, 6), st.sampled_from([0.001, 0.05, 0.4]))
def test_without_a_view_no_joint_passes_a_corner_farther_away_than_allowed(seed, n, deviation):
    points = polygon(seed, n)
    path = rounded(Path("plane", points), PLANE, deviation=deviation)
    for piece in np.nonzero(path.corner >= 0)[0]:
        s = np.linspace(path.breaks[piece], path.breaks[piece + 1], 101)
        corner = points[path.corner[piece] + 1]
        assert np.abs(curve(path)(s) - corner).max(axis=1).min() <= deviation * (1 + 1e-6)
    q = curve(path)(np.linspace(0, path.breaks[-1], 200))
    assert max(to_polygon(each, points) for each in q) <= deviation * np.sqrt(2) + 1e-9


@few
@given(seeds, st.integers(3, 7))
def test_parabolas_of_neighbours_never_overlap_nor_leave_the_box_of_the_waypoints(seed, n):
    points = polygon(seed, n)
    cuts = useful_cuts(points, PLANE)
    spans = (np.abs(np.diff(points, axis=0)) / PLANE.velocity).max(axis=1)
    around = np.concatenate([[0.0], cuts, [0.0]])
    assert (around[:-1] + around[1:] <= spans * (1 + 1e-12)).all()
    path = round_corners("plane", points, cuts, PLANE)
    q = curve(path)(np.linspace(0, path.breaks[-1], 500))
    assert (q >= points.min(axis=0) - 1e-12).all()
    assert (q <= points.max(axis=0) + 1e-12).all()


def test_straight_pieces_stay_on_the_polygon():
    path = rounded(Path("plane", BEND), PLANE, deviation=0.05)
    assert list(path.corner) == [-1, 0, -1]
    for i in (0, 2):
        for s in np.linspace(path.breaks[i], path.breaks[i + 1], 20):
            assert to_polygon(curve(path)(s), BEND) < 1e-12
    middle = 0.5 * (path.breaks[1] + path.breaks[2])
    assert np.abs(curve(path)(middle) - BEND[1]).max() == pytest.approx(0.05)


@pytest.mark.parametrize("radius", [0.01, 0.05, 0.1])
def test_a_corner_is_cut_as_far_as_the_free_space_goes(radius):
    """Against an exhaustive search over cuts: at least 0.75 of the largest free one."""
    disc = Disc([0.875, 0.25], radius)  # in the middle of the largest parabola
    useful = useful_cuts(BEND, PLANE)
    found = proven_cuts(disc, BEND, PLANE, useful, None)[0]
    path = round_corners("plane", BEND, np.array([found]), PLANE)
    assert disc.curve_unproven(path.breaks, path.coefficients) is None
    largest = 0.0
    for size in np.linspace(0.01, 1.0, 60) * useful[0]:
        trial = round_corners("plane", BEND, np.array([size]), PLANE)
        if disc.curve_unproven(trial.breaks, trial.coefficients) is not None:
            break
        largest = size
    assert largest < useful[0], "the disc is to be in the way"
    assert 0.75 * largest <= found


def test_what_is_required_counts_too():
    disc = Disc([0.875, 0.25], 0.01)
    near, far = (
        proven_cuts(disc, BEND, PLANE, useful_cuts(BEND, PLANE), required)[0]
        for required in (0.0, 0.08)
    )
    assert 0.0 < far < near


def test_a_corner_without_room_becomes_a_stop():
    class Wedge(Disc):
        """All that lies within the disc and inside of the first bend."""

        def curve_unproven(self, breaks, coefficients, required=None):
            q = sum(coefficients[0, p] * (0.5 * breaks[1]) ** p for p in range(3))
            return 0.5 * breaks[1] if np.linalg.norm(q - self.middle) < self.radius else None

    points = np.vstack([BEND, [[2.0, 1.0]]])
    path = rounded(Path("plane", points), PLANE, Wedge([1.0, 0.0], 0.5))
    assert len(path.stops) == 1
    at = path.breaks[path.stops[0]]
    np.testing.assert_allclose(curve(path)(at), [1.0, 0.0])
    first, second = path.parts()
    np.testing.assert_allclose(curve(first)(first.breaks[-1]), [1.0, 0.0])
    np.testing.assert_allclose(curve(second)(0.0), [1.0, 0.0])
    assert list(second.corner) == [-1, 1, -1]
    s = np.linspace(0, 1, 50)
    np.testing.assert_allclose(
        curve(second)(s * second.breaks[-1]), curve(path)(at + s * second.breaks[-1])
    )
