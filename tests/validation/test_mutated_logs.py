"""A valid run passes; each mutation of its log is found, with the right kind of violation."""

from dataclasses import replace
from inspect import signature

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from galley.tests.effort import examples
from galley.tests.validation.mutations import FAMILIES, changed, kinds, part, with_contact, words
from galley.validation import validate_run
from galley.validation.forces import declared_pairs


def mutate(family, log, seed, robot):
    rng = np.random.default_rng(seed)
    more = (robot,) if "robot" in signature(family).parameters else ()
    return family(log, rng, *more)


def test_the_good_run_passes_and_reaches_its_goal(kitchen, good, goal):
    found = validate_run(kitchen, good, goal)
    assert found.passed, words(found)
    assert found.goal_reached
    assert found.at_rest
    assert found.states_checked >= len(good.time) > 5000
    assert found.max_penetration_m < 0.002
    assert 0.0005 < found.max_declared_penetration_m < 0.005, "fingers press on what they hold"
    assert 0.5 < found.max_velocity_ratio < 1.0
    assert 0.5 < found.max_acceleration_ratio < 1.0
    assert found.torques == "inverse dynamics"
    assert 0.2 < found.max_torque_ratio < 1.0
    assert found.tracking_error_rad == 0.0
    assert found.max_slip_m < 1e-6


@pytest.mark.parametrize("which", ["carrying", "closing", "lifted"])
def test_the_parts_that_are_mutated_pass(kitchen, which, request):
    found = validate_run(kitchen, request.getfixturevalue(which))
    assert found.passed, words(found)


@pytest.mark.parametrize("which", ["carrying", "lifted"])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_each_kind_of_fault_is_found_and_named(kitchen, robot, request, which, family):
    log, expected = mutate(family, request.getfixturevalue(which), 0, robot)
    found = validate_run(kitchen, log)
    assert kinds(found) & expected, words(found)


@pytest.mark.slow
@settings(max_examples=examples(150), deadline=None)
@given(family=st.sampled_from(FAMILIES), seed=st.integers(0, 2**32 - 1), forces=st.booleans())
def test_any_of_many_single_faults_is_found(kitchen, robot, carrying, lifted, family, seed, forces):
    log, expected = mutate(family, lifted if forces else carrying, seed, robot)
    assert kinds(validate_run(kitchen, log)) & expected


# -- what was found by hand, with the figures it must show ----------------------------------------


def test_an_item_a_centimetre_in_the_counter_is_measured(kitchen, carrying):
    sugar, last = kitchen.item_index["sugar_box"], len(carrying.time) - 1

    def sink(items):
        items[last - 60 :, sugar, 2] -= 0.01

    found = validate_run(kitchen, changed(carrying, items=sink))
    assert found.max_penetration_m == pytest.approx(0.01, abs=1e-3)
    assert found.deepest == ("hitman", "sugar_box")
    first = next(v for v in found.violations if v.kind == "penetration")
    assert first.time == pytest.approx((last - 60) * carrying.period)


def test_a_run_cut_off_between_motions_is_found_though_its_times_are_right(kitchen, carrying):
    last = len(carrying.motions) - 1
    short = part(carrying, 0, last - 1)
    names = ("motions", "ends", "guards", "declared")
    claimed = replace(short, **{name: getattr(carrying, name) for name in names})
    assert "ends in motion" in words(validate_run(kitchen, claimed))


def test_a_drawer_past_its_limit_is_named(kitchen, closing):
    joint = kitchen.joints[0]

    def pull(scene_q):
        scene_q[:50, 0] = joint.upper + 0.01

    found = validate_run(kitchen, changed(closing, scene_q=pull))
    assert f"{joint.name} is 0.0100 m beyond its limit" in words(found)


def test_a_joint_that_accelerates_too_hard_is_named_though_its_rates_agree(
    kitchen, robot, carrying
):
    """A jerk of one sample that comes back: positions and velocities fit each other."""
    j, k, limit = 3, 300, robot.group("arm").acceleration[0]
    extra = 1.5 * limit * carrying.period

    def kick(velocity):
        velocity[k, j] += extra

    def go(q):
        q[k, j] += 0.5 * extra * carrying.period
        q[k + 1 :, j] += extra * carrying.period

    found = validate_run(kitchen, changed(carrying, velocity=kick, q=go, command=go))
    assert "panda_joint1 accelerates at" in words(found)
    assert found.max_acceleration_ratio > 1.3


def test_a_drawer_left_ajar_misses_the_goal(kitchen, closing, goal):
    slide = kitchen.joint_index["indigo_drawer_top_joint"]
    can = kitchen.item_index["potted_meat_can"]
    least = np.maximum(closing.scene_q[:, slide], 0.02) - closing.scene_q[:, slide]

    def ajar(scene_q):
        scene_q[:, slide] += least

    def along(items):
        items[:, can, 0] += least

    found = validate_run(kitchen, changed(closing, scene_q=ajar, items=along), goal)
    inside = next(f for f in found.goal_facts if f.fact.startswith("(inside spam"))
    assert not inside.holds
    assert "open by 20.0 mm" in inside.why
    assert not found.goal_reached
    assert validate_run(kitchen, closing, goal).goal_reached


def test_forces_count_only_where_nothing_was_declared(kitchen, carrying):
    sugar = kitchen.item_index["sugar_box"]
    held = int(np.flatnonzero(carrying.held == sugar)[200])
    loose = int(np.flatnonzero(carrying.held < 0)[5])
    bump = validate_run(kitchen, with_contact(carrying, held, "sugar_box", "hood", 5.0))
    assert "hood is pushed against sugar_box with 5.0 N" in words(bump)
    assert bump.max_undeclared_force_n == 5.0
    for log in (
        with_contact(carrying, held, "panda_leftfinger", "sugar_box", 40.0),  # declared
        with_contact(carrying, held, "sugar_box", "hood", 1.5),  # a graze
        with_contact(carrying, loose, "sugar_box", "range", 5.0),  # it stands there
    ):
        assert "is pushed against" not in words(validate_run(kitchen, log))


def test_the_end_of_a_motion_belongs_to_both_motions(kitchen, carrying):
    """A contact that only the next motion declares may be there in the last sample before it."""
    names = [str(m) for m in carrying.motions]
    motion = next(m for m, name in enumerate(names) if name.endswith("| approach"))
    k = int(np.flatnonzero(carrying.motion == motion)[0]) - 1
    a, b = "panda_leftfinger", "sugar_box"
    declared = declared_pairs(carrying)
    assert (a, b) in declared[motion] - declared[motion - 1]
    pushed = f"{a} is pushed against {b}"
    assert pushed not in words(validate_run(kitchen, with_contact(carrying, k, a, b, 9.0)))
    assert pushed in words(validate_run(kitchen, with_contact(carrying, k - 1, a, b, 9.0)))


def test_without_declarations_the_grip_is_a_collision(kitchen, carrying):
    bare = replace(carrying, declared=np.empty((0, 3), dtype=np.str_))

    def press(q):
        q[:, 10:] = np.maximum(q[:, 10:] - 0.004, 0.0)

    found = validate_run(kitchen, changed(bare, q=press))
    assert "penetration" in kinds(found)
    assert "finger" in words(found)
