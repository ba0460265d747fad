"""The check refuses whatever a real arm could not run, and says what is wrong."""

import re
from dataclasses import replace

import numpy as np
import pytest

from galley.collision.collision_world import CollisionWorld
from galley.collision.solids import cylinder
from galley.motion.path import Path
from galley.motion.trajectory.timing import rest_to_rest
from galley.motion.trajectory.trajectory import Trajectory, limit_ratios, slowed
from galley.optimization.smooth import SmoothOptions, smooth
from galley.optimization.verdict import check_trajectory, planned_clearance
from galley.robots.panda.description import panda_arm
from galley.robots.panda.ik import LIMITS
from galley.tests.optimization.curves import GOAL, START

GROUP = LIMITS
GOOD = rest_to_rest(Path("arm", np.array([START, START + 0.2, START])), GROUP)


def one_joint(*pieces):
    """A trajectory of joint 1 about START; pieces of (seconds, coefficients)."""
    size = max(len(c) for _, c in pieces)
    rows = np.zeros((len(pieces), size, 7))
    rows[:, 0] = START
    for row, (_, coefficients) in zip(rows, pieces, strict=True):
        row[: len(coefficients), 0] += coefficients
    return Trajectory("arm", np.cumsum([0.0, *(span for span, _ in pieces)]), rows)


def moved(trajectory, rows, order, value):
    """One coefficient of joint 1 changed in some pieces."""
    coefficients = np.array(trajectory.coefficients)
    coefficients[rows, order, 0] += value
    return Trajectory("arm", trajectory.breaks, coefficients)


BAD = {
    "too fast": (slowed(GOOD, 0.3), r"velocity is [\d.]+ of its limit"),
    "the position jumps": (moved(GOOD, [1], 0, 1e-4), "the position jumps"),
    "the velocity jumps": (
        one_joint((0.5, [0, 0, 0, 0.1]), (0.5, [0.0125, 0.0, 0.0, 0.0])),
        "the velocity jumps",
    ),
    "speeding up at once": (
        one_joint((0.5, [0, 0, 2.0]), (0.5, [0.5, 2.0, -2.0])),
        "not at rest at both ends",
    ),
    "turning round at once": (
        # Acceleration rises smoothly to a, jumps to -a, and falls off smoothly.
        one_joint((0.5, [0, 0, 0, 2.0]), (0.5, [0.25, 1.5, -3.0, 2.0])),
        "the acceleration jumps",
    ),
    "still moving at the end": (one_joint((1.0, [0, 0, 0, 0.2])), "not at rest at both ends"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_is_refused_and_named(name):
    trajectory, reason = BAD[name]
    verdict = check_trajectory(None, trajectory, GROUP)
    assert not verdict.passed
    assert re.search(reason, verdict.reason), verdict.reason


@pytest.mark.parametrize(("order", "name"), [(1, "velocity"), (2, "acceleration"), (3, "jerk")])
def test_each_limit_holds_to_rounding_and_no_further(order, name):
    tight = replace(GROUP, **{name: GOOD.peaks(order) + 1e-9 * getattr(GROUP, name)})
    assert check_trajectory(None, GOOD, tight).passed
    assert limit_ratios(GOOD, tight)[order - 1] == pytest.approx(1.0, abs=1e-6)
    tighter = replace(GROUP, **{name: 0.999 * GOOD.peaks(order)})
    assert f"the {name} is 1.00" in check_trajectory(None, GOOD, tighter).reason
    assert check_trajectory(None, GOOD, GROUP, 0.5).reason, "half of all limits"


def test_a_joint_out_of_its_range_between_two_waypoints_is_seen():
    upper = np.array(GROUP.upper)
    upper[0] = START[0] + 0.2 - 1e-6  # where it turns round
    verdict = check_trajectory(None, GOOD, replace(GROUP, upper=upper))
    assert "panda_joint1 is 1e-06 rad out of its range" in verdict.reason


def test_what_is_required_is_proven_and_by_default_what_the_planners_prove():
    post = CollisionWorld(panda_arm(), {"post": cylinder(0.05, 0.6, at=(0.5, 0.0, 0.4))})
    view = post.view("arm")
    through = rest_to_rest(Path("arm", np.array([START, GOAL])), GROUP)
    verdict = check_trajectory(view, through, GROUP)
    assert verdict.unproven is not None
    assert f"{1e3 * planned_clearance(view):.1f} mm" in verdict.reason
    assert not view.free(through(verdict.unproven))
    assert check_trajectory(view, GOOD, GROUP).passed
    far = check_trajectory(view, GOOD, GROUP, required=2.0)
    assert "2000.0 mm" in far.reason


@pytest.mark.parametrize("required", [float("nan"), -1.0, float("inf")])
def test_nothing_is_proven_for_a_distance_that_makes_no_sense(required):
    world = CollisionWorld(panda_arm(), {"post": cylinder(0.05, 0.6, at=(0.5, 0.0, 0.4))})
    path = Path("arm", np.array([START, GOAL]))
    with pytest.raises(ValueError, match="required"):
        world.view("arm").unproven(path.waypoints, required)
    with pytest.raises(ValueError, match="required"):
        smooth(world.view("arm"), path, GROUP, required=required)


@pytest.mark.parametrize("wrong", [{"rounds": -1}, {"tolerance": -0.1}, {"tolerance": np.nan}])
def test_options_that_make_no_sense_are_refused_by_name(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        SmoothOptions(**wrong)
