"""Geometric predicates: each holds up to its threshold, not beyond."""

import numpy as np
import pytest

from galley.domain.frames import rotation_rpy, transform
from galley.domain.pddl.formula import Fact
from galley.domain.predicates import fact_holds, inside, on, state_facts
from galley.domain.scene.model import HAND
from galley.domain.state import Placement, initial_state

X_WH = transform(None, (9.0, 9.0, 9.0))
STANDING = 0.930 + 0.175 / 2  # z of the sugar box's centre on the counter
LYING = 0.779 + 0.082 / 2  # z of the can's centre on the drawer's floor


def sugar_at(kitchen, p, rpy=(0.0, 0.0, 0.0)):
    placement = Placement("world", transform(rotation_rpy(*rpy), p))
    return initial_state(kitchen).with_item(kitchen.item_index["sugar_box"], placement)


def can_in_drawer(kitchen, p, opening=0.0):
    state = initial_state(kitchen)
    scene_q = np.zeros(6)
    scene_q[kitchen.joint_index["indigo_drawer_top_joint"]] = opening
    placement = Placement("indigo_drawer_top", transform(None, p))
    return state.with_item(kitchen.item_index["potted_meat_can"], placement).with_scene(scene_q)


@pytest.mark.parametrize(
    ("p", "rpy", "holds"),
    [
        ((0.0, -0.6, STANDING), (0, 0, 1.0), True),
        ((0.0, -0.6, STANDING + 0.0049), (0, 0, 0), True),
        ((0.0, -0.6, STANDING + 0.0051), (0, 0, 0), False),
        ((0.0, -0.6, STANDING - 0.0049), (0, 0, 0), True),
        ((0.0, -0.6, STANDING - 0.0051), (0, 0, 0), False),
        ((0.2499, -0.6, STANDING), (0, 0, 0), True),  # the region ends at x = 0.25
        ((0.2501, -0.6, STANDING), (0, 0, 0), False),
        ((0.0, 0.4, STANDING), (0, 0, 0), False),  # over the range
        ((0.0, -0.6, 0.930 + 0.089 / 2), (0, np.pi / 2, 0), False),  # lies on its side
        ((0.0, -0.6, STANDING), (np.pi, 0, 0), False),  # upside down
    ],
)
def test_on_is_gap_centre_and_tilt(kitchen, p, rpy, holds):
    verdict = on(
        kitchen, sugar_at(kitchen, p, rpy), "sugar_box", kitchen.region("hitman_top"), X_WH
    )
    assert verdict.holds is holds, verdict.why


@pytest.mark.parametrize(("degrees", "holds"), [(0.0, True), (4.9, True), (5.1, False)])
def test_on_allows_five_degrees(kitchen, degrees, holds):
    """About y; the lowest corner then is 0.0445 sin a + 0.0875 cos a below the centre."""
    a = np.radians(degrees)
    z = 0.930 + 0.0445 * np.sin(a) + 0.0875 * np.cos(a)
    state = sugar_at(kitchen, (0.0, -0.6, z), (0.0, a, 0.0))
    verdict = on(kitchen, state, "sugar_box", kitchen.region("hitman_top"), X_WH)
    assert verdict.holds is holds, verdict.why


@pytest.mark.parametrize(
    ("p", "opening", "holds"),
    [
        ((0.0, 1.2, LYING), 0.0, True),
        ((0.0, 1.2, LYING), 0.0049, True),
        ((0.0, 1.2, LYING), 0.0051, False),
        ((0.0, 1.2, LYING), 0.3, False),
        ((0.245 - 0.0485 + 0.0049, 1.2, LYING), 0.0, True),  # half of 0.097 long
        ((0.245 - 0.0485 + 0.0051, 1.2, LYING), 0.0, False),
        ((0.0, 1.2, 0.888 - 0.041 + 0.0051), 0.0, False),  # sticks out at the top
        ((0.0, 0.3, LYING), 0.0, False),
    ],
)
def test_inside_is_the_whole_box_and_a_closed_drawer(kitchen, p, opening, holds):
    state = can_in_drawer(kitchen, p, opening)
    region = kitchen.region("indigo_drawer_top_inside")
    verdict = inside(kitchen, state, "potted_meat_can", region, "indigo_drawer_top_joint", X_WH)
    assert verdict.holds is holds, verdict.why


def test_a_held_item_is_neither_on_nor_inside(kitchen):
    state = sugar_at(kitchen, (0.0, -0.6, STANDING))
    held = state.with_item(0, Placement(HAND, state.items[0].X_PI))
    at_the_place = np.eye(4)  # with the hand here, the item is where it stood
    assert on(kitchen, state, "sugar_box", kitchen.region("hitman_top"), at_the_place).holds
    assert not on(kitchen, held, "sugar_box", kitchen.region("hitman_top"), at_the_place).holds
    region = kitchen.region("indigo_drawer_top_inside")
    assert not inside(kitchen, held, "sugar_box", region, None, at_the_place).holds


def test_facts_are_looked_up_through_the_bindings(kitchen):
    start = initial_state(kitchen)
    binding = {b.object: b for b in kitchen.bindings}

    def holds(name, *args, state=start):
        verdict = fact_holds(kitchen, state, name, tuple(binding[a] for a in args), X_WH)
        return None if verdict is None else verdict.holds

    assert holds("on", "sugar", "burner") is True
    assert holds("on", "sugar", "countertop") is False
    assert holds("on", "sugar", "center") is False  # no region there
    assert holds("near", "center") is True
    assert holds("near", "drawer") is False
    assert holds("grasp", "sugar") is False
    assert holds("inside", "spam", "drawer") is False
    assert holds("inside", "spam", "drawer", state=can_in_drawer(kitchen, (0, 1.2, LYING)))
    assert holds("in", "spam", "drawer") is False
    assert holds("in", "spam", "drawer", state=can_in_drawer(kitchen, (0, 1.2, LYING)))
    assert holds("in", "spam", "countertop") is False  # no inside there
    assert holds("opened", "countertop") is False  # no handle
    assert holds("empty", "h1") is None
    assert holds("opened", "sugar") is None
    assert holds("in", "sugar", "spam") is None
    held = start.with_item(0, Placement(HAND, np.eye(4)))
    assert holds("grasp", "sugar", state=held) is True


@pytest.mark.parametrize("opening", [0.0, 0.0049, 0.0051, 0.3])
def test_in_a_drawer_whether_open_or_closed(kitchen, opening):
    """Unlike ``inside``; and ``opened`` is the opposite of what ``inside`` calls closed."""
    binding = {b.object: b for b in kitchen.bindings}
    pair = (binding["spam"], binding["drawer"])

    def verdict(name, *bindings, p):
        state = can_in_drawer(kitchen, p, opening)
        return fact_holds(kitchen, state, name, bindings, X_WH)

    there, sticking_out = (0.0, 1.2, LYING), (0.0, 1.2, 0.888 - 0.041 + 0.0051)
    assert verdict("in", *pair, p=there).holds
    assert not verdict("in", *pair, p=sticking_out).holds
    opened = verdict("opened", binding["drawer"], p=there)
    assert opened.holds is (opening > 0.005)
    assert f"open by {1e3 * opening:.1f} mm" in opened.why
    assert verdict("inside", *pair, p=there).holds is not opened.holds


def test_all_facts_of_some_predicates(kitchen):
    """Every fact over the objects that has a geometric meaning, true or false."""
    objects = ("sugar", "spam", "drawer", "burner", "center", "h1")
    bindings = {name: kitchen.binding(name) for name in objects}
    opened = np.zeros(6)
    opened[kitchen.joint_index["indigo_drawer_top_joint"]] = 0.2
    state = initial_state(kitchen).with_scene(opened)
    wanted = {"on": 2, "opened": 1, "near": 1, "empty": 1}
    found = state_facts(kitchen, state, wanted, bindings, X_WH)
    assert {fact for fact, verdict in found.items() if verdict.holds} == {
        Fact("on", ("sugar", "burner")),
        Fact("on", ("spam", "burner")),
        Fact("opened", ("drawer",)),
        Fact("near", ("center",)),
    }
    assert len(found) == 2 * 3 + 3 + 3
