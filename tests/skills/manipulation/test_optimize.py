"""Final trajectories: of what is finished, ends, limits and freedom, by an independent engine."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from galley.domain.scene.robot_file import Spacing
from galley.domain.state import initial_state
from galley.motion.effects import state_after
from galley.motion.motion import FREE, Motion, Record
from galley.motion.path import Path
from galley.motion.planners.rrt import joint_space
from galley.motion.trajectory.timing import rest_to_rest
from galley.skills.manipulation.context import PlanningContext, Settings
from galley.skills.manipulation.motion_builder import free_motion
from galley.skills.manipulation.optimize import optimize_trajectories
from galley.skills.manipulation.proof import prove
from galley.tamp.checks import audit

GOALS = {"arm": (0.9, 0.3, -0.5, -1.6, 0.3, 2.0, 0.1), "base": (1.1, -0.9, 2.2)}
GOALS["base+arm"] = GOALS["base"] + GOALS["arm"]


def refined(kitchen, world, group, **settings):
    """A bench, and a free motion as refinement makes it, from the start."""
    context = PlanningContext(kitchen, world.robot, world, Settings(**settings))
    goal = np.array(GOALS[group])
    rng = np.random.default_rng(3)
    motion = free_motion(context, initial_state(kitchen), group, goal[None], "go", 0, rng)
    assert isinstance(motion, Motion)
    return context, motion


@pytest.mark.parametrize("group", ["arm", "base", "base+arm"])
def test_in_pybullet_the_seeds_rrt_plans_for_every_group(kitchen, world, group):
    context, motion = refined(kitchen, world, group, checker="pybullet", optimize="smooth")
    assert motion.record.planner == "rrt"
    np.testing.assert_allclose(motion.path.end, GOALS[group], atol=1e-9)
    steps = np.diff(motion.path.waypoints, axis=0) * joint_space(context.robot, group).weights
    assert np.linalg.norm(steps, axis=1)[:-1].max() <= 0.3 + 1e-9  # the last may join the region
    # The kernel planned nothing of it: it proves that the path touches nothing.
    proof = prove(
        replace(context, settings=Settings()),
        initial_state(kitchen),
        motion.path,
        motion.allowed,
        0.0,
    )
    assert proof.hit is None
    done = optimize_trajectories(context, (motion,), initial_state(kitchen))[0]
    assert done.record.optimizer.startswith("smooth")
    assert done.record.length_optimized < motion.path.length


@pytest.mark.parametrize("group", ["arm", "base"])
@pytest.mark.parametrize("method", ["smooth", "time-optimal", "none"])
def test_a_finished_motion_runs_from_end_to_end_within_its_limits(kitchen, world, group, method):
    context, motion = refined(kitchen, world, group, optimize=method)
    assert motion.record.optimizer == "none"
    done = optimize_trajectories(context, (motion,), initial_state(kitchen))[0]
    assert done.record.optimizer.split(" ")[0] == method
    assert done.path is motion.path
    run, own = done.trajectory, context.robot.group(group)
    np.testing.assert_allclose(run.start, motion.path.start, atol=1e-9)
    np.testing.assert_allclose(run.end, motion.path.end, atol=1e-9)
    t = np.linspace(0.0, run.duration, 3000)
    for order, limit, ratio in (
        (1, own.velocity, done.record.velocity_ratio),
        (2, own.acceleration, done.record.acceleration_ratio),
    ):
        peak = (np.abs(run(t, order)) / limit).max()
        assert peak <= context.settings.speed * (1.0 + 1e-6)
        assert peak == pytest.approx(ratio, rel=0.05)
    np.testing.assert_allclose(run(np.array([0.0, run.duration]), 1), 0.0, atol=1e-6)
    if method == "none":
        assert run is motion.trajectory
    else:
        assert run.duration < motion.trajectory.duration
    (seen,) = audit(kitchen, context.robot, (done,), initial_state(kitchen))
    assert seen.record.audit == FREE


def test_the_reported_clearance_is_pybullets_along_the_trajectory(kitchen, world):
    """Refinement promises what it has proven; finished, it is what is measured."""
    context, motion = refined(kitchen, world, "arm", optimize="smooth")
    assert motion.record.min_clearance_m == Spacing().narrow
    state = initial_state(kitchen)
    done = optimize_trajectories(context, (motion,), state)[0]
    least = 0.06
    for arm in done.trajectory(np.linspace(0.0, done.trajectory.duration, 300)):
        q = np.array(state.q)
        q[context.robot.slice("arm")] = arm
        for c in world.checker(state, frozenset()).contacts(q, within=0.06):
            if {c.a, c.b} & {"panda_hand", "panda_leftfinger", "panda_rightfinger"} and not (
                {c.a, c.b} <= set(context.robot.links)
            ):
                least = min(least, c.distance)
    assert done.record.min_clearance_m == pytest.approx(least, abs=0.004)


def test_lines_and_strokes_are_run_as_they_were_proven(kitchen, world):
    context, motion = refined(kitchen, world, "arm", optimize="smooth")
    line = replace(motion, record=Record("straight", min_clearance_m=0.001))
    done = optimize_trajectories(context, (line,), initial_state(kitchen))[0]
    assert done.trajectory is line.trajectory
    assert done.record.optimizer == "none"
    assert done.record.velocity_ratio > 0.0
    assert done.record.min_clearance_m >= 0.001
    path = Path("fingers", np.array([[0.04, 0.04], [0.02, 0.02]]))
    stroke = Motion(0, "close", "fingers", path, rest_to_rest(path, context.robot.group("fingers")))
    (done,) = optimize_trajectories(context, (stroke,), initial_state(kitchen))
    assert done.record.min_clearance_m is None


def test_each_motion_is_optimized_from_the_state_before_it(kitchen, world):
    """The way back begins where the way there ended: from the first State it would be refused."""
    context, there = refined(kitchen, world, "arm", optimize="smooth")
    state = state_after(kitchen, context.robot, there, initial_state(kitchen))
    rng = np.random.default_rng(0)
    back = free_motion(context, state, "base", np.array([GOALS["base"]]), "drive", 1, rng)
    done = optimize_trajectories(context, (there, back), initial_state(kitchen))
    alone = optimize_trajectories(context, (back,), state)[0]
    np.testing.assert_array_equal(done[1].trajectory.coefficients, alone.trajectory.coefficients)
    assert [m.record.optimizer for m in done] == ["smooth", "smooth"]


def test_a_base_that_moves_with_the_arm_is_proven_against_the_furniture(kitchen, world):
    """Straight through a counter: the chassis is what hits it, whatever the arm does."""
    context = PlanningContext(kitchen, world.robot, world, Settings())
    state = initial_state(kitchen)
    start = state.q[context.robot.slice("base+arm")]
    through = start.copy()
    through[:2] = (-0.3, -0.6)
    free = start.copy()
    free[:2] += (-0.2, 0.1)
    for goal, proven in ((through, False), (free, True)):
        path = Path("base+arm", np.array([start, goal]))
        assert (prove(context, state, path, frozenset(), Spacing().narrow).hit is None) == proven


def test_trajectories_do_not_depend_on_the_number_of_threads(kitchen, world, monkeypatch):
    """Of motions that share a view, and of others."""
    found = []
    for threads in (1, 4):
        monkeypatch.setattr("os.cpu_count", lambda threads=threads: threads)
        context, there = refined(kitchen, world, "arm", optimize="smooth")
        back = replace(there, path=Path("arm", there.path.waypoints[::-1]))
        motions = (there, back, refined(kitchen, world, "base", optimize="smooth")[1])
        done = optimize_trajectories(context, motions, initial_state(kitchen))
        found.append([motion.trajectory for motion in done])
    for one, four in zip(*found, strict=True):
        np.testing.assert_array_equal(one.breaks, four.breaks)
        np.testing.assert_array_equal(one.coefficients, four.coefficients)
