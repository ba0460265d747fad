"""Where every link of the mobile Panda is, by its DH table: the peer of engines in tests."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from galley.domain.frames import Array, plane_poses, transform
from galley.domain.scene.base_spec import MobileBaseSpec
from galley.robots.panda.kinematics import FINGER_HEIGHT, X_FH, link_frames
from galley.robots.panda.mobile import DEFAULT_BASE, link0_pose


def link_poses(q: ArrayLike, spec: MobileBaseSpec = DEFAULT_BASE) -> dict[str, Array]:
    """X_WL (4, 4) of every link with collision geometry, by name, for q (12,)."""
    q = np.asarray(q, dtype=np.float64)
    x, y, _ = spec.p_BA
    X_WB, X_WA = plane_poses(q[:3]), link0_pose(q[:3], spec)
    poses = {
        "chassis": X_WB,
        "column": X_WB @ transform(translation=(x, y, spec.size[2])),
    }
    frames = X_WA @ link_frames(q[3:10])  # (9, 4, 4)
    poses |= {f"panda_link{k}": frames[k] for k in range(8)}
    X_WH = frames[8] @ X_FH
    poses["panda_hand"] = X_WH
    for name, slide in (("panda_leftfinger", q[10]), ("panda_rightfinger", -q[11])):
        poses[name] = X_WH @ transform(translation=(0.0, slide, FINGER_HEIGHT))
    return poses
