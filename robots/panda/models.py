"""The mobile Panda for planning: its description, with the kinematics of arm and base."""

from __future__ import annotations

from dataclasses import replace

from galley.domain.scene.base_spec import MobileBaseSpec
from galley.robots.model import RobotModel
from galley.robots.panda.description import mobile_panda_description
from galley.robots.panda.mobile_kinematics import MobilePandaKinematics


def mobile_panda(spec: MobileBaseSpec | None = None) -> RobotModel:
    """The mobile robot with kinematics: q (12,) is base (3), arm (7) and fingers (2).

    Args:
        spec: the base's measures and limits; default: the kitchen's robot.

    Raises:
        FileNotFoundError: pybullet_data, which has the Panda's meshes, is not installed.
    """
    spec = spec or MobileBaseSpec()
    return replace(mobile_panda_description(spec), kinematics=MobilePandaKinematics(spec))
