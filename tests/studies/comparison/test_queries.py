"""The seed's query and drawn ones."""

from itertools import islice

import numpy as np
import pytest

from galley.collision.checker import held_pairs
from galley.collision.scene_kernel import SceneKernel
from galley.studies.comparison.queries import ArmQuery, hand_poses, random_queries


def test_the_seeds_goals_lie_beyond_the_base_and_are_free_in_pybullet(kernel, query, world):
    spec, base = kernel.scene.robot.base, query.state.q[:3]
    arms = np.vstack([query.start(kernel.robot)[None], query.goals])
    X_WH = hand_poses(kernel.robot, query.state.q, arms)
    p = X_WH[:, :3, :3] @ kernel.robot.p_HT + X_WH[:, :3, 3]
    assert (p[1:, 0] - p[0, 0] >= 0.6 - 1e-9).all()
    foot = base[0] + np.cos(base[2]) * spec.p_BA[0]
    assert ((p[1:, 0] - foot) * (p[0, 0] - foot) < 0.0).all(), "on the other side"
    assert np.abs(p[1:] - query.region.target[:3, 3]).max() <= query.region.radius + 1e-6
    checker = world.checker(query.state, margin=0.004)
    q = query.state.q.copy()
    for goal in query.goals:
        q[3:10] = goal
        assert checker.free(q)


@pytest.fixture(scope="module")
def drawn(kernel):
    return list(random_queries(kernel, 12, seed=5))


def test_random_queries_are_the_same_for_the_same_seed(kitchen, robot, drawn):
    again = list(random_queries(SceneKernel(kitchen, robot), 6, seed=5))
    for one, two in zip(drawn, again, strict=False):
        assert np.array_equal(one.state.q, two.state.q)
        assert np.array_equal(one.goals, two.goals)
        assert np.array_equal(one.state.scene_q, two.state.scene_q)
    other = next(random_queries(SceneKernel(kitchen, robot), 1, seed=6))
    assert not np.array_equal(other.state.q, drawn[0].state.q)


def test_random_queries_are_free_at_both_ends_by_pybullet(kernel, world, drawn):
    for query in drawn:
        assert isinstance(query, ArmQuery)
        allowed = held_pairs(kernel.scene, kernel.robot, query.state)
        checker = world.checker(query.state, allowed, margin=0.003)
        q = query.state.q.copy()
        assert checker.free(q), query.name
        q[3:10] = query.goals[0]
        assert checker.free(q), query.name
        assert np.linalg.norm(query.goals[0] - query.state.q[3:10]) >= 1.5


def test_every_third_holds_something_and_stances_are_kept(kernel, drawn):
    assert [q.state.held is not None for q in drawn] == [k % 3 == 2 for k in range(12)]
    places = [kernel.scene.stance(n) for n in ("burner", "countertop", "drawer")]
    assert all(any(s.contains(q.state.q[:3]) for s in places) for q in drawn)


def test_a_scene_whose_furniture_has_no_names_has_queries_too(small_text, scene_of):
    from galley.robots.panda.models import mobile_panda

    text = small_text[: small_text.index("objects:")] + "objects:\n  h1: {hand: panda_hand}\n"
    scene = scene_of(text)
    kernel = SceneKernel(scene, mobile_panda(scene.robot.base))
    for query in islice(random_queries(kernel, 3), 3):
        assert isinstance(query, ArmQuery), str(query)
        assert np.array_equal(query.state.q[:3], scene.robot.q[:3])
