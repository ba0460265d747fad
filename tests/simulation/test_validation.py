"""Validation passes what is right and finds what was tampered with."""

from dataclasses import replace

import numpy as np
import pytest

from galley.simulation.validation import validate_log


@pytest.fixture(scope="module")
def part(default_run):
    """The first actions of the run (to the counter): enough to tamper with."""
    log = default_run.log
    names = [str(m) for m in log.motions]
    last = max(k for k, name in enumerate(names) if name.startswith("place"))
    keep = log.motion <= last
    return select(log, keep)


def select(log, keep):
    return replace(
        log,
        **{
            name: getattr(log, name)[keep]
            for name in ("time", "q", "scene_q", "items", "held", "motion")
        },
    )


def tampered(log, **columns):
    """A copy of the log with columns changed by functions."""
    changed = {}
    for name, change in columns.items():
        values = np.array(getattr(log, name))
        change(values)
        changed[name] = values
    return replace(log, **changed)


def words(found):
    return " | ".join(v.what for v in found.violations)


def test_the_part_itself_passes(shared_world, part):
    found = validate_log(shared_world, part)
    assert found.passed, words(found)


def test_an_item_a_centimetre_in_the_counter_is_found(kitchen, shared_world, part):
    sugar = kitchen.item_index["sugar_box"]
    last = len(part.time) - 1

    def sink(items):
        items[last - 60 :, sugar, 2] -= 0.01

    found = validate_log(shared_world, tampered(part, items=sink))
    assert not found.passed
    assert "hitman" in words(found)
    assert "sugar_box" in words(found)
    assert found.max_penetration_m == pytest.approx(0.01, abs=1e-3)
    assert found.deepest == ("hitman", "sugar_box")
    assert found.violations[0].time >= part.time[last - 62]


def test_a_loose_item_that_dips_while_the_robot_hardly_moves_is_found(kitchen, shared_world, part):
    """Four samples only, within one step of the robot: items count for themselves."""
    can = kitchen.item_index["potted_meat_can"]
    for at in (500, len(part.time) // 2):

        def dip(items, at=at):
            items[at : at + 4, can, 2] -= 0.01

        found = validate_log(shared_world, tampered(part, items=dip))
        assert "potted_meat_can and range penetrate" in words(found)
        assert found.max_penetration_m == pytest.approx(0.01, abs=1e-4)


def test_an_item_that_jumps_is_found(kitchen, shared_world, part):
    can = kitchen.item_index["potted_meat_can"]

    def jump(items):
        items[len(items) // 2 :, can, :3] = [0.0, -0.9, 0.930 + 0.041]  # well placed, but how?

    found = validate_log(shared_world, tampered(part, items=jump))
    assert "potted_meat_can jumps" in words(found)


@pytest.mark.parametrize(
    ("joint", "value"), [(3 + 3, -0.05), (3 + 5, 3.80), (0, 2.45), (10, 0.045)]
)
def test_a_joint_past_its_limit_is_found(shared_world, robot, part, joint, value):
    def bend(q):
        q[100:, joint] = value

    found = validate_log(shared_world, tampered(part, q=bend))
    assert found.limit_violations >= 1
    assert f"{robot.joints[joint]} is" in words(found)
    assert "beyond its limit" in words(found)


def test_a_joint_that_is_too_fast_is_found(shared_world, robot, part):
    found = validate_log(shared_world, tampered(part, time=lambda t: np.multiply(t, 0.3, out=t)))
    assert "moves at" in words(found)
    assert found.limit_violations >= 1


def test_missing_samples_are_found(shared_world, part):
    keep = np.ones(len(part.time), dtype=bool)
    keep[300:340] = False
    found = validate_log(shared_world, select(part, keep))
    assert "no sample for" in words(found)


def test_time_that_stands_still_or_runs_back_is_found(shared_world, part):
    def back(time):
        time[200] = time[198]

    assert "time does not increase" in words(validate_log(shared_world, tampered(part, time=back)))


@pytest.mark.parametrize("column", ["time", "q", "scene_q", "items"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_value_that_is_no_number_is_found(shared_world, part, column, value):
    def spoil(values):
        values.reshape(-1)[values.size // 2] = value

    found = validate_log(shared_world, tampered(part, **{column: spoil}))
    assert f"{column} of sample" in words(found)
    assert "not a finite number" in words(found)


def test_an_empty_log_is_no_run(shared_world, part):
    found = validate_log(shared_world, select(part, np.zeros(len(part.time), dtype=bool)))
    assert not found.passed
    assert "empty" in words(found)


def test_the_robot_in_the_furniture_is_found_between_samples_too(kitchen, shared_world, part):
    """Two samples on either side of the wall cabinet's end panel; both are free, the way is not."""
    q = np.repeat(part.q[:1], 2, axis=0)
    sugar = part.items[:1].repeat(2, axis=0)
    k = kitchen.item_index["sugar_box"]
    sugar[:, k, :3] = [[-0.2, 1.75, 1.8], [-0.2, 1.05, 2.0]]  # outside, and inside on the shelf
    log = replace(
        part,
        time=np.array([0.0, 0.04]),
        q=q,
        scene_q=part.scene_q[:2],
        items=sugar,
        held=np.array([-1, -1]),
        motion=np.array([0, 0]),
    )
    found = validate_log(shared_world, log)
    assert "dagger and sugar_box penetrate" in words(found)
    assert found.states_checked > 50


def test_a_contact_that_was_not_declared_is_found(shared_world, part):
    """The same run without its declarations: picking is then a collision with the fingers."""
    bare = replace(part, declared=np.empty((0, 3), dtype=np.str_))
    pressed = tampered(bare, q=lambda q: np.copyto(q[:, 10:], np.maximum(q[:, 10:] - 0.004, 0.0)))
    found = validate_log(shared_world, pressed)
    assert "sugar_box" in words(found)
    assert "finger" in words(found)
    declared = validate_log(shared_world, tampered(part, q=lambda q: None))
    assert declared.passed
