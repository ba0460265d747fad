"""A physics run passes, and mutations of its log are found in spite of its noise."""

from dataclasses import replace

import numpy as np
import pytest

from galley.tests.validation.mutations import FAMILIES, carried, changed, kinds, words
from galley.tests.validation.test_mutated_logs import mutate
from galley.validation import validate_run

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def carrying(forced):
    return carried(forced)


def test_a_run_under_physics_passes_and_reaches_its_goal(kitchen, forced, goal):
    found = validate_run(kitchen, forced, goal)
    assert found.passed, words(found)
    assert found.goal_reached
    assert found.torques == "recorded"
    assert 0.0 < found.max_torque_ratio <= 1.0 + 1e-6
    assert 0.0 < found.tracking_error_rad < 0.05
    assert 0.0 < found.max_slip_m < 0.015, "a grip by friction creeps"
    assert 0.0 < found.max_declared_penetration_m < 0.002


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_each_kind_of_fault_is_found_in_physics_too(kitchen, robot, carrying, family):
    for seed in range(3):
        log, expected = mutate(family, carrying, seed, robot)
        found = validate_run(kitchen, log)
        assert kinds(found) & expected, words(found)


def test_forces_that_were_taken_out_of_the_log_are_missed(kitchen, carrying):
    """The hand closes a millimetre and a half further than it did, and no contact tells of it."""
    none = np.zeros(len(carrying.contact_step), dtype=bool)
    silent = replace(
        carrying,
        contact_step=carrying.contact_step[none],
        contact_pair=carrying.contact_pair[none],
        contact_distance=carrying.contact_distance[none],
        contact_force=carrying.contact_force[none],
    )
    held = carrying.held >= 0

    def press(q):
        q[held, 10:] -= 0.0015

    assert "no contact was recorded" in words(validate_run(kitchen, changed(silent, q=press)))


def test_a_torque_that_is_no_number_makes_a_run_with_forces_unusable(kitchen, carrying):
    def spoil(torque):
        torque[100, 5] = np.nan

    found = validate_run(kitchen, changed(carrying, torque=spoil))
    assert kinds(found) == {"log"}
    assert "torque of sample 100" in words(found)
