"""Parameters of objects found again from noisy readings, and what they can't tell."""

from dataclasses import replace

import numpy as np
import pytest

from galley.planar.finger import Finger, Profile, Start, simulate
from galley.planar.finger.identification import NAMES, Readings, identify

FINGER = Finger(
    object_mass=1.3, static_friction=1.1, kinetic_friction=0.7, restitution=0.2, gap=0.3
)
# A gentle touch, a push that grows past static friction, a release, and a second push.
FORCE = Profile.of([(0, 0.6), (1, 0.6), (1, 0.1), (2, 0.1), (3, 1.5), (3.6, 1.8), (3.6, 0), (4, 0)])


def readings(noise, seed=0, finger=FINGER, force=FORCE, end=4.0):
    return Readings.of(simulate(finger, force, end), noise, np.random.default_rng(seed), 0.04)


def test_an_object_that_is_pushed_is_found_again():
    found = identify(readings(0.01))
    for name in NAMES:
        true, error = getattr(FINGER, name), found.errors[name]
        assert abs(found.values[name] - true) < 4.0 * error, (name, str(found))
        assert error < 0.1 * true
    assert found.unidentified == ()
    assert found.residual == pytest.approx(1.0, abs=0.25)


@pytest.mark.slow
def test_without_noise_a_push_is_found_exactly_though_it_bounces():
    """The valley of a fit without noise is narrow: other bounces lie beside it."""
    found = identify(simulate(FINGER, 2.0, 3.0))
    assert found.unidentified == ("static_friction",)
    for name in set(NAMES) - {"static_friction"}:
        assert found.values[name] == pytest.approx(getattr(FINGER, name), rel=1e-6)


@pytest.mark.slow
def test_readings_that_no_object_explains_identify_nothing():
    """The force was another than it is said to be."""
    told = replace(readings(0.01), force=Profile.of([(0, 0.4), (4, 0.4)]))
    assert identify(told).unidentified == NAMES


@pytest.mark.slow
def test_errors_are_as_large_as_it_says():
    """At 5 % noise the deviations, in standard errors, are of order one."""
    deviations = []
    for seed in range(3):
        found = identify(readings(0.05, seed))
        deviations += [
            (found.values[name] - getattr(FINGER, name)) / found.errors[name]
            for name in NAMES
            if np.isfinite(found.errors[name])
        ]
    assert len(deviations) >= 9
    assert 0.25 < np.median(np.abs(deviations)) < 1.5


def test_a_force_or_start_that_identify_cannot_use_is_refused():
    with pytest.raises(ValueError, match="function of time"):
        identify(simulate(FINGER, lambda t: 1.0, 1.0))
    with pytest.raises(ValueError, match="begin at rest"):
        identify(simulate(FINGER, 1.0, 1.0, Start(1.0)))


def test_nothing_touched_tells_nothing():
    found = identify(readings(0.01, force=0.05, end=1.0))
    assert found.unidentified == NAMES
    assert str(found) == f"not identified: {', '.join(NAMES)}"


@pytest.mark.slow
def test_an_object_that_never_moves_hides_its_mass():
    held = Finger(static_friction=50.0, kinetic_friction=20.0, restitution=0.2, gap=0.2)
    found = identify(readings(0.01, finger=held, force=0.8, end=2.0))
    assert {"object_mass", "kinetic_friction", "static_friction"} <= set(found.unidentified)
    assert found.values["restitution"] == pytest.approx(0.2, abs=0.05)


@pytest.mark.parametrize(
    ("noise", "period", "named"), [(2.0, 0.02, "noise = 2"), (0.0, -1.0, "-1"), (0.0, 1.0, "short")]
)
def test_bad_readings_are_named(noise, period, named):
    with pytest.raises(ValueError, match=named):
        Readings.of(simulate(FINGER, 1.0, 2.0), noise, None, period)


def test_readings_are_what_happened():
    """Mean velocity is displacement, and mean force the momentum that the finger lost."""
    trace = simulate(FINGER, FORCE, 4.0)
    clean = Readings.of(trace, period=0.04)
    end = trace.at(4.0)
    assert clean.velocity.sum() * 0.04 == pytest.approx(end.finger_position[0], abs=1e-9)
    t = np.linspace(0.0, 4.0, 200_001)
    driving = trace.at(t)
    net = np.trapezoid(
        driving.applied_force - driving.finger_velocity**2 * np.sign(driving.finger_velocity), t
    )
    felt = net - FINGER.finger_mass * end.finger_velocity[0]
    assert clean.sensor.sum() * 0.04 == pytest.approx(felt, rel=1e-4)
