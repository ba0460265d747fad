"""Noticed mishaps and impacts excuse what they explain, and no more."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from galley.domain.log import Log
from galley.tests.validation.mutations import changed, kinds, with_contact, words
from galley.validation import validate_run
from galley.validation.sample_masks import ends_in_recovery


def recovered(log, motion):
    """The same log, planned anew after a motion."""
    names = [
        str(name) if k <= motion else f"recovery 1: {name}" for k, name in enumerate(log.motions)
    ]
    return replace(log, motions=np.array(names))


def test_a_slip_after_which_was_planned_anew_is_an_event(kitchen, lifted):
    sugar = kitchen.item_index["sugar_box"]
    motion = next(k for k, m in enumerate(lifted.motions) if str(m).endswith("fold the arm"))
    at = np.flatnonzero((lifted.motion == motion) & (lifted.held == sugar))

    def slip(items):
        items[at, sugar, 2] -= 0.02 * np.sin(np.linspace(0.0, np.pi, len(at))) ** 2

    slipped = changed(lifted, items=slip)
    unnoticed = validate_run(kitchen, slipped)
    assert "slip" in kinds(unnoticed)
    assert unnoticed.events == ()
    found = validate_run(kitchen, recovered(slipped, motion))
    assert "slip" not in kinds(found), words(found)
    assert [event.kind for event in found.events] == ["slip"]
    assert "fold the arm" in found.events[0].what
    assert found.as_json()["events"][0]["kind"] == "slip"
    too_late = validate_run(kitchen, recovered(slipped, motion + 1))
    assert "slip" in kinds(too_late)


def test_a_hand_that_meets_an_item_is_an_event_where_it_was_noticed_but_furniture_is_not(
    kitchen, lifted
):
    motion = next(k for k, m in enumerate(lifted.motions) if str(m).endswith("| reach"))
    step = int(np.flatnonzero(lifted.motion == motion)[20])
    item = with_contact(lifted, step, "panda_hand", "sugar_box", 9.0)
    hood = with_contact(lifted, step, "panda_hand", "hood", 9.0)
    pushed = "panda_hand is pushed against sugar_box with 9.0 N"
    assert pushed in words(validate_run(kitchen, item))
    found = validate_run(kitchen, recovered(item, motion))
    assert pushed not in words(found)
    assert [event.what for event in found.events] == [pushed]
    assert "is pushed against" in words(validate_run(kitchen, recovered(hood, motion)))


def test_an_impact_may_go_as_deep_as_a_step_of_simulation_takes_it(kitchen, lifted):
    """A can that falls onto the stove at 3 m/s is up to 12.5 mm in it before that is felt."""
    can = kitchen.item_index["potted_meat_can"]
    k = 600
    rest = float(lifted.items[0, can, 2])
    fall = np.arange(1, 60)[::-1]  # samples before the impact

    def drop(depth):
        def change(items):
            t = fall * lifted.period
            items[k - 59 : k, can, 2] = rest + 3.0 * t - 4.905 * t**2  # thrown down at the end
            items[k : k + 3, can, 2] = rest - depth

        return change

    shallow = validate_run(kitchen, changed(lifted, items=drop(0.011)))
    assert shallow.max_penetration_m == pytest.approx(0.011, abs=1e-4)
    assert "potted_meat_can and range penetrate" not in words(shallow)
    deep = validate_run(kitchen, changed(lifted, items=drop(0.018)))
    assert "potted_meat_can and range penetrate by 18.0 mm" in words(deep)


def test_noticed_motions_are_those_right_before_a_new_recovery():
    names = ("(a) | x", "(a) | y", "recovery 1: (b) | x", "recovery 1: (b) | y", "recovery 2: (c)")
    names += ("correction 3: (c)",)  # of a push, which was no mishap
    log = SimpleNamespace(motions=np.array(names))
    log.parts = Log.parts.func(log)
    assert ends_in_recovery(log).tolist() == [False, True, False, True, False, False]
