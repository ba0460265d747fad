"""Figures of merit against closed forms."""

import numpy as np
import pytest

from galley.motion.path import Path
from galley.motion.trajectory.timing import rest_to_rest
from galley.motion.trajectory.trajectory import Trajectory, limit_ratios
from galley.studies.comparison.measures import measure
from galley.studies.comparison.methods import Attempt


def attempt(trajectory):
    return Attempt("smooth", trajectory, None, "smooth")


def test_a_turn_about_the_first_joint_draws_an_arc(kernel, shared_world, query):
    start = query.start(kernel.robot)
    end = start + np.array([1.0, 0, 0, 0, 0, 0, 0])
    trajectory = rest_to_rest(Path("arm", np.array([start, end])), kernel.robot.group("arm"))
    found = measure(kernel, shared_world, query, attempt(trajectory))
    spec, base = kernel.scene.robot.base, query.state.q[:3]
    p = kernel.robot.kinematics.hand_pose(query.state.q)[:3, 3]
    # The first joint's axis is vertical, through the arm's foot.
    foot = base[:2] + spec.p_BA[0] * np.array([np.cos(base[2]), np.sin(base[2])])
    radius = np.linalg.norm(p[:2] - foot)
    assert radius > 0.3
    assert found.hand_length == pytest.approx(radius * 1.0, rel=1e-5)
    assert found.joint_length == pytest.approx(1.0, abs=1e-9)
    assert np.ptp(found.curve.hand[:, 2]) < 1e-9


def test_a_trajectory_that_is_too_fast_is_not_within_the_limits(kernel, shared_world, query):
    start, group = query.start(kernel.robot), kernel.robot.group("arm")
    path = Path("arm", np.array([start, start + 0.5 * np.eye(7)[0]]))
    good = rest_to_rest(path, group)
    fast = Trajectory(
        "arm",
        good.breaks / 1.01,
        good.coefficients * (1.01 ** np.arange(good.coefficients.shape[1]))[None, :, None],
    )
    assert measure(kernel, shared_world, query, attempt(good)).within_limits
    found = measure(kernel, shared_world, query, attempt(fast))
    assert not found.within_limits
    assert max(found.peaks) == pytest.approx(1.01 * max(limit_ratios(good, group)), rel=0.03)


def test_clearance_is_that_of_the_nearest_state(kernel, shared_world, query):
    """A clearance measured in PyBullet, which shares no code with the kernel."""
    state = query.state.with_robot([0.75, 0.3, np.pi, *query.start(kernel.robot), 0.04, 0.04])
    start = np.array([0.0, -0.3, 0.0, -2.2, 0.0, 2.0, 0.7])
    end = np.array([0.0, 0.25, 0.0, -2.0, 0.0, 2.2, 0.7])  # down towards the range
    near = type(query)("near", state, end[None])
    group = kernel.robot.group("arm")
    trajectory = rest_to_rest(Path("arm", np.array([start, end])), group)
    found = measure(kernel, shared_world, near, attempt(trajectory))
    checker = shared_world.checker(state)
    least = np.inf
    for t in np.linspace(0.0, trajectory.duration, 60):
        q = state.q.copy()
        q[3:10] = trajectory(t)
        arm = [c for c in checker.contacts(q, within=0.3) if "chassis" not in (c.a, c.b)]
        arm = [c for c in arm if not {"column", "panda_link0"} & {c.a, c.b}]
        least = min([least, *(c.distance for c in arm)])
    assert 0.0 < least < 0.25
    assert found.clearance == pytest.approx(least, abs=0.003)
