"""The mobile Panda's forward kinematics, and bounds on how far its points travel.

Frames: W the world, B the base, A ``panda_link0``, F the flange, H the hand. q (12,) is base_x,
base_y, base_heading, panda_joint1..7, both fingers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from galley.domain.frames import Array, plane_poses, transform
from galley.domain.scene.base_spec import MobileBaseSpec
from galley.robots.panda.ik import A4, A7, D3, D5, DF
from galley.robots.panda.kinematics import X_FH, forward

DEFAULT_BASE = MobileBaseSpec()

# Radii about the tool's mounting (joint 7's origin), metres. The hand is 0.204 m wide, the fingers
# end 0.1124 m beyond the hand's frame; measured on the meshes by tests/robots.
_HAND_END = DF + 0.1124
_HAND_SIDE = 0.105
_LINK_GIRTH = 0.10  # no link's mesh reaches further than this beyond its joints' axes


def link0_pose(q_base: ArrayLike, spec: MobileBaseSpec = DEFAULT_BASE) -> Array:
    """X_WA (..., 4, 4): pose of ``panda_link0`` for the base at (x, y, heading), (..., 3)."""
    return plane_poses(q_base) @ transform(translation=spec.p_BA)


def hand_pose(q: ArrayLike, spec: MobileBaseSpec = DEFAULT_BASE) -> Array:
    """X_WH (..., 4, 4) of ``panda_hand`` for the robot's q (..., 12), or its first 10 joints."""
    q = np.asarray(q, dtype=np.float64)
    return link0_pose(q[..., :3], spec) @ forward(q[..., 3:10]) @ X_FH


def arm_radii(held_reach: float = 0.0) -> Array:
    """For each joint (7,), a bound (m) on the distance from its axis of any point that it moves.

    Sums of link lengths, which hold in every configuration.

    Args:
        held_reach: farthest point of a held item from the hand frame's origin, metres; 0 if none
            is held.
    """
    tool = max(float(np.hypot(_HAND_END, _HAND_SIDE)), DF + held_reach)
    wrist = A7 + tool
    forearm = float(np.hypot(D5, A4)) + max(wrist, _LINK_GIRTH)
    shoulder = float(np.hypot(D3, A4)) + max(forearm, _LINK_GIRTH)
    side = max(_HAND_SIDE, held_reach)
    return np.array([shoulder, shoulder, A4 + forearm, forearm, wrist, wrist, side])


def travel_bound(group: str, spec: MobileBaseSpec, a: Array, b: Array, held_reach: float) -> float:
    """Bound (m) on the travel of any point of the robot or a held item between a and b (k,).

    Args:
        group: ``base``, ``arm``, ``base+arm`` or ``fingers``.
        spec: the base's measures.
        a, b: values of the group's joints (k,).
        held_reach: farthest point of a held item from the hand frame's origin, metres.
    """
    d = np.abs(np.asarray(b) - a)
    if group == "base+arm":  # a serial chain: the travels add up
        base = travel_bound("base", spec, a[:3], b[:3], held_reach)
        return base + travel_bound("arm", spec, a[3:], b[3:], held_reach)
    if group == "arm":
        return float(arm_radii(held_reach) @ d)
    if group == "base":
        # No point of the robot is further than these, horizontally, from the base's axis.
        chassis = 0.5 * float(np.hypot(spec.size[0], spec.size[1]))
        arm = float(np.hypot(*spec.p_BA[:2])) + float(arm_radii(held_reach)[0])
        return float(np.hypot(d[0], d[1]) + max(chassis, arm) * d[2])
    return float(d.max())  # fingers slide
