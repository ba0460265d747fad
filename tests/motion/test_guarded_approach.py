"""Impulses and forces of guarded approaches, against integration, Monte Carlo and PyBullet."""

import math

import numpy as np
import pytest
from guard_impulses import DT, POSES, SPEEDS, measured_force
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from galley.motion.guarded_approach import Approach, driven_mass, fastest, reflected_mass, threshold


@pytest.mark.parametrize("push", [0.0, 4.0, 40.0])
@pytest.mark.parametrize("window", [0.001, DT, 0.02, 0.2])
def test_a_spring_against_integration(push, window):
    mass, speed, k = 3.0, 0.2, 2e4
    found = solve_ivp(
        lambda t, y: [y[1], (push - k * y[0]) / mass],
        (0.0, 0.2),
        [0.0, speed],
        events=_touching_ends(),
        rtol=1e-10,
        atol=1e-13,
        dense_output=True,
    )
    approach = Approach(mass, speed, k, push)
    t = np.linspace(0.0, found.t[-1], 40_001)
    force = k * found.sol(t)[0]
    assert approach.peak_force == pytest.approx(force.max(), rel=1e-6)
    total = np.concatenate([[0.0], np.cumsum(0.5 * (force[1:] + force[:-1]) * np.diff(t))])
    assert total[-1] - push * t[-1] == pytest.approx(approach.impulse, rel=1e-5)
    if window < t[-1]:  # the largest mean over a window within the contact
        means = (np.interp(t + window, t, total) - total)[t + window <= t[-1]] / window
        assert approach.mean_force(window) == pytest.approx(means.max(), rel=1e-4)
    else:
        assert approach.mean_force(window) == pytest.approx(total[-1] / window, rel=1e-4)


def _touching_ends():
    def event(t, y):
        return y[0]

    event.terminal, event.direction = True, -1
    return event


@given(mass=st.floats(0.1, 50), limit=st.floats(1, 100), e=st.floats(0, 1), share=st.floats(0, 0.9))
def test_the_fastest_speed_keeps_the_limit_and_uses_it(mass, limit, e, share):
    speed = fastest(limit, mass, DT, share * limit, e)
    approach = Approach(mass, speed, push=share * limit, restitution=e)
    assert approach.mean_force(DT) == pytest.approx(limit)
    assert fastest(limit, mass, DT, 2.0 * limit) == 0.0


def test_false_alarms_by_monte_carlo():
    rng = np.random.default_rng(2)
    level = threshold(1.5, 0.3, 0.05, 60)
    alarms = (rng.normal(1.5, 0.3, (20_000, 60)) > level).any(axis=1).mean()
    assert alarms == pytest.approx(0.05, abs=0.006)


@pytest.mark.parametrize("q", POSES)
@pytest.mark.parametrize("speed", SPEEDS)
def test_pybullet_measures_the_predicted_impulse(q, speed):
    mass, force = measured_force(q, speed)
    assert 0.7 < mass < 3.9  # between the tip's own and everything
    assert force == pytest.approx(Approach(mass, speed).mean_force(DT), rel=0.005)


def test_joints_that_give_way_make_an_arm_as_light_as_it_can_be():
    """Gauss's principle: of all joint rates, those of the reflected mass have the least energy."""
    rng, down = np.random.default_rng(0), np.array([0.0, 0.0, -1.0])
    for _ in range(50):
        half, J, rates = rng.normal(size=(4, 4)), rng.normal(size=(3, 4)), rng.normal(size=4)
        M = half @ half.T + 0.1 * np.eye(4)
        least = reflected_mass(M, J, down)
        assert driven_mass(M, rates, abs(down @ J @ rates)) >= least * (1.0 - 1e-9)
        yielding = np.linalg.solve(M, J.T @ down)
        assert driven_mass(M, yielding, down @ J @ yielding) == pytest.approx(least)


def test_bad_input_is_named():
    for options in ({"mass": 0.0}, {"speed": -1.0}, {"restitution": 2.0}, {"stiffness": 0.0}):
        with pytest.raises(ValueError, match=next(iter(options))):
            Approach(**options)
    with pytest.raises(ValueError, match="steps = 0"):
        threshold(1.0, 1.0, 0.1, 0)
    with pytest.raises(ValueError, match="speed = 0"):
        driven_mass(np.eye(2), np.ones(2), 0.0)
    with pytest.raises(ValueError, match="limit = -3"):
        fastest(-3.0, 1.0, DT)
    for push in (float("nan"), -50.0):
        with pytest.raises(ValueError, match=f"push = {push}"):
            fastest(3.0, 1.0, DT, push)
    with pytest.raises(ValueError, match="steps = nan"):
        threshold(1.0, 1.0, 0.1, float("nan"))
    assert reflected_mass(np.eye(2), np.zeros((3, 2)), np.array([0, 0, 1.0])) == math.inf
