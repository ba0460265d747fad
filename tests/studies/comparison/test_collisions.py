"""Two engines' opinions of a trajectory."""

import numpy as np
import pytest

from galley.motion.path import Path
from galley.motion.trajectory.timing import rest_to_rest
from galley.studies.comparison.measures import STEP, find_collisions, sample_times, spaced_rows
from galley.studies.comparison.queries import ArmQuery

FREE = np.array([0.0, -0.3, 0.0, -2.2, 0.0, 2.0, 0.7])
SUNK = np.array([0.0, 0.9, 0.0, -1.6, 0.0, 2.2, 0.7])  # the hand in the range


@pytest.fixture
def at_the_range(query, kernel):
    state = query.state.with_robot([0.75, 0.3, np.pi, *FREE, 0.04, 0.04])
    return ArmQuery("range", state, SUNK[None])


def judged(kernel, world, query, points):
    trajectory = rest_to_rest(Path("arm", np.array(points)), kernel.robot.group("arm"))
    times = sample_times(trajectory.duration)
    Q = trajectory(times)
    rows = spaced_rows(Q, STEP)
    return find_collisions(kernel, world, query, trajectory, times[rows], Q[rows]), trajectory


def test_both_engines_find_a_collision_at_the_same_time(kernel, shared_world, at_the_range):
    verdict, trajectory = judged(kernel, shared_world, at_the_range, [FREE, SUNK, FREE])
    assert not verdict.free
    assert not verdict.proven
    assert [hit.engine for hit in verdict.hits] == ["kernel", "pybullet"]
    a, b = verdict.hits
    assert a.time == pytest.approx(b.time, abs=0.1)
    assert 0.0 < verdict.first.time < trajectory.duration
    for hit in verdict.hits:
        assert hit.depth > 0.0
        assert any(name.startswith("panda") for name in hit.pair)


def test_a_free_trajectory_is_proven_free(kernel, shared_world, at_the_range):
    verdict, _ = judged(kernel, shared_world, at_the_range, [FREE, FREE + 0.1])
    assert verdict.free
    assert verdict.proven
    assert verdict.first is None


def test_what_is_held_collides_as_well(kernel, shared_world, at_the_range):
    from galley.domain.scene.model import HAND
    from galley.domain.state import Placement
    from galley.skills.manipulation.grasps import grasps_of, item_in_hand

    item = kernel.scene.items[0]
    grasp = next(g for g in grasps_of(item, kernel.robot.gripper) if g.name.startswith("top"))
    q = at_the_range.state.q.copy()
    q[10:] = 0.5 * grasp.width
    placed = Placement(HAND, item_in_hand(grasp, kernel.robot.p_HT))
    state = at_the_range.state.with_robot(q).with_item(0, placed)
    held = ArmQuery("held", state, SUNK[None])
    verdict, _ = judged(kernel, shared_world, held, [FREE, SUNK])
    assert not verdict.free
    assert {item.name} & {name for hit in verdict.hits for name in hit.pair}


def test_spread_leaves_no_gap_wider_than_a_step_and_a_sample():
    rng = np.random.default_rng(0)
    Q = np.cumsum(rng.uniform(-0.003, 0.003, (500, 7)), axis=0)
    rows = spaced_rows(Q, STEP)
    assert rows[0] == 0
    assert rows[-1] == 499
    gaps = np.abs(np.diff(Q[rows], axis=0)).max()
    assert gaps <= STEP + 0.003
    assert len(rows) < 250
    assert list(spaced_rows(np.zeros((5, 7)), STEP)) == [0, 4]
    assert list(spaced_rows(np.zeros((1, 7)), STEP)) == [0]
