"""Forward kinematics of the whole mobile Panda, without any engine.

Frames: W the world, B the base, A ``panda_link0``, F the flange, H the hand. q (12,) is base_x,
base_y, base_heading, panda_joint1..7, both fingers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from galley.domain.base_spec import MobileBaseSpec
from galley.domain.frames import Array, rotation_z, transform
from galley.robots.panda import X_FH, forward

DEFAULT_BASE = MobileBaseSpec()


def base_pose(q_base: ArrayLike) -> Array:
    """X_WB (4, 4): pose of the base for x, y (m) and heading (rad), (3,)."""
    x, y, heading = np.asarray(q_base, dtype=np.float64)
    return transform(rotation_z(heading), (x, y, 0.0))


def link0_pose(q_base: ArrayLike, spec: MobileBaseSpec = DEFAULT_BASE) -> Array:
    """X_WA (4, 4): pose of the arm's ``panda_link0`` for the base at (x, y, heading), (3,)."""
    return base_pose(q_base) @ transform(translation=spec.p_BA)


def hand_pose(q: ArrayLike, spec: MobileBaseSpec = DEFAULT_BASE) -> Array:
    """X_WH (4, 4): pose of ``panda_hand`` for the whole robot's q (12,), or its first 10 joints."""
    q = np.asarray(q, dtype=np.float64)
    return link0_pose(q[:3], spec) @ forward(q[3:10]) @ X_FH
