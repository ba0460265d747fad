"""One round's program: limits kept for certain, distances to first order, length, ranges."""

from types import SimpleNamespace

import numpy as np
import pytest
from pydrake.solvers import ClarabelSolver, MathematicalProgram

from galley.collision.view import Nearby
from galley.optimization.heading import astern, astern_cost
from galley.optimization.program import Iterate, Weights, solve_program
from galley.optimization.smooth import initial_control_points, minimum_duration
from galley.optimization.spline import FIXED, spline_space
from galley.robots.panda.description import arm_group
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


GROUP = arm_group()
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
    buffer = Weights().buffer
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
    assert astern(basis @ points) == pytest.approx(1.5 * (1.0 - np.cos(off)), abs=2e-3)
    H, g = astern_cost(basis, points)

    def cost(heading):
        return 0.5 * heading @ H @ heading + g @ heading

    rest = 3.0 * off**2 / 4.0 - cost(points[FIXED:-FIXED, 2])
    rng = np.random.default_rng(0)
    for spread in (0.0, 0.1, 0.5):
        other = points.copy()
        other[FIXED:-FIXED, 2] += spread * rng.standard_normal(len(points) - 2 * FIXED)
        assert astern(basis @ other) <= cost(other[FIXED:-FIXED, 2]) + rest + 5e-3
    ahead = np.linalg.solve(H + 1e-9 * np.eye(len(H)), -g)  # the program alone faces the way
    other[FIXED:-FIXED, 2] = ahead
    assert astern(basis @ other) <= 0.2 * astern(basis @ points) + 1e-3


@np.errstate(invalid="ignore")  # Drake's expressions set the flag
def row_by_row(points, near, basis, trust, weights, group, heading=None):
    """The program as ``smooth`` states it, over all control points, row by row, solved exactly.

    Returns:
        Its least cost, and the cost of other control points: with the best tau and slacks for them.
    """
    m, k = points.shape
    space = spline_space(m - 3)
    T = minimum_duration(space, points, group, 1.0)
    limits = list(enumerate((group.velocity, group.acceleration, group.jerk), start=1))
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    pull = weights.length / (np.maximum(steps, 0.3 * steps.sum() / m) * steps.sum())
    counts = np.ones(k) if heading is None else np.array([1.0, 1.0, 0.0])
    H, g = (None, None) if heading is None else (weights.astern / T * each for each in heading)

    def cost(P, slack):
        way = np.diff(P, axis=0)
        total = weights.slack * sum(slack) + 0.5 * (way**2 * pull[:, None] * counts).sum()
        if heading is not None:
            own = P[FIXED:-FIXED, 2]
            total = total + 0.5 * own @ H @ own + g @ own
        return total

    program = MathematicalProgram()
    P = program.NewContinuousVariables(m, k)
    tau, slack = program.NewContinuousVariables(1)[0], program.NewContinuousVariables(len(basis))
    for i in range(m):
        for j in range(k):
            if FIXED <= i < m - FIXED:
                low = max(points[i, j] - trust, group.lower[j])
                program.AddBoundingBoxConstraint(
                    low, min(points[i, j] + trust, group.upper[j]), P[i, j]
                )
            else:
                program.AddBoundingBoxConstraint(points[i, j], points[i, j], P[i, j])
    program.AddBoundingBoxConstraint(0.0, np.inf, slack)
    program.AddBoundingBoxConstraint(0.5, 3.0, tau)
    for p, limit in limits:
        for row in (space.derivatives[p] @ P) / (limit * T**p):
            for value in row:
                program.AddLinearConstraint(value <= p * tau - (p - 1))
                program.AddLinearConstraint(-value <= p * tau - (p - 1))
    for row, distance, required, gradient in zip(*near[:4], strict=True):
        moved = gradient @ (basis[row] @ P - basis[row] @ points)
        wanted = required + weights.buffer
        program.AddLinearConstraint(distance + moved + slack[row] >= wanted)
    program.AddQuadraticCost(cost(P, slack))
    program.AddLinearCost(tau)
    result = ClarabelSolver().Solve(program, None, None)
    assert result.is_success()

    def best(other):
        peaks = [
            (np.abs(space.derivatives[p] @ other) / (limit * T**p)).max() for p, limit in limits
        ]
        own = max(0.5, *((peak + p - 1) / p for p, peak in enumerate(peaks, start=1)))
        need = np.zeros(len(basis))
        moved = ((basis @ (other - points))[near.row] * near.gradient).sum(axis=1)
        np.maximum.at(need, near.row, near.required + weights.buffer - near.distance - moved)
        return own + cost(other, need)

    return result.get_optimal_cost(), best


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("depth", [0.03, -0.02])
def test_its_cost_is_as_low_as_that_of_the_program_row_by_row(seed, depth):
    """Near and, with a negative depth, overlapping bodies; everywhere the same program."""
    rng = np.random.default_rng(seed)
    points = guess(START, VIA, GOAL)
    basis = spline_space(12).basis(spline_space(12).samples(3))
    rows = np.sort(rng.integers(4, len(basis) - 4, 30))
    near = pairs(rows, depth + 0.03 * rng.random(30), rng.uniform(-0.4, 0.4, (30, 7)))
    least, cost = row_by_row(points, near, basis, 0.5, Weights(), GROUP)
    found = solve_program(
        spline_space(12),
        Iterate(points, minimum_duration(spline_space(12), points, GROUP, 1.0), 0.5),
        GROUP, 1.0, basis, near, Weights(),
    )  # fmt: skip
    assert least - 1e-5 <= cost(found) <= least + 2e-3 * max(1.0, least)


def test_of_a_drive_with_a_heading_too():
    group = mobile_panda().group("base")
    space = spline_space(12)
    points = initial_control_points(
        space, np.array([[0.0, 0.0, 0.0], [1.0, 1.5, 1.0], [2.5, 1.5, 3.0]]), group
    )
    basis = space.basis(space.samples(3))
    near = pairs([], [], [], 3)
    weights = Weights(astern=2.0)
    heading = astern_cost(basis, points)
    least, cost = row_by_row(points, near, basis, 0.5, weights, group, heading)
    iterate = Iterate(points, minimum_duration(space, points, group, 1.0), 0.5)
    found = solve_program(space, iterate, group, 1.0, basis, near, weights)
    assert least - 1e-5 <= cost(found) <= least + 2e-3 * max(1.0, abs(least))


def test_a_range_that_is_out_of_reach_has_no_solution():
    points = guess(START, GOAL)
    points[8, 0] = GROUP.upper[0] + 1.0
    space = spline_space(12)
    iterate = Iterate(points, minimum_duration(space, points, GROUP, 1.0), 0.5)
    basis = space.basis(space.samples(3))
    assert solve_program(space, iterate, GROUP, 1.0, basis, NOTHING, Weights()) is None
