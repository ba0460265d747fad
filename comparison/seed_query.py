"""The seed's query: the arm turns round to a goal further along x, past its own base.

The arm, on a base that stands still, turns from its start to a goal where the hand is 0.6 m further
along world x, on the other side of its own base. The hand's orientation is free.
"""

from __future__ import annotations

import numpy as np

from galley.comparison.query import Query, arm_view
from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import (
    Array,
    frozen,
    inverse,
    rotation_from_quaternion,
    transform,
)
from galley.domain.state import initial_state
from galley.motion.rrt import EndRegion
from galley.reachability.arm import configurations, joint7_values
from galley.robots.kinematics import hand_pose, link0_pose
from galley.worlds.scene_kernel import SceneKernel

DISTANCE = 0.6  # m, the seed's
REGION = 0.01  # m, half the side of the end region
_STEP, _FARTHEST = 0.01, 1.5  # m, how the goal is moved on while it is in collision
_ORIENTATIONS = 60  # random orientations of the hand tried at a goal
_GOALS = 40  # goal configurations kept to grow towards


def seed_query(kernel: SceneKernel, distance: float = DISTANCE, seed: int = 0) -> Query | Failure:
    """The seed's query; the goal is the nearest to ``distance`` (m) that is free, if farther.

    The region lies so that even its near side is ``distance`` away from where the grasp centre
    between the fingertips is at the start.
    """
    scene, state = kernel.scene, initial_state(kernel.scene)
    spec, base = scene.robot.base, state.q[:3]
    X_HT = transform(None, kernel.robot.p_HT)
    p_start = (hand_pose(state.q, spec) @ X_HT)[:3, 3]
    axis = float(link0_pose(base, spec)[0, 3])
    view = arm_view(kernel, state)
    rng = np.random.default_rng(np.random.SeedSequence((seed, 0)))
    tries = 0
    for extra in np.arange(0.0, max(_FARTHEST - distance, _STEP), _STEP):
        p = p_start + np.array([distance + REGION + extra, 0.0, 0.0])
        if (p[0] - axis) * (p_start[0] - axis) >= 0.0:
            continue  # not yet on the other side
        found: list[Array] = []
        for _ in range(_ORIENTATIONS):
            tries += 1
            X_WT = transform(rotation_from_quaternion(rng.normal(size=4)), p)
            arms = configurations(X_WT @ inverse(X_HT), base, spec, joint7_values(8, rng))
            if len(arms):
                arms = rng.permutation(arms)
                found += list(arms[view.free_many(arms)])
        if found:
            goals = frozen([found[k] for k in rng.permutation(len(found))[:_GOALS]])
            region = EndRegion(lambda q: np.eye(4), transform(None, p), REGION, None)
            away = distance + REGION + float(extra)
            about = f"turn round: the hand {away:.2f} m further along x, past its own base"
            return Query("seed", state, goals, region, about)
    return Failure(
        FailureKind.BUDGET,
        f"no collision-free goal with the hand {distance:.2f} m or more along x, on the other side "
        f"of its base, in {tries} tries",
        numbers={"tries": float(tries)},
    )
