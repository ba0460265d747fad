"""The reachability field against another inverse kinematics, ssik, cell by cell."""

import numpy as np
import pytest
from ssik.prebuilt.franka import panda_ik as ssik_panda

from galley.domain.frames import inverse, transform
from galley.domain.scene.base_spec import MobileBaseSpec
from galley.robots.panda.ik import LIMITS
from galley.robots.panda.kinematics import X_FH
from galley.robots.panda.mobile import link0_pose
from galley.robots.panda.models import mobile_panda
from galley.skills.base_placement.field import reachability_field, square

SPEC = MobileBaseSpec()
ROBOT = mobile_panda(SPEC)
DOWN = np.diag([1.0, -1.0, -1.0])
ASIDE = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
Q7 = np.linspace(*ROBOT.kinematics.redundant_range, 12)


def brute(field, X_WH, solves, count, rng):
    """Disagreements, and how many cells reached, of random cells and headings."""
    wrong = reached = 0
    for _ in range(count):
        i, j, heading = rng.integers(len(field.x)), rng.integers(len(field.y)), rng.uniform(-4, 4)
        expected = solves(X_WH, field.bases(heading)[i, j])
        if expected is not None:
            wrong += bool(field.reaches(heading)[i, j]) != expected
            reached += expected
    return wrong, reached


@pytest.mark.parametrize("R", [DOWN, ASIDE])
def test_the_field_is_what_a_solve_at_every_base_pose_finds(R):
    X_WH = transform(R, (0.3, 0.2, 1.15))
    field = reachability_field(ROBOT, X_WH, *square(X_WH[:2, 3], 0.9, 13))

    def solves(X_WH, base):
        return len(ROBOT.kinematics.configurations(X_WH, base, Q7)) > 0

    wrong, reached = brute(field, X_WH, solves, 400, np.random.default_rng(0))
    assert wrong == 0
    assert 40 < reached < 360


@pytest.mark.parametrize("R", [DOWN, ASIDE])
def test_the_field_agrees_with_ssik_up_to_the_grid_of_joint_7(R):
    """ssik chooses joint 7 itself: what is well within the limits must be on a fine grid, too."""
    X_WH = transform(R, (0.3, 0.2, 1.15))
    grid = square(X_WH[:2, 3], 0.9, 13)
    coarse, fine = (reachability_field(ROBOT, X_WH, *grid, redundant=n) for n in (12, 144))
    rng, ours, theirs = np.random.default_rng(1), 0, 0
    for _ in range(30):
        i, j, heading = rng.integers(13), rng.integers(13), rng.uniform(-np.pi, np.pi)
        X_WA = link0_pose(fine.bases(heading)[i, j], SPEC)
        solved = ssik_panda.solve(inverse(X_WA) @ X_WH @ inverse(X_FH))
        q = np.array([s.q for s in solved if s.fk_residual < 1e-8]).reshape(-1, 7)
        inside = np.minimum(q - LIMITS.lower, LIMITS.upper - q).min(axis=1) > 0.05
        if coarse.reaches(heading)[i, j]:
            assert len(solved)
            ours += 1
        if inside.any():
            assert fine.reaches(heading)[i, j]
            theirs += 1
    assert min(ours, theirs) > 4


def test_several_hand_poses_reach_from_wherever_one_does():
    poses = [transform(DOWN, (0.0, 0.0, z)) for z in (0.75, 1.5)]
    poses.append(transform(ASIDE, (0.2, 0.1, 1.1)))
    grid = square(np.zeros(2), 1.0, 15)
    both = reachability_field(ROBOT, np.array(poses), *grid)
    each = [reachability_field(ROBOT, X, *grid) for X in poses]
    for heading in np.linspace(-3.0, 3.0, 25):
        any_of_them = np.any([field.reaches(heading) for field in each], axis=0)
        np.testing.assert_array_equal(both.reaches(heading), any_of_them)


def test_the_share_of_headings_is_what_a_fine_count_gives():
    X_WH = transform(DOWN, (0.0, 0.0, 0.8))
    field = reachability_field(ROBOT, X_WH, *square(np.zeros(2), 0.9, 13), redundant=1)
    headings = np.linspace(-np.pi, np.pi, 2000, endpoint=False)
    counted = np.mean([field.reaches(heading) for heading in headings], axis=0)
    np.testing.assert_allclose(field.share(), counted, atol=2e-3)


def test_bad_fields_are_refused_by_value():
    with pytest.raises(ValueError, match="got none"):
        reachability_field(ROBOT, np.empty((0, 4, 4)), np.zeros(2), np.zeros(2))
    with pytest.raises(ValueError, match="got 0"):
        reachability_field(ROBOT, np.eye(4), np.zeros(2), np.zeros(2), redundant=0)
    with pytest.raises(ValueError, match=r"-1"):
        square(np.zeros(2), -1.0, 5)
