"""The mobile Panda as planning knows it: its description with the kinematics of arm and base."""

from __future__ import annotations

from dataclasses import replace

from galley.domain.scene.base_spec import MobileBaseSpec
from galley.robots.model import RobotModel
from galley.robots.panda.description import mobile_panda_description
from galley.robots.panda.mobile_kinematics import MobilePandaKinematics


def mobile_panda(spec: MobileBaseSpec | None = None) -> RobotModel:
    """``mobile_panda_description`` of the same base, with kinematics."""
    spec = spec or MobileBaseSpec()
    return replace(mobile_panda_description(spec), kinematics=MobilePandaKinematics(spec))
