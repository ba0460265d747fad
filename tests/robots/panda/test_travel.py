"""The travel bound must never be less than what a point of the robot really travels."""

from __future__ import annotations

import numpy as np
import pytest

from galley.domain.meshes import mesh_points
from galley.domain.scene.base_spec import MobileBaseSpec
from galley.robots.panda.mobile import hand_pose, travel_bound
from galley.robots.panda.models import mobile_panda
from galley.robots.panda.urdf import panda_folder
from galley.tests.robots.link_poses import link_poses

MESHES = {f"panda_link{k}": f"link{k}" for k in range(1, 8)} | {
    "panda_hand": "hand",
    "panda_leftfinger": "finger",
    "panda_rightfinger": "finger",
}


@pytest.fixture(scope="module")
def points() -> dict[str, np.ndarray]:
    found = {}
    for link, mesh in MESHES.items():
        p = mesh_points(panda_folder() / "meshes" / "collision" / f"{mesh}.obj")
        if link == "panda_rightfinger":  # the same mesh, turned half round
            p = p * [-1, -1, 1]
        found[link] = p
    return found


def world_points(q: np.ndarray, points: dict[str, np.ndarray]) -> np.ndarray:
    poses = link_poses(q)
    return np.concatenate(
        [p @ poses[link][:3, :3].T + poses[link][:3, 3] for link, p in points.items()]
    )


@pytest.mark.parametrize("group", ["arm", "base", "base+arm"])
def test_no_mesh_vertex_travels_further_than_the_bound(group, points):
    robot, spec, rng = mobile_panda(), MobileBaseSpec(), np.random.default_rng(5)
    limits, where = robot.group(group), robot.slice(group)
    tightest = 0.0
    for k in range(150):
        a = np.zeros(12)
        a[3:10] = rng.uniform(robot.group("arm").lower, robot.group("arm").upper)
        a[10:] = rng.uniform(0.0, 0.04)
        b = a.copy()
        step = 0.3 * (limits.upper - limits.lower) * rng.uniform(-1, 1, limits.size)
        if k % 2:  # one joint alone: where a radius that is too short would show
            step *= np.arange(limits.size) == k // 2 % limits.size
        b[where] = np.clip(a[where] + step, limits.lower, limits.upper)
        bound = travel_bound(group, spec, a[where], b[where], 0.0)
        moved = np.linalg.norm(world_points(b, points) - world_points(a, points), axis=1).max()
        assert moved <= bound + 1e-9
        tightest = max(tightest, moved / max(bound, 1e-9))
    assert tightest > 0.3, "a bound this loose would prove nothing"


def test_a_held_point_travels_no_further_than_the_bound():
    spec, rng = MobileBaseSpec(), np.random.default_rng(6)
    robot = mobile_panda()
    arm = robot.group("arm")
    for _ in range(300):
        p_HQ = rng.normal(size=3)
        p_HQ *= rng.uniform(0.05, 0.4) / np.linalg.norm(p_HQ)
        a, b = (np.concatenate([np.zeros(3), rng.uniform(arm.lower, arm.upper)]) for _ in "ab")
        ends = [hand_pose(q)[:3, :3] @ p_HQ + hand_pose(q)[:3, 3] for q in (a, b)]
        bound = travel_bound("arm", spec, a[3:], b[3:], float(np.linalg.norm(p_HQ)))
        assert np.linalg.norm(ends[1] - ends[0]) <= bound + 1e-9
