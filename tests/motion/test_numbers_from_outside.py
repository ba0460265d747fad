"""What is not finite or no pose is refused where it comes in: compiled code takes NaN for free."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from galley.collision.backends.numeric_ik import NumericIK
from galley.collision.moving_bodies import SceneJoint
from galley.domain.failure import FailureKind
from galley.domain.frames import transform
from galley.domain.state import Placement
from galley.motion import CollisionWorld, Path, SearchOptions, box, cylinder, plan, sphere
from galley.motion.motion import Guard
from galley.optimization.program import Weights
from galley.optimization.torques import HeldItem
from galley.robots.panda.description import panda_arm
from galley.robots.panda.kinematics import inverse_batch

START = np.array([0.9, 0.3, 0.0, -1.8, 0.0, 2.2, 0.8])
X_WT = transform(np.diag([1.0, -1.0, -1.0]), (0.5, 0.4, 0.4))
ROBOT = panda_arm()
ARM = ROBOT.group("arm")


@cache
def world():
    return CollisionWorld(ROBOT, {"post": cylinder(0.05, 0.8, at=(0.5, 0.0, 0.6))})


def after(bad, *rest):
    return np.array([bad, *rest], dtype=float)


def with_ik(found):
    return CollisionWorld(replace(ROBOT, ik=lambda X_AT, redundant: found), {})


NUMBERS = {
    "q": lambda bad: CollisionWorld(ROBOT, {}, q=np.append(START, [0.04, bad])),
    "seed": lambda bad: plan(world(), START, START, seed=bad),
    "q of a view": lambda bad: world().view(q=np.append(START, [0.04, bad])),
    "margin": lambda bad: CollisionWorld(ROBOT, {}, margin=bad),
    "margin of a view": lambda bad: world().view(margin=bad),
    "ik": lambda bad: plan(with_ik([START, after(bad, *START[1:])]), START, X_WT),
    "options": lambda bad: SearchOptions(goal_bias=bad),
    "velocity": lambda bad: replace(ARM, velocity=after(bad, *ARM.velocity[1:])),
    "path": lambda bad: Path("arm", after(bad, *START[1:])[None]),
    "direction": lambda bad: Guard(after(bad, 0.0, 1.0), 5.0, 0.1),
    "scene joint": lambda bad: SceneJoint(X_WT, True, 0.0, bad),
    "weights": lambda bad: Weights(length=bad),
    "spheres": lambda bad: replace(ROBOT, sphere_excess=(("*", bad),)),
}
POSES = {
    "goal": lambda X: plan(world(), START, X),
    "closed form": lambda X: inverse_batch(X, [0.5]),
    "moved": lambda X: world().moved({"post": X}),
    "solid": lambda X: replace(box((0.1, 0.1, 0.1)), X=X),
    "scene joint": lambda X: SceneJoint(X, True, 0.0, 0.3),
    "tool": lambda X: replace(ROBOT, X_LT=X),
    "numeric": lambda X: NumericIK(ROBOT).solve(X, START[None]),
    "placement": lambda X: Placement("world", X),
    "held": lambda X: HeldItem(None, X),
}
NONE = {
    "mirrored": X_WT @ np.diag([1.0, 1.0, -1.0, 1.0]),
    "scaled": X_WT @ np.diag([1.00001, 1.00001, 1.00001, 1.0]),
    "sheared": X_WT + 1e-4 * np.eye(4, k=1),
    "not finite": X_WT * np.nan,
    "last row": np.diag([1.0, 1.0, 1.0, 2.0]) @ X_WT,
}


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", NUMBERS)
def test_numbers_that_are_not_finite_are_refused(place, bad):
    with pytest.raises(ValueError, match=r"finite|whole|positive|at least|scale must lie|NaNs"):
        NUMBERS[place](bad)


@pytest.mark.parametrize("what", NONE)
@pytest.mark.parametrize("place", POSES)
def test_what_is_no_pose_is_refused(place, what):
    with pytest.raises(ValueError, match=r"no pose|finite"):
        POSES[place](NONE[what])


@pytest.mark.parametrize("solid", [sphere(1e39), box((1e300,) * 3), sphere(0.1, at=(1e39, 0, 0))])
def test_bodies_beyond_float32_are_refused_by_name_instead_of_overflowing_to_free(solid):
    with pytest.raises(ValueError, match="'giant' has a size or place"):
        CollisionWorld(ROBOT, {"giant": solid})


@pytest.mark.parametrize("found", [None, "none", START, np.zeros((2, 6)), [START, START[:6]]])
def test_an_ik_that_returns_something_else_and_a_negative_margin_are_named(found):
    with pytest.raises(ValueError, match="the result of ik of 'panda_arm'"):
        plan(with_ik(found), START, X_WT)
    assert plan(with_ik([]), START, X_WT).kind is FailureKind.BUDGET
    with pytest.raises(ValueError, match="margin must be finite from 0"):
        CollisionWorld(ROBOT, {}, margin=-1e-9)


def test_what_makes_no_sense_together_is_refused_with_its_name():
    with pytest.raises(ValueError, match="lower of 'panda_joint1' is above"):
        replace(ARM, lower=ARM.upper, upper=ARM.lower)
    with pytest.raises(ValueError, match="the result of ik of 'panda_arm' is off the pose by"):
        plan(with_ik([START]), START, X_WT)
    assert len(Path("arm", [START.tolist()])) == 1
