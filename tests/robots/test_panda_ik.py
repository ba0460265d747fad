"""The closed-form inverse kinematics: round trips, limits, singular poses, ssik as the oracle."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ssik.prebuilt.franka import panda_ik as ssik_panda

from galley.domain.frames import angle_between, frozen, rotation_rpy, transform
from galley.robots.panda import LIMITS, forward
from galley.robots.panda_ik import ANGLE_AT_ZERO, inverse, inverse_batch

Q7 = np.linspace(LIMITS.lower[6], LIMITS.upper[6], 72)
FRACTIONS = [0.0, 1e-12, 1e-9, 1e-6, 0.25, 0.5, 0.75, 1.0]
STRETCHED = np.pi - ANGLE_AT_ZERO  # q4 with shoulder, joint 4 and wrist centre in line


def assert_reaches(solutions, X):
    """Every solution is within the limits and puts the flange at X."""
    assert np.all(solutions >= LIMITS.lower)
    assert np.all(solutions <= LIMITS.upper)
    for Y in forward(solutions):
        assert np.linalg.norm(Y[:3, 3] - X[:3, 3]) < 1e-9
        assert angle_between(Y[:3, :3], X[:3, :3]) < 2e-9


def distance(solutions, q):
    """Largest joint difference between q and the solution nearest to it, rad."""
    return np.abs(solutions - q).max(axis=1).min() if len(solutions) else np.inf


def random_pose(rng):
    R = rotation_rpy(*rng.uniform(-np.pi, np.pi, 3))
    return transform(R, rng.uniform([-0.7, -0.7, -0.3], [0.7, 0.7, 1.1]))


def test_round_trip_contains_the_configuration():
    rng = np.random.default_rng(0)
    for q in rng.uniform(LIMITS.lower, LIMITS.upper, (2000, 7)):
        X = forward(q)
        solutions = inverse(X, q[6])
        assert_reaches(solutions, X)
        assert distance(solutions, q) < 1e-7
        assert len(solutions) <= 8
        assert np.all(solutions[:, 6] == q[6])


@given(st.lists(st.sampled_from(FRACTIONS), min_size=7, max_size=7))
@settings(max_examples=300, deadline=None)
def test_round_trip_at_limits_and_nearly_singular(fraction):
    # Fractions of the range put joints on their limits; q2 and q5 pass through 0 and near to it.
    q = LIMITS.lower + np.array(fraction) * (LIMITS.upper - LIMITS.lower)
    q[1] = LIMITS.upper[1] * fraction[1]
    X = forward(q)
    solutions = inverse(X, q[6])
    assert len(solutions) > 0
    assert_reaches(solutions, X)
    if q[1] > 1e-10:
        # Rounding in X moves q1 and q3 by its ratio to q2, and so may move them over their limits.
        error = 1e-7 + 1e-13 / q[1]
        if max(abs(q[0]), abs(q[2])) < LIMITS.upper[0] - error:
            assert distance(solutions, q) < error


def test_shoulder_singularity_returns_a_representative():
    rng = np.random.default_rng(1)
    for q in rng.uniform(LIMITS.lower, LIMITS.upper, (300, 7)):
        q[1] = 0.0
        X = forward(q)
        solutions = inverse(X, q[6])
        assert_reaches(solutions, X)
        same = solutions[np.abs(solutions[:, 3:] - q[3:]).max(axis=1) < 1e-7]
        assert len(same) == 1  # the two shoulder branches have merged
        # q1 + q3 is what the pose determines; the representative halves it.
        total = same[0, 0] + same[0, 2] - q[0] - q[2]
        assert total == pytest.approx(2 * np.pi * round(total / (2 * np.pi)), abs=1e-9)
        assert same[0, 0] == pytest.approx(same[0, 2])


@pytest.mark.parametrize("q6", [None, LIMITS.lower[5], LIMITS.upper[5]])
@pytest.mark.parametrize("q5", [np.pi / 2, -np.pi / 2])
def test_wrist_branches_merge(q5, q6):
    rng = np.random.default_rng(2)
    for q in rng.uniform(LIMITS.lower, LIMITS.upper, (300, 7)):
        q[4], q[5] = q5, q[5] if q6 is None else q6
        q[1] = abs(q[1]) + 0.01 if abs(q[1]) < 0.01 else q[1]
        X = forward(q)
        solutions = inverse(X, q[6])
        assert_reaches(solutions, X)
        assert distance(solutions, q) < 1e-5  # q5 is the root of a difference that vanishes


@pytest.mark.parametrize("joint", [0, 2])
@pytest.mark.parametrize("q2", [1e-5, -1e-7, 1e-9, -1e-11, 0.0])
def test_a_limit_beside_the_shoulder_singularity(joint, q2):
    # Rounding turns joints 1 and 3 by 1e-16 / q2: the one on its limit must not be lost over it.
    rng = np.random.default_rng(9)
    for q in rng.uniform(LIMITS.lower, LIMITS.upper, (100, 7)):
        q[[0, 2]] = 0.0
        q[joint] = LIMITS.lower[joint] if rng.random() < 0.5 else LIMITS.upper[joint]
        q[1] = q2
        X = forward(q)
        solutions = inverse(X, q[6])
        assert np.any(np.abs(solutions[:, 3:] - q[3:]).max(axis=1) < 1e-6)
        assert_reaches(solutions, X)


def test_stretched_arm():
    rng = np.random.default_rng(3)
    for q in rng.uniform(LIMITS.lower, LIMITS.upper, (300, 7)):
        q[3] = STRETCHED
        q[1] = abs(q[1]) + 0.01 if abs(q[1]) < 0.01 else q[1]
        X = forward(q)
        solutions = inverse(X, q[6])
        assert_reaches(solutions, X)
        assert distance(solutions, q) < 1e-5


def test_rounded_pose_of_the_stretched_arm_is_kept():
    q = np.array([0.3, 0.4, -0.2, STRETCHED, 0.5, 1.0, 0.1])
    X = forward(q)
    p_WS = np.array([0.0, 0.0, 0.333]) - (X[:3, 3])
    for shift in (1e-11, -1e-11):
        Y = X.copy()
        Y[:3, 3] += shift * p_WS / np.linalg.norm(p_WS)
        assert len(inverse(Y, q[6])) > 0


def test_beyond_the_limits_nothing_comes_back():
    q = np.array([0.3, 0.4, -0.2, -1.5, 0.5, 1.0, 0.1])
    X = forward(q)
    assert len(inverse(X, 2.9)) == 0  # joint 7 itself
    narrow = dataclasses.replace(LIMITS, upper=frozen([*LIMITS.upper[:5], 0.9, LIMITS.upper[6]]))
    assert distance(inverse(X, q[6], narrow), q) > 1e-3
    assert np.all(inverse(X, q[6], narrow)[:, 5] <= 0.9)
    far = X.copy()
    far[0, 3] += 2.0
    assert len(inverse(far, q[6])) == 0


def test_joint_6_beyond_half_a_turn_is_found():
    rng = np.random.default_rng(4)
    for q in rng.uniform(LIMITS.lower, LIMITS.upper, (200, 7)):
        q[5] = rng.uniform(np.pi, LIMITS.upper[5])
        assert distance(inverse(forward(q), q[6]), q) < 1e-7


def test_a_joint_a_hair_over_its_limit_is_put_on_it():
    q = np.array([0.3, 0.4, -0.2, -1.5, 0.5, LIMITS.upper[5] + 5e-10, 0.1])
    solutions = inverse(forward(q), q[6])
    assert distance(solutions, q) < 1e-9
    assert np.all(solutions <= LIMITS.upper)


def test_batch_is_the_loop():
    rng = np.random.default_rng(5)
    X = forward(rng.uniform(LIMITS.lower, LIMITS.upper, (20, 7)))
    batch = inverse_batch(X, Q7)
    loop = [(i, inverse(pose, q7)) for i, pose in enumerate(X) for q7 in Q7]
    assert np.array_equal(batch.q, np.concatenate([q for _, q in loop]))
    assert batch.pose.tolist() == [i for i, q in loop for _ in q]
    single = inverse_batch(X[3], Q7)
    assert np.array_equal(single.q, batch.q[batch.pose == 3])
    assert set(single.pose.tolist()) == {0}


def test_branches_name_the_postures():
    rng = np.random.default_rng(6)
    X = forward(rng.uniform(LIMITS.lower, LIMITS.upper, (200, 7)))
    q, pose, branch = inverse_batch(X, Q7)
    assert set(branch.tolist()) == set(range(8))
    elbow, wrist, shoulder = branch >> 2, (branch >> 1) & 1, branch & 1
    assert np.all((q[:, 3] > STRETCHED) == (elbow == 1))
    assert np.all((np.cos(q[:, 4]) < 0) == (wrist == 1))
    assert np.all((q[:, 1] < 0) == (shoulder == 1))
    keys = np.column_stack([pose, q[:, 6], branch])
    assert len(np.unique(keys, axis=0)) == len(keys)


def test_finds_every_solution_that_ssik_finds():
    rng = np.random.default_rng(7)
    compared = solved = 0
    for _ in range(120):
        X = random_pose(rng)
        oracle = [s for s in ssik_panda.solve(X, allow_rescue=False) if s.fk_residual < 1e-8]
        solved += bool(oracle)
        for solution in oracle[:20]:
            assert distance(inverse(X, solution.q[6]), solution.q) < 1e-5
            compared += 1
    assert solved > 40
    assert compared > 300


def test_solves_no_pose_that_ssik_rules_out():
    rng = np.random.default_rng(8)
    solvable = 0
    for _ in range(150):
        X = random_pose(rng)
        found = inverse_batch(X, Q7)
        assert_reaches(found.q, X)
        if len(found.q):
            solvable += 1
            assert len(ssik_panda.solve(X)) > 0
    assert solvable > 50
