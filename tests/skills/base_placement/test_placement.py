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
from galley.skills.base_placement.placement import drive, facing, score_bases

SPEC = MobileBaseSpec()
ROBOT = mobile_panda(SPEC)
Q7 = np.linspace(*ROBOT.kinematics.redundant_range, 12)
HAND = transform(np.diag([1.0, -1.0, -1.0]), (0.4, 0.1, 1.1))
START = np.array([1.5, 0.0, np.pi])


def test_scores_are_those_of_an_exhaustive_search_over_all_configurations():
    # The kinematics keep 0.01 rad from the limits.
    low, high = ROBOT.group("arm").lower + 0.01, ROBOT.group("arm").upper - 0.01
    rng = np.random.default_rng(0)
    bases = rng.uniform([0.0, -1.4, -np.pi], [1.6, 1.4, np.pi], (300, 3))
    scored = score_bases(ROBOT, HAND, bases, START, Q7)
    assert len(scored) > 30
    assert [each.score for each in scored] == sorted((each.score for each in scored), reverse=True)
    by_base = {each.base.tobytes(): each for each in scored}
    for base in bases:
        q = ROBOT.kinematics.configurations(HAND, base, Q7)
        X = link_frames(q)
        z, p = X[:, 1:8, :3, 2], X[:, 1:8, :3, 3]
        J = np.concatenate([np.cross(z, X[:, 8:, :3, 3] - p), z], axis=2)
        w = np.sqrt(np.linalg.det(np.swapaxes(J, 1, 2) @ J)) / 0.1307
        spare = (2.0 * np.minimum(q - low, high - q) / (high - low)).min(axis=1)
        value = (w * np.sqrt(np.maximum(spare, 0.0))).max(initial=0.0)
        each = by_base.get(base.tobytes())
        if each is None:
            assert value < 1e-6
            continue
        assert each.manipulability * np.sqrt(each.margin) == pytest.approx(value, rel=1e-6)
        away = drive(base[None], START)[0]
        assert each.score == pytest.approx(value / (1.0 + away), rel=1e-6)
        assert f"{away:.2f} m away" in each.reason()
        np.testing.assert_allclose(hand_pose(np.r_[base, each.arm], SPEC), HAND, atol=1e-7)


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
