"""The fastest time law: closed forms, scipy's linear programs and toppra as oracles."""

import logging

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from galley.domain.frames import frozen
from galley.motion.path import Path
from galley.motion.trajectory.trajectory import limit_ratios
from galley.optimization.kernel.path_timing import _greatest_x
from galley.optimization.path_timing import fastest_time_law, timed_trajectory
from galley.optimization.rounding import round_corners, useful_cuts
from galley.robots.model import JointGroup
from galley.tests.optimization.curves import curve, rounded

few = settings(max_examples=25, deadline=None)
seeds = st.integers(0, 10**6)


def joints(velocity, acceleration):
    k = len(velocity)
    names = tuple(f"j{i}" for i in range(k))
    far = np.full(k, 99.0)
    limits = [frozen(each) for each in (-far, far, velocity, acceleration, far)]
    return JointGroup("arm", names, ("rad",) * k, *limits)


@pytest.fixture(scope="module")
def arm(robot):
    return robot.group("arm")


def wide(points, group):
    """The polygon with its corners cut as far as is useful."""
    return round_corners("arm", points, useful_cuts(points, group), group)


def polygon(seed, n, size=1.0, k=7):
    return np.random.default_rng(seed).uniform(-size, size, (n, k))


# -- closed forms ----------------------------------------------------------------------------------


@few
@given(seeds)
def test_a_straight_segment_is_a_trapezoid_or_a_triangle(seed):
    """D / v + v / a where there is room for the full speed, 2 sqrt(D / a) where there isn't."""
    rng = np.random.default_rng(seed)
    group = joints(rng.uniform(0.5, 3, 3), rng.uniform(0.5, 20, 3))
    points = rng.uniform(-1, 1, (2, 3)) * 10.0 ** rng.uniform(-4, 1)
    d = np.abs(points[1] - points[0])
    # Shares of the whole segment: the joint that is slowest to drive sets each limit.
    v, a = (group.velocity / d).min(), (group.acceleration / d).min()
    expected = 1 / v + v / a if v * v / a < 1 else 2 / np.sqrt(a)
    path = rounded(Path("arm", points), group)
    assert fastest_time_law(path, group).times[-1] == pytest.approx(expected, rel=1e-9)


# -- limits ----------------------------------------------------------------------------------------


@few
@given(seeds, st.integers(2, 9), st.sampled_from([0.01, 0.1, 0.5, 2.0]), st.booleans())
def test_limits_hold_everywhere_and_one_is_used(arm, seed, n, size, narrow):
    points = polygon(seed, n, size)
    path = rounded(Path("arm", points), arm) if narrow else wide(points, arm)
    trajectory = timed_trajectory(path, fastest_time_law(path, arm, 0.7))
    velocity, acceleration, _ = limit_ratios(trajectory, arm)
    assert max(velocity, acceleration) == pytest.approx(0.7, rel=1e-6)
    # From positions alone, so that derivatives can't hide anything.
    t = np.linspace(0, trajectory.duration, 3001)
    h = t[1]
    q = trajectory(t)
    speed = np.abs(np.diff(q, axis=0)) / h
    change = np.abs(np.diff(q, 2, axis=0)) / h**2
    assert (speed <= 0.7 * arm.velocity * (1 + 1e-6)).all()
    assert (change <= 0.7 * arm.acceleration * (1 + 1e-3) + 1e-14 / h**2).all()


@few
@given(seeds, st.integers(2, 8))
def test_the_trajectory_is_the_path_in_time(arm, seed, n):
    path = wide(polygon(seed, n, 0.5), arm)
    law = fastest_time_law(path, arm)
    trajectory = timed_trajectory(path, law)
    np.testing.assert_allclose(trajectory(law.times), curve(path)(law.grid), atol=1e-9)
    for t in (0.0, trajectory.duration):
        np.testing.assert_allclose(trajectory(t, 1), 0.0, atol=1e-7)
    # Between grid points too: s(t) with d2s/dt2 constant in between.
    for i in range(len(law.piece)):
        t = 0.4 * (law.times[i + 1] - law.times[i])
        u = 0.5 * (law.squares[i + 1] - law.squares[i]) / (law.grid[i + 1] - law.grid[i])
        s = law.grid[i] + law.rates[i] * t + 0.5 * u * t * t
        np.testing.assert_allclose(trajectory(law.times[i] + t), curve(path)(s), atol=1e-9)


def test_turning_back_is_possible_without_a_stop():
    group = joints([1.0], [4.0])
    points = np.array([[0.0], [1.0], [0.2]])
    law = fastest_time_law(wide(points, group), group)
    assert (law.squares[1:-1] > 0).all()
    trajectory = timed_trajectory(wide(points, group), law)
    assert trajectory.peaks(2)[0] == pytest.approx(4.0, rel=1e-6)


# -- against others --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seed", "n", "size"), [(0, 3, 1.0), (1, 4, 0.3), (2, 6, 1.0), (3, 7, 0.05), (4, 10, 0.2)]
)
def test_toppra_is_no_more_than_a_hundredth_faster(arm, seed, n, size):
    """On a fine grid; and hardly slower: ours uses the same limits."""
    toppra = pytest.importorskip("toppra")
    logging.getLogger("toppra").setLevel(logging.ERROR)
    path = wide(polygon(seed, n, size), arm)

    class Curve(toppra.interpolator.AbstractGeometricPath):
        dof, path_interval, waypoints = 7, np.array([0.0, path.breaks[-1]]), None

        def __call__(self, s, order=0):
            return curve(path)(s, order)

    kind = toppra.constraint.DiscretizationType.Interpolation
    limits = [
        toppra.constraint.JointVelocityConstraint(np.stack([-arm.velocity, arm.velocity], 1)),
        toppra.constraint.JointAccelerationConstraint(
            np.stack([-arm.acceleration, arm.acceleration], 1), discretization_scheme=kind
        ),
    ]
    grid = np.unique(np.concatenate([path.breaks, np.linspace(0, path.breaks[-1], 1500)]))
    problem = toppra.algorithm.TOPPRA(
        limits, Curve(), gridpoints=grid, parametrizer="ParametrizeConstAccel"
    )
    theirs = problem.compute_trajectory(0, 0).duration
    assert 0.998 * theirs <= fastest_time_law(path, arm).times[-1] <= 1.01 * theirs


@few
@given(seeds, st.integers(1, 4))
def test_the_linear_program_is_solved_as_scipy_solves_it(seed, k):
    rng = np.random.default_rng(seed)
    rows = np.zeros((8 * k + 2, 3))
    rows[:, :2] = rng.normal(size=(len(rows), 2)) * 10.0 ** rng.uniform(-3, 3, (len(rows), 1))
    rows[:, 2] = rng.uniform(0, 5, len(rows))
    rows[rng.integers(0, len(rows), 2), 0] = 0.0
    rows[-1] = [1.0, 1.0, 3.0]  # bounded, as by the next set
    rows[-2] = [-1.0, 0.5, 4.0]
    answer = linprog([0, -1], rows[:, :2], rows[:, 2], bounds=[(None, None), (0, None)])
    assert _greatest_x(rows) == pytest.approx(answer.x[1], rel=1e-6, abs=1e-9)


# -- the rest --------------------------------------------------------------------------------------


@pytest.mark.parametrize("plateau", [0.05, 0.3])
def test_a_plateau_lasts_where_there_is_room(plateau):
    group = joints([5.0], [4.0])
    path = rounded(Path("arm", np.array([[0.0], [1.0]])), group)
    trajectory = timed_trajectory(path, fastest_time_law(path, group, plateau=plateau))
    spans = np.diff(trajectory.breaks)
    flat = np.abs(2 * trajectory.coefficients[:, 2, 0]) < 1e-9
    assert spans[flat].sum() == pytest.approx(plateau, rel=1e-6)
    assert trajectory.peaks(2)[0] == pytest.approx(4.0)
    assert trajectory(trajectory.duration)[0] == pytest.approx(1.0)


def test_what_cant_be_timed_is_an_error(arm):
    path = rounded(Path("arm", polygon(0, 3)), arm, deviation=0.0)
    assert path.stops
    with pytest.raises(ValueError, match="part by part"):
        fastest_time_law(path, arm)
    for scale in (0.0, 1.1):
        with pytest.raises(ValueError, match="scale"):
            fastest_time_law(path.parts()[0], arm, scale)
