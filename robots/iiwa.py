"""The KUKA LBR iiwa 7 R800, from the copy of its URDF that ``pybullet_data`` ships."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from galley.domain.frames import Array
from galley.robots.files import pybullet_data_file
from galley.robots.model import RobotModel
from galley.robots.urdf_arm import MotionLimits, arm_from_urdf

# rad/s, from KUKA's data sheet of the LBR iiwa 7 R800; the URDF has 10 rad/s for every joint.
VELOCITY = tuple(float(v) for v in np.radians([98.0, 98.0, 100.0, 130.0, 140.0, 180.0, 180.0]))


def iiwa(X_WB: Array | None = None) -> RobotModel:
    """The bare arm: seven joints, with the tool frame at its flange link ``lbr_iiwa_link_7``.

    Position limits are the URDF's, which are the real arm's; KUKA publishes no limits of
    acceleration and jerk, so those are the defaults of ``urdf_arm``.

    Args:
        X_WB: where its foot stands in the world (4, 4).

    Raises:
        FileNotFoundError: pybullet_data, which has the URDF and its meshes, is not installed.
    """
    file, limits = pybullet_data_file("kuka_iiwa/model.urdf"), MotionLimits(velocity=VELOCITY)
    arm = arm_from_urdf(file, X_WB=X_WB, limits=limits, convex_parts=1)
    return replace(arm, name="iiwa", sphere_excess=(("*", 0.012),))
