"""Joints that turn without end go the short way round; configurations in float32 lie on limits."""

import re

import numpy as np
import pytest

from galley.domain.failure import FailureKind
from galley.domain.frames import nearest_turn
from galley.motion import CollisionWorld, Path, cylinder, plan
from galley.motion.trajectory.trajectory import limit_ratios
from galley.optimization.smooth import smooth
from galley.optimization.time_optimal import time_optimal
from galley.robots.model import ENDLESS
from galley.robots.urdf_arm import arm_from_urdf
from galley.robots.urdf_reader import read_tree

TURN, LIMIT = 2.0 * np.pi, 2.8973
# A pole 0.5 m long that turns about z without end, and a ball at its end on a joint with limits.
ARM = f"""<robot name="pole"><link name="foot"/>
<link name="pole"><collision><origin xyz="0.25 0 0"/>
<geometry><box size="0.5 0.02 0.02"/></geometry></collision></link>
<link name="tip"><collision><geometry><sphere radius="0.02"/></geometry></collision></link>
<joint name="round" type="continuous"><parent link="foot"/><child link="pole"/><axis xyz="0 0 1"/>
</joint><joint name="bend" type="revolute"><parent link="pole"/><child link="tip"/>
<origin xyz="0.5 0 0"/><axis xyz="0 1 0"/>
<limit lower="-{LIMIT}" upper="{LIMIT}" velocity="2" effort="9"/></joint></robot>"""


@pytest.fixture(scope="module")
def arm(tmp_path_factory):
    path = tmp_path_factory.mktemp("pole") / "pole.urdf"
    path.write_text(ARM)
    return arm_from_urdf(path)


@pytest.fixture(scope="module")
def world(arm):
    """A post stands in the pole's way at the angle 0."""
    return CollisionWorld(arm, {"post": cylinder(0.05, 1.0, at=(0.4, 0.0, 0.0))})


@pytest.mark.parametrize(
    ("start", "goal", "end"),
    [
        (3.0, -3.0, TURN - 3.0),
        (3.3, 3.0, 3.0),
        (-3.0, 3.0, 3.0 - TURN),
        (1.0, 1.0 + TURN, 1.0),
        (1.0, 2.0 - 5 * TURN, 2.0),
        (3 * TURN + 1.0, 2.0, 3 * TURN + 2.0),
        (ENDLESS - 1.0, 1.4, ENDLESS + 1.4 - TURN),  # the next turn is beyond the limits
    ],
)
def test_the_short_way_round_is_taken_from_any_turn_to_any_turn(start, goal, end, world):
    path = plan(world, [start, 0.0], [goal, 0.5])
    assert path.start == pytest.approx([start, 0.0])
    assert path.end == pytest.approx([end, 0.5])
    assert path.length == pytest.approx(np.hypot(end - start, 0.5))


@pytest.mark.parametrize("start", [0.5, 0.5 - 3 * TURN])
def test_where_the_short_way_is_blocked_the_long_one_is_found(start, world):
    path = plan(world, [start, 0.0], [-0.5, 0.0])
    assert path.end == pytest.approx([start - 1.0 + TURN, 0.0])
    angles = path.resampled(0.001).waypoints[:, 0]
    along = np.clip(0.4 * np.cos(angles), 0.0, 0.5)  # the pole's nearest point to the post's axis
    apart = np.hypot(0.4 - along * np.cos(angles), along * np.sin(angles))
    assert apart.min() > 0.05 + 0.01  # the post's radius, half the pole's width


def test_trajectories_leave_the_turn_around_zero(arm, world):
    view, group = world.view("arm"), arm.group("arm")
    path = plan(world, [3.0, 0.0], [-2.5, 1.0])
    for method in (smooth, time_optimal):
        trajectory = method(view, path, group).trajectory
        assert trajectory.end == pytest.approx([TURN - 2.5, 1.0])
        assert max(limit_ratios(trajectory, group)) <= 1.0 + 1e-9


def test_a_pose_is_reached_the_short_way_round(arm, world):
    X_WT = read_tree(arm.urdf, arm.joints).link_pose("tip", np.array([-3.0, 0.3]))
    path = plan(world, [3.0, 0.0], X_WT)
    assert path.end == pytest.approx([TURN - 3.0, 0.3], abs=1e-6)


def test_the_nearest_turn_is_the_best_of_all_turns():
    rng = np.random.default_rng(0)
    angle, to = rng.uniform(-20.0, 20.0, (2, 2000))
    lower, upper = rng.uniform(-25.0, -5.0, 2000), rng.uniform(5.0, 25.0, 2000)
    found = nearest_turn(angle, to, lower, upper)
    every = angle + TURN * np.arange(-10, 11)[:, None]
    every[(every < lower) | (every > upper)] = np.inf
    best = np.abs(every - to).min(axis=0)
    assert np.abs(found - to) == pytest.approx(best, abs=1e-9)
    assert nearest_turn(4.0, 0.0, -1.0, 1.0) == 4.0  # no turn is within the limits


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_a_joint_state_in_float32_on_its_limit_is_on_it(side, arm, world):
    limit = np.array([1.0, side * LIMIT])
    rounded, other = limit.astype(np.float32), np.array([2.0, 0.0])
    assert abs(float(rounded[1])) > LIMIT
    for start, goal in ((rounded, other), (other, rounded), (other, np.stack([rounded, rounded]))):
        path = plan(world, start, goal)
        assert np.abs(path.waypoints[:, 1]).max() == LIMIT
    view, group = world.view("arm"), arm.group("arm")
    for method in (smooth, time_optimal):
        trajectory = method(view, Path("arm", np.stack([rounded, other])), group).trajectory
        assert max(np.abs(each[1]) for each in trajectory.extremes()) <= LIMIT + 1e-9
    beyond, further = [1.0, side * (LIMIT + 1e-6)], [side * (ENDLESS + 0.5), 0.0]
    for start, goal, message in (
        (beyond, other, "the start .* 'bend' at .*, 1e-06 beyond"),
        (other, beyond, "the goal .* 'bend' at .*, 1e-06 beyond"),
        (further, other, "the start .* 'round' at .*50.7655, 0.5 beyond"),
    ):
        failed = plan(world, start, goal)
        assert failed.kind is FailureKind.UNREACHABLE
        assert re.search(message, failed.message)
