"""What is not finite or no pose is refused where it comes in: compiled code takes NaN for free."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from galley.collision.backends.numeric_ik import NumericIK
from galley.collision.moving_bodies import SceneJoint
from galley.domain.failure import FailureKind
from galley.domain.frames import from_pose7, transform
from galley.domain.scene.model import Grasp
from galley.domain.state import Placement
from galley.motion import CollisionWorld, Path, SearchOptions, box, cylinder, plan, sphere
from galley.motion.motion import Guard
from galley.motion.trajectory.timing import spline_through
from galley.optimization.program import Weights
from galley.optimization.smooth import SmoothOptions
from galley.optimization.torques import HeldItem
from galley.robots.files import pybullet_data_file
from galley.robots.iiwa import iiwa
from galley.robots.panda.description import panda_arm
from galley.robots.panda.kinematics import inverse_batch
from galley.robots.panda.models import mobile_panda
from galley.robots.urdf_arm import MotionLimits, arm_from_urdf
from galley.skills.base_placement.field import reachability_field
from galley.skills.base_placement.placement import score_bases

START = np.array([0.9, 0.3, 0.0, -1.8, 0.0, 2.2, 0.8])
X_WT = transform(np.diag([1.0, -1.0, -1.0]), (0.5, 0.4, 0.4))
ROBOT = panda_arm()
ARM = ROBOT.group("arm")


@cache
def world():
    return CollisionWorld(ROBOT, {"post": cylinder(0.05, 0.8, at=(0.5, 0.0, 0.6))})


def after(bad, *rest):
    return np.array([bad, *rest], dtype=float)


def urdf_arm(**limits):
    file = pybullet_data_file("kuka_iiwa/model.urdf")
    return arm_from_urdf(file, limits=MotionLimits(**limits), convex_parts=1)


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
    "limits": lambda bad: urdf_arm(jerk=after(bad, *np.ones(6))),
    "path": lambda bad: Path("arm", after(bad, *START[1:])[None]),
    "direction": lambda bad: Guard(after(bad, 0.0, 1.0), 5.0, 0.1),
    "force": lambda bad: Guard(np.eye(3)[2], bad, 0.1),
    "seek": lambda bad: Guard(np.eye(3)[2], 5.0, 0.1, bad),
    "scene joint": lambda bad: SceneJoint(X_WT, True, 0.0, bad),
    "tolerance": lambda bad: SmoothOptions(tolerance=bad),
    "weights": lambda bad: Weights(slack=bad),
    "scale": lambda bad: spline_through(Path("arm", START[None]), ARM, 1.0, bad),
    "spheres": lambda bad: replace(ROBOT, sphere_excess=(("*", bad),)),
    "grasp centre": lambda bad: replace(ROBOT, p_HT=after(bad, 0.0, 0.1)),
    "quaternion": lambda bad: from_pose7((0.0, 0.0, 0.0, bad, 0.0, 0.0, 1.0)),
    "seeds": lambda bad: NumericIK(ROBOT).solve(X_WT, after(bad, *START[1:])[None]),
}
POSES = {
    "goal": lambda X: plan(world(), START, X),
    "closed form": lambda X: inverse_batch(X, [0.5]),
    "moved": lambda X: world().moved({"post": X}),
    "solid": lambda X: replace(box((0.1, 0.1, 0.1)), X=X),
    "turned": lambda X: box((0.1, 0.1, 0.1), turned=X[:3, :3] * X[3, 3]),
    "scene joint": lambda X: SceneJoint(X, True, 0.0, 0.3),
    "tool": lambda X: replace(ROBOT, X_LT=X),
    "foot": lambda X: iiwa(X),
    "numeric": lambda X: NumericIK(ROBOT).solve(X, START[None]),
    "field": lambda X: reachability_field(mobile_panda(), X, np.zeros(1), np.zeros(1)),
    "scored": lambda X: score_bases(mobile_panda(), X, np.zeros((1, 3)), np.zeros(3), np.zeros(1)),
    "placement": lambda X: Placement("world", X),
    "grasp": lambda X: Grasp("top", X, 0.05),
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
    with pytest.raises(ValueError, match="what ik of 'panda_arm' returns"):
        plan(with_ik(found), START, X_WT)
    assert plan(with_ik([]), START, X_WT).kind is FailureKind.BUDGET
    with pytest.raises(ValueError, match="margin must be finite from 0"):
        CollisionWorld(ROBOT, {}, margin=-1e-9)


def test_what_makes_no_sense_together_is_refused_with_its_name():
    with pytest.raises(ValueError, match="lower of 'panda_joint1' is above"):
        replace(ARM, lower=ARM.upper, upper=ARM.lower)
    with pytest.raises(ValueError, match="what ik of 'panda_arm' returns misses the pose by"):
        plan(with_ik([START]), START, X_WT)
    assert len(Path("arm", [START.tolist()])) == 1
