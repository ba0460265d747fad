"""Physics logs that violate mechanics are found, whatever their columns state."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from galley.tests.effort import examples
from galley.tests.validation.mutations import kinds, words
from galley.tests.validation.tamperings import TAMPERINGS
from galley.validation import validate_run


def tampered(kitchen, log, tampering, seed):
    found, expected = tampering(log, np.random.default_rng(seed))
    return validate_run(kitchen, found), expected


def test_the_part_that_is_tampered_with_passes(kitchen, lifted):
    found = validate_run(kitchen, lifted)
    assert found.passed, words(found)


@pytest.mark.parametrize("tampering", TAMPERINGS, ids=lambda tampering: tampering.__name__)
def test_what_mechanics_forbids_is_found(kitchen, lifted, tampering):
    found, expected = tampered(kitchen, lifted, tampering, 0)
    assert kinds(found) & expected, words(found)


@pytest.mark.slow
@settings(max_examples=examples(60), deadline=None)
@given(tampering=st.sampled_from(TAMPERINGS), seed=st.integers(0, 2**32 - 1))
def test_other_things_times_and_amounts_are_found_too(kitchen, lifted, tampering, seed):
    found, expected = tampered(kitchen, lifted, tampering, seed)
    assert kinds(found) & expected, words(found)
