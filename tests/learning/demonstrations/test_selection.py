"""Filtering and splitting against lists of Python, statistics against numpy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from galley.learning.demonstrations import Demonstrations, Episode, Moments, summarize
from galley.learning.demonstrations.selection import alike
from galley.tests.learning.demonstrations.made import episode


def short(length, success, seed):
    return Episode({}, np.full((length, 1), float(seed or 0)), np.arange(length), success, seed)


EPISODES = st.lists(
    st.builds(
        short,
        st.integers(1, 5),
        st.sampled_from([True, False, None]),
        st.none() | st.integers(0, 9),
    ),
    max_size=12,
)


@given(EPISODES, st.sampled_from([True, False, None]), st.none() | st.integers(0, 6))
def test_a_filter_keeps_what_meets_every_condition(held, success, longest):
    kept = Demonstrations.of(held).filter(success, longest)
    wanted = [e for e in held if success is None or e.success == success]
    wanted = [e for e in wanted if len(e) <= (9 if longest is None else longest)]
    assert [id(each) for each in kept] == [id(each) for each in wanted]


@given(EPISODES, st.floats(0, 1), st.integers(0, 3))
def test_a_split_loses_nothing_and_repeats(held, fraction, seed):
    whole = Demonstrations.of(held)
    first, second = whole.split(fraction, seed)
    assert len(second) == round(fraction * len(held))
    place = {id(each): k for k, each in enumerate(held)}
    parts = [[place[id(each)] for each in part] for part in (first, second)]
    assert sorted(parts[0] + parts[1]) == list(range(len(held)))
    assert parts == [sorted(part) for part in parts]
    again = whole.split(fraction, seed)
    assert (again[0].loaders, again[1].loaders) == (first.loaders, second.loaders)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (episode(1, image=False), "'img' is uint8 .16, 12, 3. a step in episode 0 and missing in"),
        (Episode({}, np.zeros((2, 3)), [0, 1]), "missing in episode 1"),
    ],
)
def test_episodes_that_differ_are_named_with_the_array(other, message):
    with pytest.raises(ValueError, match=message):
        list(alike(Demonstrations.of([episode(0), other])))
    a, b = (Episode({"x": np.zeros((1, n))}, [[0.0]], [0]) for n in (1, 2))
    with pytest.raises(ValueError, match=r"'x' is float64 \(1,\) a step in episode 0 and float64"):
        list(alike(Demonstrations.of([a, b])))


def test_statistics_are_those_of_all_steps_together():
    held = [episode(seed) for seed in range(7)]
    found = summarize(held)
    assert found.keys() == held[0].arrays.keys()
    for name, moments in found.items():
        values = np.concatenate([each.arrays[name] for each in held]).astype(float)
        axes = (0, 1, 2) if name == "img" else 0
        assert moments.count == len(values)
        np.testing.assert_array_equal(moments.low, values.min(axis=axes))
        np.testing.assert_array_equal(moments.high, values.max(axis=axes))
        np.testing.assert_allclose(moments.mean, values.mean(axis=axes), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(moments.std, values.std(axis=axes), rtol=1e-12)


def test_moments_of_a_constant_far_from_zero_have_no_spread():
    parts = [Moments.of(np.full((n, 2), 1e8 + 0.1)) for n in (1, 5, 20)]
    assert Moments.merged(parts).std == pytest.approx(0, abs=1e-6)
    with pytest.raises(ValueError, match="there are no episodes"):
        summarize([])
