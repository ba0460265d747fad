"""The contact filter, judged by simulated runs in random worlds, and by quadrature."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from galley.planar.finger import Finger, Kind, Policy, simulate
from galley.planar.finger.filter import ContactFilter, ContactModel

PERIOD = 0.05


def approach(rng, static=1.0):
    """Readings without noise of a finger that comes, touches and presses; the step of the touch.

    Nothing of the filter's model is in it: forces are uniform, contact begins when it begins.
    """
    speed, press = rng.uniform(0.15, 0.5), rng.uniform(0.3, 0.9) * static
    readings = []

    def act(sense):
        readings.append(sense.sensor)
        here = simulated_touch["seen"] or sense.sensor > 0.0
        simulated_touch["seen"] = here
        return press if here else sense.velocity**2 + 5.0 * (speed - sense.velocity)

    simulated_touch = {"seen": False}
    finger = Finger(
        object_mass=rng.uniform(0.5, 3.0),
        static_friction=static,
        restitution=rng.uniform(0.0, 0.4),
        gap=rng.uniform(0.3, 0.8),
    )
    trace = simulate(finger, Policy(act, PERIOD), 6.0)
    touch = next(each.time for each in trace.events if each.kind is Kind.TOUCH)
    return np.array(readings), math.ceil(touch / PERIOD - 1e-9)


def test_false_alarms_and_detection():
    rng = np.random.default_rng(1)
    noise, alarms, steps, late, count = 0.05, 0, 0, 0, 0
    for _ in range(12):
        clean, touch = approach(rng)
        for _ in range(40):
            felt = ContactFilter(ContactModel(noise=noise))
            on = [
                felt.update(y) > 0.5
                for y in (clean + rng.normal(0.0, noise, clean.size))[: touch + 2]
            ]
            alarms, steps = alarms + sum(on[:touch]), steps + touch
            late, count = late + (not any(on[touch : touch + 2])), count + 1
    assert alarms <= 0.01 * steps
    assert late <= 0.01 * count


def test_evidence_is_the_ratio_of_densities():
    """Against quadrature of the convolution of an exponential with a Gaussian."""
    model = ContactModel(noise=0.07, force=0.4)
    for y in (-0.2, -0.05, 0.0, 0.03, 0.2, 0.9):

        def both(f, y=y):
            return math.exp(-f / 0.4) / 0.4 * norm.pdf(y - f, scale=0.07)

        contact = quad(both, 0, 3, points=[max(y, 0)])[0]
        expected = math.log(contact / norm.pdf(y, scale=0.07))
        assert model.evidence(y) == pytest.approx(expected, abs=1e-6)


def test_probabilities_are_calibrated_on_its_own_chain():
    """Of the steps at which it says p, a share p is in contact, if the world is as it assumes."""
    rng, model = np.random.default_rng(0), ContactModel(noise=0.2)
    felt, contact, said, true = ContactFilter(model), False, [], []
    for _ in range(40_000):
        contact = rng.random() >= model.part if contact else rng.random() < model.touch
        force = rng.exponential(model.force) if contact else 0.0
        said.append(felt.update(force + rng.normal(0.0, model.noise)))
        true.append(contact)
    bins = np.digitize(said, np.linspace(0, 1, 11)[1:-1])
    for k in range(10):
        assert np.mean(np.array(true)[bins == k]) == pytest.approx(
            np.mean(np.array(said)[bins == k]), abs=0.06
        )


def test_extreme_readings_and_bad_models():
    felt = ContactFilter(ContactModel(noise=0.0))
    assert felt.update(1e6) == 1.0
    assert felt.update(-1e6) < 1e-100
    for options in ({"noise": -0.1}, {"force": 0.0}, {"touch": 1.5}):
        with pytest.raises(ValueError, match=next(iter(options))):
            ContactModel(**options)
