"""Bounds on reach and travel against configurations and points of the shapes, by sampling."""

import numpy as np
import pytest

from galley.robots.chain.bounds import reach_of
from galley.robots.chain.chain import chain_of
from galley.robots.panda.models import mobile_panda
from galley.robots.urdf_arm import hull_of
from galley.robots.urdf_reader import link_shapes, read_tree
from galley.tests.robots.chain.arms import ARMS, drawn, kinematics_of, urdf_of

MANY = [4000, pytest.param(1_000_000, marks=pytest.mark.slow)]
HELD = 0.15  # m


@pytest.mark.parametrize("count", MANY)
@pytest.mark.parametrize("name", ARMS)
def test_no_configuration_reaches_farther_than_the_bounds(name, count):
    kinematics, rng = kinematics_of(name), np.random.default_rng(0)
    reach, farthest = kinematics.reach, np.zeros(2)
    for _ in range(0, count, 4000):
        Q = drawn(name, rng, 4000, inset=0.0)
        Q[:, :3] = 0.0
        X = kinematics.hand_poses(Q)
        to_hand = X[:, :3, 3] - reach.p_BS
        to_C = to_hand + X[:, :3, :3] @ reach.p_HC
        away = [np.linalg.norm(each, axis=1).max() for each in (to_C, to_hand)]
        farthest = np.maximum(farthest, away)
    assert (farthest <= [reach.to_C + 1e-12, reach.to_hand + 1e-12]).all()
    assert (farthest >= np.array([reach.to_C, reach.to_hand]) * 0.8).all()  # it is some use


def test_bounds_are_exact_where_they_are_known_in_closed_form():
    reach = kinematics_of("iiwa").reach
    assert reach.to_C == pytest.approx(0.42 + 0.4, abs=1e-6)  # its data sheet: two straight links
    assert reach.to_hand == pytest.approx(0.42 + 0.4 + 0.081, abs=1e-6)
    robot = mobile_panda()
    ours = reach_of(chain_of(robot.urdf, robot.group("arm").joints, robot.palm, meshes=False))
    closed = robot.kinematics.reach
    assert ours.to_C == pytest.approx(closed.to_C, abs=1e-6)
    assert ours.to_hand == pytest.approx(closed.to_hand, abs=1e-6)
    assert ours.p_BS == pytest.approx(closed.p_BS, abs=1e-3)


@pytest.mark.parametrize("count", [150, pytest.param(4000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["iiwa", "crane"])
def test_no_point_travels_farther_than_the_bounds(name, count):
    kinematics, rng = kinematics_of(name), np.random.default_rng(1)
    chain, fingers = kinematics.chain, ARMS[name][3]
    tree = read_tree(urdf_of(name), chain.joints + fingers)
    corners = [
        (*tree.link(each.link), hull_of(each).vertices @ each.X_LS[:3, :3].T + each.X_LS[:3, 3])
        for each in link_shapes(urdf_of(name))
    ]
    held = rng.normal(size=(20, 3))
    palm = tree.link(ARMS[name][2])
    carried = (*palm, HELD * held / np.linalg.norm(held, axis=1)[:, None])
    n, tightest = len(chain.joints), dict.fromkeys(("base", "arm", "base+arm", "fingers"), 0.0)
    parts = {"base": slice(0, 3), "arm": slice(3, n), "base+arm": slice(0, n)}
    low, high = tree.lower, tree.upper
    for q in rng.uniform(low, high, (count, len(low))):
        for group, part in (parts | {"fingers": slice(n, len(low))}).items():
            moved = q.copy()
            other = rng.uniform(low, high)[part]
            moved[part] += rng.choice([1e-3, 0.1, 1.0]) * (other - q[part])
            frames = tree.poses(q), tree.poses(moved)
            travel = 0.0
            for frame, X_FL, points in [*corners, carried]:
                ends = [X[frame] @ X_FL for X in frames]
                steps = points @ (ends[1] - ends[0])[:3, :3].T + (ends[1] - ends[0])[:3, 3]
                travel = max(travel, float(np.linalg.norm(steps, axis=1).max()))
            bound = kinematics.travel_bound(group, q[part], moved[part], HELD)
            assert travel <= bound + 1e-12, (group, q, moved)
            if bound > 0.0:
                tightest[group] = max(tightest[group], travel / bound)
    assert min(tightest["base"], tightest["arm"], tightest["base+arm"]) > 0.4
    assert not fingers or tightest["fingers"] > 0.4
