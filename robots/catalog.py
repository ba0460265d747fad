"""Which RobotModel a scene's robot is: the one place where a scene's robot is constructed."""

from __future__ import annotations

from functools import lru_cache

from galley.domain.scene.base_spec import MobileBaseSpec
from galley.domain.scene.model import RobotSpec
from galley.domain.scene.robot_file import RobotFile
from galley.robots.model import RobotModel
from galley.robots.panda.models import mobile_panda

_MODELS = {"mobile_panda": mobile_panda}


def robot_of(spec: RobotSpec) -> RobotModel:
    """The model of a scene's robot; made once for the same name or file, and base."""
    return _robot(spec.model, spec.base) if spec.file is None else _described(spec.file, spec.base)


@lru_cache(maxsize=8)
def _robot(model: str, base: MobileBaseSpec) -> RobotModel:
    return _MODELS[model](base)


@lru_cache(maxsize=8)
def _described(file: RobotFile, base: MobileBaseSpec) -> RobotModel:
    from galley.robots.assembly import described_robot

    return described_robot(file, base)
