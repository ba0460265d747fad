"""An episode: what it holds, and what it refuses."""

import pickle

import numpy as np
import pytest

from galley.learning.demonstrations import Episode
from galley.tests.learning.demonstrations.made import assert_same, episode

STATE, ACTIONS, TIMES = np.zeros((3, 2)), np.zeros((3, 1)), np.arange(3.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"observations": {"state": np.zeros((4, 2))}}, "'state' has 4 steps, times have 3"),
        ({"observations": {"state": np.zeros(3)}}, "'state' must be .T, ...."),
        ({"observations": {"state": np.full((3, 2), np.nan)}}, "'state' must be finite"),
        ({"observations": {"said": np.array([["a"]] * 3)}}, "'said' has dtype <U1"),
        ({"observations": {"action": STATE}}, "observation 'action'"),
        ({"actions": np.zeros((3, 1, 1))}, "actions must be .T, d."),
        ({"times": np.array([0.0, 1.0, 1.0])}, "times must be .* increase"),
        ({"times": np.zeros((3, 1))}, "times must be"),
        ({"success": 1}, "success must be True, False or None, got 1"),
        ({"seed": -1}, "seed must be an integer from 0, or None, got -1"),
        ({"metadata": {"gap": np.zeros(2)}}, "metadata 'gap' is not plain data"),
        ({"metadata": {1: "one"}}, "metadata 1 is not plain data"),
    ],
)
def test_a_malformed_episode_is_refused_by_the_name_of_the_key(change, message):
    parts = {"observations": {"state": STATE}, "actions": ACTIONS, "times": TIMES}
    Episode(**parts)
    with pytest.raises(ValueError, match=message):
        Episode(**{**parts, **change})


def test_arrays_are_read_only_copies():
    state = STATE.copy()
    held = Episode({"state": state}, ACTIONS, TIMES)
    state += 1
    assert not held.observations["state"].any()
    for array in (held.observations["state"], held.actions, held.times):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_numbers_of_numpy_and_tuples_become_plain():
    held = Episode(
        {}, ACTIONS, TIMES, np.bool_(True), np.int64(7), {"goal": (1, 2), "near": [{"a": None}]}
    )
    assert (held.success, type(held.success), held.seed, type(held.seed)) == (True, bool, 7, int)
    assert held.metadata == {"goal": [1, 2], "near": [{"a": None}]}
    assert (held.info.length, held.info.duration) == (3, 2.0)


def test_an_episode_can_be_sent_between_processes():
    assert_same(pickle.loads(pickle.dumps(episode(5))), episode(5))
