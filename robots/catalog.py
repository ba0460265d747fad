"""Constructs the RobotModel of a scene's robot: by a name, or from a robot file.

Kinematics are imported late: validation does without them.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from galley.domain.scene.base_spec import MobileBaseSpec
from galley.domain.scene.model import RobotSpec
from galley.domain.scene.robot_file import RobotFile
from galley.robots.model import RobotModel, with_views
from galley.robots.panda.description import mobile_panda_description

SHIPPED = {"mobile_panda": mobile_panda_description}


def robot_of(spec: RobotSpec) -> RobotModel:
    """The model of a scene's robot. Specs of the same name or file, and base, share one."""
    return _robot(spec.model, spec.file, spec.base)


def description_of(spec: RobotSpec) -> RobotModel:
    """The model of a robot without kinematics: for callers that compute poses themselves."""
    return _description(spec.model, spec.file, spec.base)


@lru_cache(maxsize=8)
def _robot(model: str, file: RobotFile | None, base: MobileBaseSpec) -> RobotModel:
    if file is not None:
        from galley.robots.chain.chain import chain_of
        from galley.robots.chain.kinematics import ChainKinematics

        models = {}
        for made, own in zip(_description(model, file, base).hands, file.arms, strict=True):
            arm, fingers = (made.group(name).joints for name in ("arm", "fingers"))
            chain = chain_of(made.urdf, arm, made.palm, fingers)
            # An arm of less than six joints is solved for the grasp centre, within a tilt of the
            # hand; others are solved for the hand.
            solved = (made.X_LT, file.spacing.tilt) if len(arm) < 6 else (np.eye(4), 0.0)
            rest, first = np.array(own.folded), made.slice("arm").start
            kinematics = ChainKinematics(chain, rest, *solved, first)
            models[own.hand] = replace(made, kinematics=kinematics)
        return with_views(models)
    from galley.robots.panda.models import mobile_panda

    return {"mobile_panda": mobile_panda}[model](base)


@lru_cache(maxsize=8)
def _description(model: str, file: RobotFile | None, base: MobileBaseSpec) -> RobotModel:
    if file is None:
        return SHIPPED[model](base)
    from galley.robots.assembly import described_robot

    return described_robot(file, base)
