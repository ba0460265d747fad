"""Which RobotModel a scene's robot is: the one place where a scene's robot is constructed.

Kinematics are imported late: validation does without them.
"""

from __future__ import annotations

from functools import lru_cache

from galley.domain.scene.base_spec import MobileBaseSpec
from galley.domain.scene.model import RobotSpec
from galley.robots.model import RobotModel
from galley.robots.panda.description import mobile_panda_description

_DESCRIPTIONS = {"mobile_panda": mobile_panda_description}


def robot_of(spec: RobotSpec) -> RobotModel:
    """The model of a scene's robot; made once for the same name and base."""
    return _robot(spec.model, spec.base)


def description_of(spec: RobotSpec) -> RobotModel:
    """The same without kinematics, for who computes poses by itself."""
    return _description(spec.model, spec.base)


@lru_cache(maxsize=8)
def _robot(model: str, base: MobileBaseSpec) -> RobotModel:
    from galley.robots.panda.models import mobile_panda

    return {"mobile_panda": mobile_panda}[model](base)


@lru_cache(maxsize=8)
def _description(model: str, base: MobileBaseSpec) -> RobotModel:
    return _DESCRIPTIONS[model](base)
