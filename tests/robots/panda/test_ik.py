"""The closed-form inverse kinematics: round trips, limits, singular poses, ssik as the oracle."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ssik.prebuilt.franka import panda_ik as ssik_panda

from galley.domain.frames import angle_between, frozen, rotation_rpy, transform
from galley.robots.panda.ik import ANGLE_AT_ZERO, LIMITS
from galley.robots.panda.kinematics import forward, inverse, inverse_batch
from galley.tests.effort import examples

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


def assert_no_duplicates(solutions):
    """No two of the solutions for one pose and one q7 are the same."""
    apart = np.abs(solutions[:, None] - solutions[None]).max(axis=2)
    assert np.all(apart[~np.eye(len(solutions), dtype=bool)] > 1e-8)


def test_round_trip_contains_the_configuration():
    rng = np.random.default_rng(0)
    for q in rng.uniform(LIMITS.lower, LIMITS.upper, (2000, 7)):
        X = forward(q)
        solutions = inverse(X, q[6])
        assert_reaches(solutions, X)
        assert distance(solutions, q) < 1e-7
        assert_no_duplicates(solutions)
        assert len(solutions) <= 8
        assert np.all(solutions[:, 6] == q[6])


@given(st.lists(st.sampled_from(FRACTIONS), min_size=7, max_size=7))
@settings(max_examples=examples(300), deadline=None)
def test_round_trip_at_limits_and_nearly_singular(fraction):
    # Fractions of the range put joints on their limits; q2 and q5 pass through 0 and near to it.
    q = LIMITS.lower + np.array(fraction) * (LIMITS.upper - LIMITS.lower)
    q[1] = LIMITS.upper[1] * fraction[1]
    X = forward(q)
    solutions = inverse(X, q[6])
    assert len(solutions) > 0
    assert_reaches(solutions, X)
    assert_no_duplicates(solutions)
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


def wrist_merges(q, rng):
    q[4] = rng.choice([-0.5, 0.5]) * np.pi  # its cosine is the root of a difference that vanishes
    q[5] = rng.choice([q[5], LIMITS.lower[5], LIMITS.upper[5]])
    q[1] = np.copysign(max(abs(q[1]), 0.01), q[1])


def wrist_nearly_merges(q, rng):
    q[4] = rng.choice([-0.5, 0.5]) * np.pi + rng.choice([-1, 1]) * rng.choice([1e-6, 1e-8, 1e-9])
    q[5] = rng.choice([LIMITS.lower[5], LIMITS.upper[5]])
    q[[0, 1, 2, 3, 6]] *= 0.9


def limit_beside_singular_shoulder(q, rng):
    # Rounding turns joints 1 and 3 by 1e-16 / q2: the one on its limit must not be lost over it.
    q[[0, 2]] = 0.0
    q[rng.choice([0, 2])] = rng.choice([LIMITS.lower[0], LIMITS.upper[0]])
    q[1] = rng.choice([1e-5, -1e-7, 1e-9, -1e-11, 0.0])


def stretched(q, rng):
    q[3] = STRETCHED
    q[1] = np.copysign(max(abs(q[1]), 0.01), q[1])


def beyond_half_a_turn(q, rng):
    q[5] = rng.uniform(np.pi, LIMITS.upper[5])


@pytest.mark.parametrize(
    ("make", "joints", "tolerance"),
    [
        (wrist_merges, slice(7), 1e-5),
        (wrist_nearly_merges, slice(0), np.inf),
        (limit_beside_singular_shoulder, slice(3, 7), 1e-6),
        (stretched, slice(7), 1e-5),
        (beyond_half_a_turn, slice(7), 1e-7),
    ],
)
def test_configurations_on_limits_and_singular_ones_are_found_once(make, joints, tolerance):
    rng = np.random.default_rng(2)
    for q in rng.uniform(LIMITS.lower, LIMITS.upper, (400, 7)):
        make(q, rng)
        X = forward(q)
        solutions = inverse(X, q[6])
        assert_reaches(solutions, X)
        assert_no_duplicates(solutions)
        assert len(solutions)
        assert np.abs(solutions - q)[:, joints].max(axis=1, initial=0.0).min() < tolerance


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
    assert batch.q[:, 6] == pytest.approx(Q7[batch.seven], abs=0.0)
    assert np.all(np.diff(8 * (72 * batch.pose + batch.seven) + batch.branch) > 0)
    single = inverse_batch(X[3], Q7)
    assert np.array_equal(single.q, batch.q[batch.pose == 3])
    assert set(single.pose.tolist()) == {0}


def test_a_branch_stays_along_a_curve():
    """A curve of configurations, away from singular poses: its branch is found at every point."""
    rng = np.random.default_rng(10)
    followed, met = 0, set()
    for _ in range(60):
        ends = rng.uniform(LIMITS.lower + 0.05, LIMITS.upper - 0.05, (2, 7))
        curve = ends[0] + np.linspace(0.0, 1.0, 40)[:, None] * (ends[1] - ends[0])
        postures = np.column_stack(
            [curve[:, 3] > STRETCHED, np.cos(curve[:, 4]) < 0.0, curve[:, 1] < 0.0]
        )
        expected = postures @ [4, 2, 1]
        for q, posture in zip(curve, expected, strict=True):
            found = inverse_batch(forward(q), [q[6]])
            assert posture in found.branch
            assert found.q[found.branch == posture][0] == pytest.approx(q, abs=1e-6)
        followed += len(set(expected.tolist())) == 1
        met |= set(expected.tolist())
    assert followed > 5
    assert met == set(range(8))


def test_narrow_and_shifted_limits_keep_exactly_what_is_within_them():
    """Filtering the solutions for wide limits is the oracle of solving for narrow ones."""
    rng = np.random.default_rng(11)
    X = forward(rng.uniform(LIMITS.lower, LIMITS.upper, (40, 7)))
    wide = inverse_batch(X, Q7)
    for _ in range(10):
        ends = np.sort(rng.uniform(LIMITS.lower, LIMITS.upper, (2, 7)), axis=0)
        ends = np.array([0.7 * LIMITS.lower, 0.7 * LIMITS.upper]) * 0.5 + 0.5 * ends
        ends[:, 3] = np.sort(rng.uniform(LIMITS.lower[3], LIMITS.upper[3], 2))
        limits = dataclasses.replace(LIMITS, lower=frozen(ends[0]), upper=frozen(ends[1]))
        inside = np.all((wide.q >= ends[0]) & (wide.q <= ends[1]), axis=1)
        narrow = inverse_batch(X, Q7, limits)
        assert narrow.q == pytest.approx(wide.q[inside], abs=1e-9)
        assert narrow.branch.tolist() == wide.branch[inside].tolist()
        assert narrow.pose.tolist() == wide.pose[inside].tolist()


def test_limits_of_a_whole_turn_are_turned_down():
    whole = dataclasses.replace(LIMITS, upper=frozen(LIMITS.lower + 2.0 * np.pi))
    with pytest.raises(ValueError, match="under 2 pi"):
        inverse(forward(np.zeros(7)), 0.0, whole)


def test_read_only_strided_and_listed_input_is_taken():
    q = np.array([0.3, 0.4, -0.2, -1.5, 0.5, 1.0, 0.1])
    X = forward(q)
    expected = inverse(X, q[6])
    assert np.array_equal(inverse(frozen(X), q[6]), expected)
    assert np.array_equal(inverse(np.asfortranarray(X), q[6]), expected)
    assert np.array_equal(inverse_batch(X.tolist(), [q[6]]).q, expected)
    assert len(inverse_batch(X, [])[0]) == len(inverse_batch(np.empty((0, 4, 4)), Q7).q) == 0
    with pytest.raises(ValueError, match="q7 must be finite"):
        inverse(X, np.nan)


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
