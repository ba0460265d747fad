"""The arm that holds the pusher."""

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from galley.bench.pushing import scipy_ik
from galley.compiled.build import PUSHING, ensure
from galley.planar.pushing.arm import PushArm
from galley.planar.pushing.config import ArmConfig

ARM = PushArm(ArmConfig())
ANGLES = st.lists(st.floats(-3, 3), min_size=5, max_size=5)


def kernel_cost(theta, target):
    """The compiled cost, and the penalty's gradient."""
    ensure(PUSHING)
    from galley.planar.pushing.arm_kernel import cost

    p, gradient = np.empty((6, 2)), np.empty(5)
    c = ARM.config
    angles, to = np.array(theta, dtype=float), np.array(target, dtype=float)
    found = cost(angles, ARM._lengths, ARM.base, to, c.threshold, c.weight, p, gradient)
    return found, gradient


@given(ANGLES)
def test_clearance_is_shapelys(theta):
    p = ARM.points(theta)
    links = [shapely.LineString(p[i : i + 2]) for i in range(5)]
    theirs = min(links[i].distance(links[j]) for i in range(5) for j in range(i + 2, 5))
    assert ARM.clearance(theta) == pytest.approx(theirs, abs=1e-12)


@given(ANGLES, st.floats(0, 0.5), st.floats(0, 0.5))
def test_compiled_and_scipys_cost_are_equal(theta, x, y):
    assert kernel_cost(theta, (x, y))[0] == pytest.approx(
        scipy_ik.cost(ARM, theta, (x, y)), abs=1e-12
    )


@given(ANGLES)
def test_the_penaltys_gradient_is_that_of_finite_differences(theta):
    theta, step = np.array(theta), 1e-6
    tip, slopes = ARM.tip(theta), []
    for k in range(5):
        pair = []
        for sign in (1.0, -1.0):
            moved = theta + sign * step * np.eye(5)[k]
            pair.append(kernel_cost(moved, ARM.tip(moved))[0])  # no error of the tip: the penalty
        slopes.append((pair[0] - pair[1]) / (2.0 * step))
    p = ARM.points(theta)
    first, second = np.triu_indices(5, 2)
    d = [
        shapely.LineString(p[i : i + 2]).distance(shapely.LineString(p[j : j + 2]))
        for i, j in zip(first, second, strict=True)
    ]
    kinks = [each for each in d if each < 1e-4 or abs(each - ARM.config.threshold) < 1e-4]
    if kinks:
        return
    found = kernel_cost(theta, tip)[1]
    # Where the nearest point changes from an end of one link to that of the other, both sides are
    # right: their mean differs, by a kink in the distance's slope.
    others = [kernel_cost(theta + s * step * np.ones(5), tip)[1] for s in (1.0, -1.0)]
    if max(np.abs(found - each).max() for each in others) < 1e-5:
        assert_allclose(found, slopes, atol=1e-6)


@given(ANGLES)
def test_ik_of_a_reachable_target_reaches_it(theta):
    tip = ARM.tip(theta)
    found, cost = ARM.ik(np.full(5, 0.3), tip)
    assert np.hypot(*(ARM.tip(found) - tip)) < 1e-4 or cost > 1e-10
    assert cost < 1e-4
    assert cost == pytest.approx(scipy_ik.cost(ARM, found, tip), abs=1e-12)


def test_out_of_reach_the_arm_stretches_towards_the_target():
    target = ARM.base[:2] + np.array([0.0, 1.0])
    found, cost = ARM.ik(np.array([1.0, 0.2, 0.1, -0.1, 0.2]), target)
    assert_allclose(ARM.tip(found), ARM.base[:2] + np.array([0.0, 0.75]), atol=1e-4)
    assert cost == pytest.approx(0.25**2, abs=1e-6)


def cases(n):
    """Starts (n, 5), and targets (n, 2) on the table and beyond."""
    rng = np.random.default_rng(5)
    return rng.normal(0.0, 0.8, (n, 5)), rng.uniform(-0.3, 0.9, (n, 2))


@pytest.mark.parametrize("count", [25, pytest.param(400, marks=pytest.mark.slow)])
def test_compiled_ik_costs_no_more_than_scipys_from_the_same_start(count):
    starts, targets = cases(count)
    _, ours = ARM.ik(starts, targets)
    both = zip(starts, targets, strict=True)
    theirs = np.array([scipy_ik.cost(ARM, scipy_ik.ik(ARM, start, to), to) for start, to in both])
    assert np.mean(ours <= theirs + 1e-6) >= 0.99


def test_what_ik_finds_without_penalty_never_self_collides():
    starts, targets = cases(300)
    found, _ = ARM.ik(starts, targets)
    free = [ARM.clearance(q) >= ARM.config.threshold - 1e-6 for q in found]
    assert np.mean(free) > 0.95
    assert not any(ARM.collides(q) for q, ok in zip(found, free, strict=True) if ok)


@pytest.mark.parametrize(
    ("theta", "collides"),
    [
        ([0.0, 0.0, 0.0, 0.0, 0.0], False),
        ([0.0, 2.2, 2.2, 2.2, 0.0], True),
        ([0.0, np.pi, 0.0, 0.0, 0.0], True),
        ([0.0, -np.pi, 0.3, 0.0, 0.0], True),
        ([0.0, 1.5, 1.5, 0.0, 0.0], False),
    ],
)
def test_the_hard_check_finds_what_touches(theta, collides):
    assert ARM.collides(theta) is collides


@pytest.mark.parametrize("theta", [[np.nan] * 5, [0.0] * 3, [0.0] * 7, [[0.0] * 5] * 2])
def test_bad_angles_are_refused(theta):
    for check in (ARM.collides, ARM.clearance):
        with pytest.raises(ValueError, match="5 finite angles"):
            check(theta)


def test_bad_targets_are_refused():
    with pytest.raises(ValueError, match="finite"):
        ARM.ik(np.zeros(5), (np.nan, 0.0))
