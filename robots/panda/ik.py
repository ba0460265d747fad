"""The Panda's DH table and limits, and how its inverse kinematics follow in closed form.

Joint 7 is the free parameter.

Derivation, from the DH table below. The axes of joints 1, 2, 3 meet in the shoulder S,
those of 5 and 6 in the wrist centre W. Given the flange's pose and q7, the transforms behind joint
6 are known, and so X_A6, whose origin is W. The other joints follow:

1. Elbow: |SW| fixes q4 by the law of cosines in the triangle S, joint 4, W (two ways to bend).
2. Wrist: p_WS in frame 6, v, is known. In frame 4 it depends on q4 only; call it (a, b, 0) there.
   Joints 5 and 6 must turn one into the other, v_z = a sin q5 and
   (v_x, v_y) = Rz(-q6) (a cos q5, b): two signs of cos q5.
3. Shoulder: R_A3 = R_A6 R_36^T = Rz(q1) Ry(q2) Rz(q3), Euler angles z-y-z (two signs of q2).

Within the real limits a >= 0.022 m and b <= -0.057 m, so step 2 never degenerates. Merged branches
(arm stretched, cos q5 = 0, q2 = 0) come back once, as one representative with the lower branch id.

The steps themselves are compiled (``ik_kernel``), and offered by ``kinematics``. This file has the
constants: the DH table, the lengths that follow from it, and the limits.
"""

from __future__ import annotations

import numpy as np

from galley.domain.frames import frozen
from galley.robots.model import JointGroup

# Lengths of Franka's DH table (modified convention, after Craig), metres.
D1 = 0.333  # link0 to the shoulder, where the axes of joints 1, 2 and 3 meet
D3 = 0.316  # shoulder to the elbow, along the upper arm
A4 = 0.0825  # the elbow's sideways offset, out to joint 4's axis and back again behind it
D5 = 0.384  # elbow to the wrist centre, where the axes of joints 5 and 6 meet
A7 = 0.088  # joint 6's axis to joint 7's
DF = 0.107  # joint 7's frame to the flange

# The triangle of shoulder S, joint 4 and wrist centre W, which joint 4 bends.
UPPER = float(np.hypot(D3, A4))  # |S to joint 4|, metres
FORE = float(np.hypot(D5, A4))  # |joint 4 to W|, metres
# Angle at joint 4 between the two, at q4 = 0, measured through the side on which the arm folds.
ANGLE_AT_ZERO = 2.0 * np.pi - float(np.arctan2(D3, A4) + np.arctan2(D5, A4))

# One row a joint: a, alpha, d of the transform Rx(alpha) Tx(a) Rz(q) Tz(d) from the link before.
DH = (
    (0.0, 0.0, D1),
    (0.0, -np.pi / 2, 0.0),
    (0.0, np.pi / 2, D3),
    (A4, np.pi / 2, 0.0),
    (-A4, -np.pi / 2, D5),
    (0.0, np.pi / 2, 0.0),
    (A7, np.pi / 2, 0.0),
)


# The real arm's limits, from Franka's published table. The URDF's hard limits are wider.
LIMITS = JointGroup(
    "arm",
    tuple(f"panda_joint{k}" for k in range(1, 8)),
    ("rad",) * 7,
    lower=frozen([-2.8973, -1.7628, -2.8973, -3.0718, -2.8973, -0.0175, -2.8973]),
    upper=frozen([2.8973, 1.7628, 2.8973, -0.0698, 2.8973, 3.7525, 2.8973]),
    velocity=frozen([2.175, 2.175, 2.175, 2.175, 2.61, 2.61, 2.61]),
    acceleration=frozen([15.0, 7.5, 10.0, 12.5, 15.0, 20.0, 20.0]),
    jerk=frozen([7500.0, 3750.0, 5000.0, 6250.0, 7500.0, 10000.0, 10000.0]),
)
