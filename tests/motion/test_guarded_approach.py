"""Guarded approaches: speeds and masses against PyBullet, thresholds against Monte Carlo."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from galley.bench.contact.guard_impulses import DT, POSES, SPEEDS, measured_force, reflected_mass
from galley.motion.guarded_approach import driven_mass, fastest, threshold


@given(mass=st.floats(0.1, 50), limit=st.floats(1, 100), e=st.floats(0, 1), share=st.floats(0, 0.9))
def test_the_fastest_speed_keeps_the_limit_and_uses_it(mass, limit, e, share):
    speed = fastest(limit, mass, DT, share * limit, e)
    assert share * limit + mass * speed * (1.0 + e) / DT == pytest.approx(limit)
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
    assert force == pytest.approx(mass * speed / DT, rel=0.005)


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
    for options in ({"mass": 0.0}, {"restitution": 2.0}):
        with pytest.raises(ValueError, match=next(iter(options))):
            fastest(**{"limit": 3.0, "mass": 1.0, "window": DT} | options)
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
