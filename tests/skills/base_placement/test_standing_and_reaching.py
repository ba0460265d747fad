"""Where to stand, what is out of reach, and the hand on a line."""

from dataclasses import replace

import numpy as np
from scipy.stats import chi2_contingency

from galley.domain.frames import angle_between, inverse, transform
from galley.domain.scene.base_spec import MobileBaseSpec
from galley.domain.scene.model import Stance
from galley.robots.panda.ik import LIMITS
from galley.robots.panda.kinematics import X_FH, forward, inverse_batch
from galley.robots.panda.mobile import hand_pose, link0_pose
from galley.robots.panda.mobile_kinematics import MobilePandaKinematics
from galley.robots.panda.models import mobile_panda
from galley.skills.base_placement.stances import in_ring, sample_stances, shortfall

SPEC = MobileBaseSpec()
ROBOT = mobile_panda(SPEC)
KINEMATICS = ROBOT.kinematics
DOWN = np.diag([1.0, -1.0, -1.0])
ROOM = Stance("room", np.array([0.5, -1.0, -np.pi]), np.array([1.5, 1.0, np.pi]))


def flange_at(p, R=DOWN):
    return transform(R, p)


def sample_stance(X_WF, stance, rng):
    """One base pose, or None."""
    found = sample_stances(X_WF @ X_FH, stance, ROBOT, 1, rng)
    return found[0] if len(found) else None


def flange_in_arm(X_WH, base):
    """X_AF: the flange in ``panda_link0`` for a hand pose and a base."""
    return inverse(link0_pose(base, SPEC)) @ X_WH @ inverse(X_FH)


def test_sampled_stances_lie_in_the_set_and_in_the_base_limits():
    stance = Stance("wide", np.array([-3.0, -3.0, -np.pi]), np.array([3.0, 3.0, np.pi]))
    rng = np.random.default_rng(0)
    found = [sample_stance(flange_at((0.2, 0.4, 1.0)), stance, rng) for _ in range(400)]
    bases = np.array([b for b in found if b is not None])
    assert len(bases) > 50
    assert (bases >= np.array(SPEC.lower) - 1e-12).all()
    assert (bases <= np.array(SPEC.upper) + 1e-12).all()
    narrow = Stance("narrow", np.array([0.6, 0.0, -0.5]), np.array([0.9, 0.6, 0.5]))
    found = [sample_stance(flange_at((0.2, 0.4, 1.0)), narrow, rng) for _ in range(2000)]
    inside = [b for b in found if b is not None]
    assert len(inside) > 20
    assert all(narrow.contains(b) and abs(b[2]) <= 0.5 for b in inside)


def test_sampled_stances_are_uniform_where_the_arm_may_span():
    """Against poses of the whole box, of which those with the shoulder in the ring are kept."""
    rng = np.random.default_rng(6)
    stance = Stance("beside", np.array([0.7, -0.5, -1.0]), np.array([1.6, 0.9, 2.0]))
    X_WH = flange_at((0.4, 0.2, 1.0)) @ X_FH
    found = sample_stances(X_WH, stance, ROBOT, 20_000, rng)
    every = rng.uniform(stance.lower, stance.upper, (60_000, 3))
    c, s = np.cos(every[:, 2]), np.sin(every[:, 2])
    shoulder = np.column_stack([c, s]) * SPEC.p_BA[0] + np.column_stack([-s, c]) * SPEC.p_BA[1]
    reach = KINEMATICS.reach
    height = X_WH[2, 3] + reach.p_HC[2] * X_WH[2, 2] - reach.p_BS[2]  # it points straight down
    away = np.linalg.norm(every[:, :2] + shoulder - X_WH[:2, 3], axis=1)
    kept = every[(away >= reach.too_near) & (away**2 + height**2 <= reach.to_C**2)]
    assert 0.2 < len(kept) / len(every) < 0.9
    bins = [np.linspace(low, high, 5) for low, high in zip(stance.lower, stance.upper, strict=True)]
    tables = [np.histogramdd(each, bins)[0].ravel() for each in (found, kept)]
    seen = tables[0] + tables[1] > 20
    assert chi2_contingency(np.array(tables)[:, seen]).pvalue > 1e-4


def test_a_flange_too_high_or_too_far_has_no_stance():
    rng = np.random.default_rng(2)
    for p in ((1.0, 0.0, 3.0), (-5.0, 0.0, 1.0)):
        assert all(sample_stance(flange_at(p), ROOM, rng) is None for _ in range(200))


def test_the_shortfall_is_a_lower_bound_of_the_distance_to_what_is_reached():
    """Moved away by d from a pose in reach, a point is at most d out of reach."""
    rng = np.random.default_rng(4)
    positive = 0
    for _ in range(500):
        base = rng.uniform(ROOM.lower, ROOM.upper)
        X_WF = link0_pose(base, SPEC) @ forward(rng.uniform(LIMITS.lower, LIMITS.upper))
        assert shortfall(X_WF[:3, 3], ROOM, ROBOT) == 0.0
        d = rng.normal(size=3)
        bound = shortfall(X_WF[:3, 3] + d, ROOM, ROBOT)
        assert bound <= np.linalg.norm(d) + 1e-9
        positive += bound > 0
    assert positive > 50


def test_the_shortfall_of_a_far_point_by_hand():
    """From the stance's edge at x = 1.5 to x = 5: 3.5 m, less 0.035 m of mount, less the arm:
    shoulder to wrist 0.7166 m at full stretch, wrist to flange hypot(0.088, 0.107)."""
    height = 0.769 + 0.333
    arm = np.sqrt(0.316**2 + 0.0825**2) + np.sqrt(0.384**2 + 0.0825**2)  # joint 4 free: at most
    least = 3.5 - 0.035 - arm - np.hypot(0.088, 0.107)
    bound = shortfall(np.array([5.0, 0.0, height]), ROOM, ROBOT)
    assert least <= bound <= least + 0.02
    assert shortfall(np.array([1.0, 0.0, height]), ROOM, ROBOT) == 0.0


def test_configurations_put_the_hand_at_the_given_pose():
    rng = np.random.default_rng(5)
    found = 0
    for _ in range(60):
        base = rng.uniform(ROOM.lower, ROOM.upper)
        arm = rng.uniform(LIMITS.lower, LIMITS.upper)
        X_WH = hand_pose(np.concatenate([base, arm]), SPEC)
        for q in KINEMATICS.configurations(X_WH, base, KINEMATICS.redundant_values(8, rng)):
            np.testing.assert_allclose(hand_pose(np.concatenate([base, q]), SPEC), X_WH, atol=1e-7)
            assert (q > LIMITS.lower).all()
            assert (q < LIMITS.upper).all()
            found += 1
    assert found > 100


def line(p, direction, length, n=None, R=DOWN):
    n = n or int(np.ceil(length / 0.01)) + 1
    poses = np.repeat(transform(R, p)[None], n, axis=0)
    poses[:, :3, 3] += np.linspace(0, length, n)[:, None] * np.asarray(direction)
    return poses


def lines_followed(count=25):
    """Random lines in front of the robot, and the configurations along them."""
    rng = np.random.default_rng(6)
    base = np.array([1.0, 0.0, np.pi])
    found = []
    while len(found) < count:
        p = rng.uniform((0.3, -0.3, 0.9), (0.6, 0.3, 1.3))
        direction = rng.normal(size=3)
        poses = line(p, direction / np.linalg.norm(direction), 0.15)
        options = KINEMATICS.configurations(poses[0], base, KINEMATICS.redundant_values(6, rng))
        if len(options):
            path = KINEMATICS.follow(options[rng.integers(len(options))], poses, base)
            if path is not None:
                found.append((base, poses, path))
    return found


def test_a_followed_line_is_kept_at_every_pose_and_between():
    """Forward kinematics as the oracle: at the poses exactly; halfway between them (the arm's
    joints interpolated) within 1 mm and 0.01 rad."""
    for base, poses, path in lines_followed():
        assert len(path) == len(poses)
        for X, q in zip(poses, path, strict=True):
            np.testing.assert_allclose(hand_pose(np.concatenate([base, q]), SPEC), X, atol=1e-6)
        for k in range(len(path) - 1):
            X = hand_pose(np.concatenate([base, 0.5 * (path[k] + path[k + 1])]), SPEC)
            middle = 0.5 * (poses[k][:3, 3] + poses[k + 1][:3, 3])
            assert np.linalg.norm(X[:3, 3] - middle) < 1e-3
            assert angle_between(X[:3, :3], poses[k][:3, :3]) < 0.01


def followed_one_by_one(start, poses, base):
    """What ``follow`` promises, a pose at a time: joint 7 stays if it can, else drifts."""
    inner = replace(LIMITS, lower=LIMITS.lower + 0.01, upper=LIMITS.upper - 0.01)
    path = [start]
    for X in poses[1:]:
        X_AF = flange_in_arm(X, base)
        for change in ([0.0], [0.03, -0.03, 0.08, -0.08]):
            q7 = np.clip(path[-1][6] + np.array(change), inner.lower[6], inner.upper[6])
            options = inverse_batch(X_AF, q7, inner).q
            jumps = np.abs(options - path[-1]).max(axis=1)
            if len(options) and jumps.min() <= 0.15:
                path.append(options[np.argmin(jumps)])
                break
        else:
            return None
    return np.array(path)


def test_joint_7_keeps_its_value_where_it_can_and_drifts_evenly_where_it_must():
    rng = np.random.default_rng(7)
    base = np.array([1.0, 0.1, np.pi - 0.3])
    outcomes = {"kept": 0, "even": 0, "drifted": 0, "none": 0}
    for _ in range(250):
        direction = rng.normal(size=3)
        p = rng.uniform((0.2, -0.4, 0.8), (0.7, 0.4, 1.4))
        poses = line(p, direction / np.linalg.norm(direction), rng.uniform(0.02, 0.4))
        options = KINEMATICS.configurations(poses[0], base, KINEMATICS.redundant_values(6, rng))
        if not len(options):
            continue
        start = options[rng.integers(len(options))]
        path, expected = (
            KINEMATICS.follow(start, poses, base),
            followed_one_by_one(start, poses, base),
        )
        assert (path is None) == (expected is None)
        if path is None:
            outcomes["none"] += 1
            continue
        steps = np.diff(path[:, 6])
        if steps.any() and np.ptp(steps) < 1e-9:  # it comes where it must, but evenly
            outcomes["even"] += 1
            np.testing.assert_allclose(path[[0, -1], 6], expected[[0, -1], 6], atol=1e-9)
            for X, q in zip(poses, path, strict=True):
                np.testing.assert_allclose(hand_pose(np.concatenate([base, q]), SPEC), X, atol=1e-6)
            continue
        np.testing.assert_allclose(path, expected, atol=1e-9)
        outcomes["drifted" if steps.any() else "kept"] += 1
    assert min(outcomes["kept"], outcomes["none"], outcomes["even"]) > 5, outcomes
    assert outcomes["drifted"] < outcomes["even"], outcomes


def test_a_base_reaches_where_there_is_a_configuration():
    rng = np.random.default_rng(8)
    X_WH = transform(DOWN, (0.3, 0.2, 1.0))
    bases = rng.uniform((-0.5, -1.5, -np.pi), (1.5, 1.5, np.pi), (400, 3))
    q7 = KINEMATICS.redundant_values(8, rng)
    spec = replace(SPEC, p_BA=(0, 0, 1))  # whole numbers, as a scene file may have them
    for kinematics in (KINEMATICS, MobilePandaKinematics(spec)):
        expected = [len(kinematics.configurations(X_WH, base, q7)) > 0 for base in bases]
        reached = kinematics.best_configurations(X_WH, bases, q7)[0].any(axis=1)
        assert reached.tolist() == expected
        assert 20 < sum(expected) < 380
    assert KINEMATICS.best_configurations(X_WH, bases[:0], q7)[0].shape == (0, 7)
    assert not KINEMATICS.best_configurations(X_WH, bases, np.empty(0))[0].any()
    assert not (reached & ~in_ring(X_WH, bases, ROBOT)).any()  # the ring rules none of them out
