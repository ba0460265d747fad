"""Kinematics of any arm against ssik, the Panda's closed form, finite differences, brute force."""

from dataclasses import replace

import numpy as np
import pytest
import ssik

from galley.domain.frames import transform, wrap
from galley.robots.chain.chain import chain_of
from galley.robots.chain.kinematics import ChainKinematics
from galley.robots.panda.models import mobile_panda
from galley.robots.urdf_reader import read_tree
from galley.skills.base_placement.stances import bases_below
from galley.tests.robots.chain.arms import ARMS, contains, drawn, kinematics_of, urdf_of

NONE = np.zeros(3)


def solved(kinematics, q):
    """Configurations for the pose that q has, its own redundant value given."""
    redundant = q[None, 3 + max(kinematics.locked, 0)]
    return kinematics.configurations(kinematics.hand_pose(q), q[:3], redundant)


@pytest.fixture(scope="module")
def panda():
    """The mobile Panda, and the same as a chain."""
    robot = mobile_panda()
    arm, fingers = robot.group("arm").joints, robot.group("fingers").joints
    chain = chain_of(robot.urdf, arm, robot.palm, fingers)
    return robot, ChainKinematics(chain, np.array([0, -1.5, 0, -2.4, 0, 1.6, 0.8]))


@pytest.mark.parametrize("name", ARMS)
def test_the_hand_is_where_the_tree_of_joints_puts_it(name):
    kinematics, Q = kinematics_of(name), drawn(name, np.random.default_rng(0), 20)
    tree = read_tree(urdf_of(name), kinematics.chain.joints)
    for q, X_WH in zip(Q, kinematics.hand_poses(Q), strict=True):
        assert tree.link_pose(ARMS[name][2], q) == pytest.approx(X_WH, abs=1e-12)
        assert np.array_equal(X_WH, kinematics.hand_pose([*q, 0.01, 0.02]))  # fingers: no matter


@pytest.mark.parametrize(("name", "lock"), [("ur5", None), ("iiwa", 2)])
def test_has_the_branches_of_ssik_and_no_others(name, lock):
    kinematics, rng = kinematics_of(name), np.random.default_rng(1)
    assert kinematics.locked == (-1 if lock is None else lock)
    tree = read_tree(urdf_of(name), kinematics.chain.joints)
    n = len(kinematics.rest)
    free = [k for k in range(n) if k != lock]
    ours = theirs = 0
    for q in drawn(name, rng, 40):
        at_zero = np.zeros(n + 3)
        if lock is not None:
            at_zero[3 + lock] = q[3 + lock]
        frames, hand = tree.poses(at_zero)[4:], kinematics.hand_pose(at_zero)
        points = np.vstack([np.zeros(3), frames[free, :3, 3], hand[:3, 3]])
        peer = ssik.Manipulator.from_axes(frames[free, :3, 2], np.diff(points, axis=0))
        X = kinematics.hand_pose(np.append(NONE, q[3:]))
        unturned = X @ transform(hand[:3, :3].T)
        solutions = peer.solve(unturned, respect_limits=False, allow_rescue=False)
        oracle = wrap([s.q for s in solutions if s.fk_residual < 1e-8])
        found = kinematics.configurations(X, NONE, q[None, 3 + max(lock or 0, 0)])
        low, high = kinematics.chain.lower[3:][free] + 0.02, kinematics.chain.upper[3:][free] - 0.02
        for each in oracle[((oracle > low) & (oracle < high)).all(axis=1)]:
            assert contains(found[:, free], each, 1e-5)
            theirs += 1
        for each in found:
            assert contains(oracle, wrap(each[free]), 1e-5)
            ours += 1
        assert contains(found, q[3:])
    assert min(ours, theirs) > 200


def test_agrees_with_the_closed_form_of_the_panda(panda):
    robot, kinematics = panda
    closed, locked, rng, seen = robot.kinematics, kinematics.locked, np.random.default_rng(2), 0
    for q in rng.uniform(kinematics.chain.lower + 0.02, kinematics.chain.upper - 0.02, (60, 10)):
        X_WH = closed.hand_pose(q)
        assert kinematics.hand_pose(q) == pytest.approx(X_WH, abs=1e-9)  # the URDF is rounded
        for arm in closed.configurations(X_WH, q[:3], closed.redundant_values(3, rng)):
            assert contains(kinematics.configurations(X_WH, q[:3], arm[[locked]]), arm)
            seen += 1
        for arm in kinematics.configurations(X_WH, q[:3], q[[3 + locked]]):
            assert contains(closed.configurations(X_WH, q[:3], arm[6:]), arm)
            seen += 1
    assert seen > 250


@pytest.mark.parametrize(("name", "share"), [("gen3", 0.98), ("xarm6", 0.95), ("crane", 0.95)])
def test_finds_most_configurations_of_arms_without_a_closed_form(name, share):
    kinematics, Q = kinematics_of(name), drawn(name, np.random.default_rng(3), 100)
    found = [solved(kinematics, q) for q in Q]
    assert np.mean([len(each) > 0 for each in found]) >= share
    for q, arms in zip(Q, found, strict=True):
        reached = kinematics.hand_poses(np.hstack([np.tile(q[:3], (len(arms), 1)), arms]))
        assert (np.abs(reached - kinematics.hand_pose(q)) < 1e-8).all()
        assert ((arms >= kinematics.chain.lower[3:]) & (arms <= kinematics.chain.upper[3:])).all()
        assert np.array_equal(arms, solved(kinematics, q))


@pytest.mark.parametrize("right_angle", ["1.5708", "1.57"])
def test_a_urdf_s_rounded_angles_cost_no_branches(right_angle):
    urdf, chain = urdf_of("iiwa").replace("1.57079632679", right_angle), kinematics_of("iiwa").chain
    kinematics = ChainKinematics(chain_of(urdf, chain.joints[3:], ARMS["iiwa"][2]), np.zeros(7))
    found = [
        contains(solved(kinematics, q), q[3:]) for q in drawn("iiwa", np.random.default_rng(7), 100)
    ]
    assert np.mean(found) > 0.98


def test_nothing_is_found_where_the_hand_can_t_be():
    for name in ARMS:
        far = transform(translation=(0.1, 0.0, 0.5 + kinematics_of(name).reach.to_hand + 0.7))
        assert kinematics_of(name).configurations(far, NONE, np.zeros(1)).shape[0] == 0


def jacobian(kinematics, arm, h=1e-6):
    """(6, n) by central differences."""
    columns = []
    for step in np.eye(len(arm)) * h:
        X, Y = kinematics.hand_poses(np.array([[*NONE, *arm - step], [*NONE, *arm + step]]))
        R = (Y[:3, :3] - X[:3, :3]) @ kinematics.hand_pose([*NONE, *arm])[:3, :3].T
        columns.append([*(Y - X)[:3, 3], R[2, 1], R[0, 2], R[1, 0]])
    return np.array(columns).T / (2.0 * h)


@pytest.mark.parametrize("name", ["ur5", "iiwa", "crane"])
def test_the_best_configuration_is_the_most_manipulable_and_freest(name):
    kinematics, rng = kinematics_of(name), np.random.default_rng(4)
    low, high = kinematics.chain.lower[3:] + 0.01, kinematics.chain.upper[3:] - 0.01

    def terms(arms):
        J = np.array([jacobian(kinematics, arm) for arm in arms])
        margin = 2.0 * (np.minimum(arms - low, high - arms) / (high - low)).min(axis=1)
        return np.sqrt(np.linalg.det(J @ J.swapaxes(1, 2))), margin.clip(0.0)

    seen, most = 0, terms(drawn(name, rng, 2000)[:, 3:])[0].max()
    for q in drawn(name, rng, 5, inset=0.1):
        bases = np.array([q[:3], q[:3] + 0.05, [9.0, 9.0, 0.0]])
        values, X_WH = kinematics.redundant_values(5, rng), kinematics.hand_pose(q)
        arms, scores = kinematics.best_configurations(X_WH, bases, values)
        assert not scores[2].any()
        for base, arm, score in zip(bases[:2], arms, scores, strict=False):
            options = kinematics.configurations(X_WH, base, values)
            if len(options):
                freedom, margin = terms(np.array([arm, *options]))
                value = freedom * np.sqrt(margin)
                assert contains(options, arm)
                assert value[0] == pytest.approx(value.max(), rel=1e-4)
                assert score == pytest.approx([freedom[0] / most, margin[0]], rel=0.1)
                seen += 1
    assert seen > 4


@pytest.mark.parametrize("name", ["ur5", "panda"])
def test_follows_a_line_wherever_the_closed_form_can(name, panda):
    kinematics = panda[1] if name == "panda" else kinematics_of(name)
    rng, followed, low = np.random.default_rng(5), 0, kinematics.chain.lower[3:] + 0.01
    for _ in range(40):
        q = np.append(rng.uniform(-1, 1, 3), rng.uniform(low, kinematics.chain.upper[3:] - 0.01))
        poses = np.repeat(kinematics.hand_pose(q)[None], 40, axis=0)
        way = rng.normal(size=3)
        poses[:, :3, 3] += np.linspace(0.0, 0.2, 40)[:, None] * way / np.linalg.norm(way)
        path = kinematics.follow(q[3:], poses, q[:3])
        if path is None:
            assert name == "ur5" or panda[0].kinematics.follow(q[3:], poses, q[:3]) is None
            continue
        followed += 1
        Q = np.hstack([np.tile(q[:3], (len(path), 1)), path])
        assert kinematics.hand_poses(Q) == pytest.approx(poses, abs=1e-8)
        assert np.abs(np.diff(path, axis=0)).max() <= 0.15
        assert (path >= low - 1e-12).all()
    assert followed > 12


def test_the_field_s_headings_are_those_from_which_there_is_a_configuration():
    whole, rng = kinematics_of("iiwa"), np.random.default_rng(6)
    upper, lower = whole.chain.upper.copy(), whole.chain.lower.copy()
    upper[3], lower[3:5] = 1.7, (-1.9, 0.1)  # the shoulder turns less, and one way only
    kinematics = replace(whole, chain=replace(whole.chain, lower=lower, upper=upper))
    hand = kinematics.hand_pose([0, 0, 0, 0.4, 0.8, 0.3, -1.4, 0.2, 0.9, 0.1])
    values = np.linspace(*kinematics.redundant_range, 3)
    feet, p_BS = hand[:2, 3] + rng.uniform(-0.8, 0.8, (60, 2)), kinematics.reach.p_BS
    gaps, partly = kinematics.heading_gaps(hand[None], feet, values), 0
    for foot, (middle, half) in zip(feet, gaps, strict=True):
        partly += 0.0 < half < np.pi
        for heading in rng.uniform(-np.pi, np.pi, 8):
            beyond = abs(wrap(heading - middle)) - half
            base = bases_below(foot[0], foot[1], heading, p_BS)
            reaches = len(kinematics.configurations(hand, base, values)) > 0
            assert reaches == (beyond > 0.0 and half < np.pi) or abs(beyond) < 1e-6
    assert partly > 5


def test_folded_arms_keep_their_hand_and_the_second_set_lifts_it():
    kinematics = kinematics_of("iiwa")
    arm = np.array([0.0, -0.6, 0.0, -1.9, 0.0, 0.8, 0.0])
    plain, lifted = kinematics.folded(arm)
    assert plain[0] == pytest.approx(arm)
    assert np.ptp(plain - arm, axis=0)[1:6] == pytest.approx(0.0)
    rise = kinematics.hand_pose([*NONE, *lifted[0]]) - kinematics.hand_pose([*NONE, *arm])
    assert rise[:3] == pytest.approx(np.outer([0, 0, 0.12], [0, 0, 0, 1]), abs=1e-8)


def test_names_the_joint_or_link_that_is_no_part_of_the_chain():
    urdf, arm = urdf_of("crane"), ("slide", "j2", "j3", "j4", "j5", "j6", "j7")
    with pytest.raises(ValueError, match="joint 'thumb' must stand on 'knuckle'"):
        chain_of(urdf, (*arm, "knuckle", "thumb"), "palm")
    with pytest.raises(ValueError, match="link 'l6' must be fixed behind 'j7'"):
        chain_of(urdf, arm, "l6")
    with pytest.raises(ValueError, match=r"joint 'thumb' \(floating\) has no limits"):
        chain_of(
            urdf.replace('name="thumb" type="prismatic"', 'name="thumb" type="floating"'),
            arm,
            "palm",
        )
