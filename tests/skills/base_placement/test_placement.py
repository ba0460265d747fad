"""Scored base poses: forward kinematics and brute force as oracles."""

from dataclasses import replace

import numpy as np
import pytest

from galley.domain.frames import transform
from galley.domain.scene.base_spec import MobileBaseSpec
from galley.domain.scene.model import Stance
from galley.robots.panda.kinematics import link_frames
from galley.robots.panda.mobile import hand_pose
from galley.robots.panda.models import mobile_panda
from galley.skills.base_placement.placement import MobileArm, Placer, drive, facing, travel

SPEC = MobileBaseSpec()
ROBOT = mobile_panda(SPEC)
ARM = MobileArm(ROBOT)
DOWN = np.diag([1.0, -1.0, -1.0])
ROOM = Stance("room", np.array([0.0, -1.4, -np.pi]), np.array([1.6, 1.4, np.pi]))
NEAR, ASIDE = transform(DOWN, (0.4, 0.1, 1.1)), transform(DOWN, (0.5, 0.9, 1.0))
START = np.array([1.5, 0.0, np.pi])


def outside_a_post(bases, arms):
    """Free: the base's centre at least 0.5 m from (0.8, 0.3)."""
    assert len(bases) == len(arms)
    return np.hypot(bases[:, 0] - 0.8, bases[:, 1] - 0.3) > 0.5


def test_scores_are_those_of_an_exhaustive_search_over_all_configurations():
    rng = np.random.default_rng(0)
    bases = ARM.sample(NEAR, ROOM, 120, rng)
    arms, terms = ARM.best(NEAR, bases)
    # The kinematics keep 0.01 rad from the limits.
    low, high = ROBOT.group("arm").lower + 0.01, ROBOT.group("arm").upper - 0.01
    q7 = np.linspace(*ROBOT.kinematics.redundant_range, 12)
    reached = 0
    for base, arm, (freedom, margin) in zip(bases, arms, terms, strict=True):
        q = ROBOT.kinematics.configurations(NEAR, base, q7)
        if not len(q):
            assert freedom == 0.0
            continue
        reached += 1
        X = link_frames(q)
        z, p = X[:, 1:8, :3, 2], X[:, 1:8, :3, 3]
        J = np.concatenate([np.cross(z, X[:, 8:, :3, 3] - p), z], axis=2)
        w = np.sqrt(np.linalg.det(np.swapaxes(J, 1, 2) @ J)) / 0.1307
        spare = (2.0 * np.minimum(q - low, high - q) / (high - low)).min(axis=1)
        value = w * np.sqrt(np.maximum(spare, 0.0))
        assert freedom * np.sqrt(margin) == pytest.approx(value.max(), rel=1e-6)
        np.testing.assert_allclose(hand_pose(np.r_[base, arm], SPEC), NEAR, atol=1e-7)
    assert reached > 30


def test_the_best_bases_are_free_apart_sorted_and_reach():
    placer = Placer(ARM, [NEAR], outside_a_post)
    found = placer.best(ROOM, np.random.default_rng(1), k=5, start=START)
    again = placer.best(ROOM, np.random.default_rng(1), k=5, start=START)
    assert [each.base.tolist() for each in again] == [each.base.tolist() for each in found]
    assert len(found) == 5
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)
    for i, each in enumerate(found):
        assert ROOM.contains(each.base)
        assert outside_a_post(each.base[None], each.arms)[0]
        np.testing.assert_allclose(hand_pose(np.r_[each.base, each.arms[0]], SPEC), NEAR, atol=1e-7)
        assert all(travel(each.base[None], other.base)[0] >= 0.15 for other in found[:i])
        assert "manipulability" in each.reason()


def test_more_is_drawn_until_a_base_is_found():
    """The only places left are a fiftieth of the room: eight draws rarely hit one."""

    def in_a_corner(bases):
        return (bases[:, 0] > 0.7) & (bases[:, 0] < 0.9) & (np.abs(bases[:, 1] - 0.4) < 0.2)

    def reaching(bases, arms):
        assert in_a_corner(bases).all(), "a base that does not stand is not looked at again"
        return np.ones(len(bases), dtype=bool)

    placer = Placer(ARM, [NEAR], reaching, stands=in_a_corner)
    once, often = (
        [placer.best(ROOM, np.random.default_rng(seed), n=8, rounds=rounds) for seed in range(12)]
        for rounds in (1, 60)
    )
    assert sum(map(bool, once)) < 8
    assert all(often)
    draw = placer.draw(ROOM, np.random.default_rng(1), 200)
    assert 200 > len(draw) > 0
    assert all(in_a_corner(each.base[None])[0] for each in draw)


def test_one_base_serves_two_targets_by_any_of_their_poses():
    far = transform(DOWN, (-5.0, 0.0, 1.0))
    targets = [NEAR, np.array([far, ASIDE])]
    found = Placer(ARM, targets, outside_a_post).best(ROOM, np.random.default_rng(2), n=600)
    (placement,) = found
    assert placement.hands.tolist() == [0, 1]
    for X, arm in zip((NEAR, ASIDE), placement.arms, strict=True):
        np.testing.assert_allclose(hand_pose(np.r_[placement.base, arm], SPEC), X, atol=1e-7)
    assert Placer(ARM, [NEAR, far]).best(ROOM, np.random.default_rng(2)) == []


def test_travel_counts_as_its_weight_says():
    bases = ARM.sample(NEAR, ROOM, 60, np.random.default_rng(3))
    plain = Placer(ARM, [NEAR]).score(bases)
    for each in Placer(ARM, [NEAR], weight=1.0).score(bases, START):
        same = next(p for p in plain if np.array_equal(p.base, each.base))
        assert each.score == pytest.approx(same.score / (1.0 + travel(each.base[None], START)[0]))


def test_targets_are_needed():
    for targets in ([], [np.empty((0, 4, 4))]):
        with pytest.raises(ValueError, match="needs targets"):
            Placer(ARM, targets)


def test_a_drive_forward_counts_least_and_a_turn_goes_the_short_way():
    ends = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
    assert drive(ends, np.zeros(3)) == pytest.approx([1.0, 1.5, 2.0])
    turned = drive(np.array([[0.0, 0.0, -3.0]]), np.array([0.0, 0.0, 3.0]))
    assert turned == pytest.approx([(2.0 * np.pi - 6.0) * 0.3])


def test_bases_face_along_the_drive_to_them_where_it_is_long_and_the_stance_allows_it():
    start, quarter = np.array([1.0, 1.0, 3.0]), 0.5 * np.pi
    bases = np.array([[1.0, 2.0, 0.3], [0.0, 1.0, 0.3], [1.1, 0.9, 0.3]])
    anywhere = Stance("s", np.array([-9.0, -9.0, -np.pi]), np.array([9.0, 9.0, np.pi]))
    assert facing(bases, start, anywhere)[:, 2] == pytest.approx([quarter, np.pi, 0.3])
    narrow = replace(anywhere, upper=np.array([9.0, 9.0, 2.0]), lower=np.array([-9.0, -9.0, 0.0]))
    assert facing(bases, start, narrow)[:, 2] == pytest.approx([quarter, 0.3, 0.3])
