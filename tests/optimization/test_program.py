"""One round's program: limits kept for certain, distances to first order, length, ranges."""

from types import SimpleNamespace

import numpy as np
import pytest

from galley.collision.view import Nearby
from galley.optimization.backward_travel import backward_travel, backward_travel_cost
from galley.optimization.program import Iterate, Weights, build_program, solve_program
from galley.optimization.smooth import initial_control_points, minimum_duration
from galley.optimization.spline import FIXED, spline_space
from galley.robots.panda.ik import LIMITS
from galley.robots.panda.models import mobile_panda


def pairs(rows, distances, gradients, size=7):
    """Bodies that must keep 5 mm from what stands still."""
    return Nearby(
        np.array(rows, dtype=np.int64),
        np.array(distances),
        np.full(len(rows), 0.005),
        np.reshape(gradients, (len(rows), size)),
        *np.zeros((2, len(rows)), dtype=np.int64),
    )


GROUP = LIMITS
START = np.array([-0.8, 0.3, 0.0, -2.0, 0.0, 2.3, 0.7])
GOAL = np.array([0.9, -0.4, 0.8, -1.2, 0.5, 1.6, -0.7])
VIA = START + np.array([0.5, 0.9, -0.5, 0.4, 0.2, -0.6, 1.0])
NOTHING = pairs([], [], [])


def one_round(points, near=NOTHING, trust=2.0, scale=1.0, weights=None, group=GROUP, duration=None):
    space = spline_space(len(points) - 3)
    basis = space.basis(space.samples(3))
    duration = duration or minimum_duration(space, points, group, scale)
    iterate = Iterate(points, duration, trust)
    found = solve_program(space, iterate, group, scale, basis, near, weights or Weights())
    assert found is not None
    return space, basis, found, duration


def guess(*waypoints, pieces=12):
    return initial_control_points(spline_space(pieces), np.array(waypoints), GROUP)


@pytest.mark.parametrize("scale", [1.0, 0.5])
@pytest.mark.parametrize("slow", [1.0, 1.6])
def test_however_far_the_duration_goes_the_limits_hold_in_it(scale, slow):
    """The linearised powers of the duration are bounds from below: nothing has to be repaired."""
    points = guess(START, VIA, GOAL)
    space = spline_space(12)
    at = slow * minimum_duration(space, points, GROUP, scale)
    space, _, found, _ = one_round(points, scale=scale, duration=at)
    after = minimum_duration(space, found, GROUP, scale)
    assert after < at
    trajectory = space.trajectory("arm", found, after)
    t = np.arange(0.0, after, 1e-3)
    for order, limit in ((1, GROUP.velocity), (2, GROUP.acceleration), (3, GROUP.jerk)):
        assert (np.abs(trajectory(t, order)) <= scale * limit * (1.0 + 1e-6)).all()
    assert found[0] == pytest.approx(START)
    assert found[-1] == pytest.approx(GOAL)


def test_a_pair_that_is_too_near_is_moved_apart_by_just_as_much_as_is_wanted():
    points = guess(START, GOAL)
    space = spline_space(12)
    basis = space.basis(space.samples(3))
    gradient = np.array([0.3, -0.2, 0.1, 0.4, 0.0, 0.1, 0.0])
    near = pairs([18, 18, 20], [-0.02, 0.08, 0.001], np.tile(gradient, (3, 1)))
    _, _, found, _ = one_round(points, near)
    moved = (basis @ found - basis @ points) @ gradient
    buffer = 0.0015
    assert near.distance[0] + moved[18] >= 0.005 + buffer - 1e-5
    assert near.distance[2] + moved[20] >= 0.005 + buffer - 1e-5
    assert near.distance[0] + moved[18] < 0.005 + buffer + 1e-3, "and no farther"


def test_control_points_stay_in_the_joints_ranges_and_the_fixed_ones_where_they_are():
    high = np.clip(START + 5.0, None, GROUP.upper)
    points = guess(START, high - 1e-3, high)
    near = pairs([30], [-0.1], np.ones((1, 7)))
    _, _, found, _ = one_round(points, near)
    assert (found <= GROUP.upper + 1e-7).all()
    assert (found >= GROUP.lower - 1e-7).all()
    np.testing.assert_array_equal(found[:FIXED], points[:FIXED])
    np.testing.assert_array_equal(found[-FIXED:], points[-FIXED:])
    _, _, near_by, _ = one_round(points, near, trust=0.05)
    assert np.abs(near_by - points).max() == pytest.approx(0.05, abs=1e-5), "the trust region"


def test_the_jerk_is_minded_where_it_binds():
    """A group with a weak jerk limit: as with a heavy base. Without its rows it would be broken."""
    weak = SimpleNamespace(**{**GROUP.__dict__, "jerk": 3.0 * np.ones(7)})
    points = initial_control_points(spline_space(12), np.array([START, GOAL]), GROUP)
    space = spline_space(12)
    first = minimum_duration(space, points, weak, 1.0)
    for _ in range(3):
        space, _, points, _ = one_round(points, group=weak)
    best = minimum_duration(space, points, weak, 1.0)
    # Rest to rest by jerk alone takes (32 D / j)^(1/3): W. Meier's four equal phases.
    bound = np.cbrt(32.0 * np.abs(GOAL - START).max() / 3.0)
    assert bound <= best < 1.05 * bound
    assert best < first


@pytest.mark.parametrize("off", [0.0, 0.4, -2.0])
def test_the_cost_of_driving_astern_bounds_it_from_above_for_any_heading(off):
    """Against (1 - cos d) / 2 over an arc of 3 m, the heading d off the course all the way."""
    space = spline_space(12)
    basis = space.basis(space.samples(3))
    turn = np.linspace(0.0, 1.5, 400)
    circle = 2.0 * np.column_stack([np.cos(turn), np.sin(turn)])
    arc = np.linalg.lstsq(space.basis(turn / 1.5), circle, rcond=None)[0]
    points = np.column_stack([arc, 1.5 * space.abscissae + 0.5 * np.pi + off])
    assert backward_travel(basis @ points) == pytest.approx(1.5 * (1.0 - np.cos(off)), abs=2e-3)
    H, g = backward_travel_cost(basis, points)

    def cost(heading):
        return 0.5 * heading @ H @ heading + g @ heading

    rest = 3.0 * off**2 / 4.0 - cost(points[FIXED:-FIXED, 2])
    rng = np.random.default_rng(0)
    for spread in (0.0, 0.1, 0.5):
        other = points.copy()
        other[FIXED:-FIXED, 2] += spread * rng.standard_normal(len(points) - 2 * FIXED)
        assert backward_travel(basis @ other) <= cost(other[FIXED:-FIXED, 2]) + rest + 5e-3
    ahead = np.linalg.solve(H + 1e-9 * np.eye(len(H)), -g)  # the program alone faces the way
    other[FIXED:-FIXED, 2] = ahead
    assert backward_travel(basis @ other) <= 0.2 * backward_travel(basis @ points) + 1e-3


@pytest.mark.parametrize("driving", [False, True])
def test_its_cost_counts_duration_missing_clearance_length_and_heading(driving):
    """At two places, as the module states it; a constant is left out."""
    group = mobile_panda().group("base") if driving else GROUP
    weights = Weights(astern=2.0) if driving else Weights()
    ends = [[0.0, 0.0, 0.0], [1.0, 1.5, 1.0], [2.5, 1.5, 3.0]] if driving else [START, VIA, GOAL]
    space = spline_space(12)
    points = initial_control_points(space, np.array(ends), group)
    basis = space.basis(space.samples(3))
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    pull = weights.length / (np.maximum(steps, 0.3 * steps.sum() / len(points)) * steps.sum())
    H, g = backward_travel_cost(basis, points) if driving else (0.0, 0.0)
    near = pairs([], [], [], group.size)
    program, _ = build_program(space, Iterate(points, 3.0, 0.5), group, 1.0, basis, near, weights)

    def costs(seed):
        rng = np.random.default_rng(seed)
        other = points.copy()
        other[FIXED:-FIXED] += rng.normal(size=other[FIXED:-FIXED].shape)
        tau, slack = rng.random(), rng.random(len(basis))
        values = np.concatenate([other[FIXED:-FIXED].ravel(), [tau], slack])
        way, heading = np.diff(other, axis=0), other[FIXED:-FIXED, -1]
        if driving:
            way = way[:, :2]
        stated = tau + 100.0 * slack.sum() + 0.5 * (way**2 * pull[:, None]).sum()
        if driving:
            stated += 2.0 / 3.0 * (0.5 * heading @ H @ heading + g @ heading)
        return stated, program.EvalBindings(program.GetAllCosts(), values).sum()

    one, other = costs(0), costs(1)
    assert other[1] - one[1] == pytest.approx(other[0] - one[0])


def test_a_range_that_is_out_of_reach_has_no_solution():
    points = guess(START, GOAL)
    points[8, 0] = GROUP.upper[0] + 1.0
    space = spline_space(12)
    iterate = Iterate(points, minimum_duration(space, points, GROUP, 1.0), 0.5)
    basis = space.basis(space.samples(3))
    assert solve_program(space, iterate, GROUP, 1.0, basis, NOTHING, Weights()) is None
