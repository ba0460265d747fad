"""What is wrong with the Motions and Manipulations that a user's skill makes, in words.

Type hints promise what these values hold, and nothing checks hints when a skill of the user's
makes one; a text where a number belongs would come to light deep inside planning.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from numbers import Real
from types import NoneType
from typing import Any

import numpy as np

from galley.domain.errors import did_you_mean
from galley.domain.frames import as_pose
from galley.domain.state import State
from galley.motion.motion import Attachment, Guard, Motion, Record
from galley.motion.path import Path
from galley.motion.trajectory.trajectory import Trajectory
from galley.skills.manipulation.manipulation import Line, Manipulation, Stroke
from galley.skills.skill import BoundAction

_Types = dict[str, type | tuple[type, ...]]
_COMMON: _Types = {
    "phase": str,
    "attachments": tuple,
    "allowed": frozenset,
    "guard": (Guard, NoneType),
}
_MOTION: _Types = {
    "action_index": int,
    "group": str,
    "path": Path,
    "trajectory": Trajectory,
    "record": Record,
}
_LINE: _Types = {"poses": np.ndarray, "state": State, "scene_q": (np.ndarray, NoneType)}


def motion_fault(motion: object, action: BoundAction, names: Collection[str]) -> str | None:
    """What is wrong with a Motion of an action, or None; ``names`` may stand in ``allowed``."""
    if not isinstance(motion, Motion):
        return kind_of(motion)
    what = _wrong_type(motion, _MOTION)
    if what is None and {motion.path.group, motion.trajectory.group} != {motion.group}:
        return f"a Motion of '{motion.group}' whose path or trajectory is of another group"
    if what is None and motion.action_index != action.index:
        return f"a Motion whose action_index is {motion.action_index}, not {action.index}"
    what = what or _common_fault(motion, names)
    return None if what is None else f"a Motion {what}"


def manipulation_fault(found: object, names: Collection[str]) -> str | None:
    """What is wrong with a Manipulation, or None; ``names`` may stand in ``allowed``."""
    if not isinstance(found, Manipulation):
        return kind_of(found)
    if not _number(found.opening, 0.0):
        return "a Manipulation whose opening is no number from 0"
    steps = found.steps
    if type(steps) is not tuple or not all(isinstance(step, Line | Stroke) for step in steps):
        return "a Manipulation whose steps are no tuple of Lines and Strokes"
    if not steps or not isinstance(steps[0], Line) or not isinstance(steps[-1], Line):
        return "a Manipulation that does not begin and end with a Line"
    for step in steps:
        what = _common_fault(step, names) or (
            _line_fault(step) if isinstance(step, Line) else _stroke_fault(step)
        )
        if what is not None:
            return f"a Manipulation with a {type(step).__name__} {what}"
    return None


def kind_of(value: object) -> str:
    """A value's type with its article: ``a list``, ``an int``; ``None`` for None."""
    if value is None:
        return "None"
    kind = type(value).__name__
    return f"{'an' if kind[0].lower() in 'aeiou' else 'a'} {kind}"


def _line_fault(line: Line) -> str | None:
    what = _wrong_type(line, _LINE)
    if what is not None:
        return what
    if line.poses.ndim != 3 or line.poses.shape[1:] != (4, 4) or len(line.poses) < 2:
        return f"whose poses have the shape {line.poses.shape}, not (n, 4, 4) with n from 2"
    if not np.issubdtype(line.poses.dtype, np.number) or not np.isfinite(line.poses).all():
        return "whose poses are no finite numbers"
    try:
        as_pose(line.poses)
    except ValueError:
        return "whose poses are no rotation matrices, or have a last row other than 0, 0, 0, 1"
    if not _number(line.speed) or line.speed <= 0.0:
        return "whose speed is no number greater than 0"
    expected = (len(line.poses), len(line.state.scene_q))
    if line.scene_q is not None and line.scene_q.shape != expected:
        return f"whose scene_q has the shape {line.scene_q.shape}, not {expected}"
    return None


def _stroke_fault(stroke: Stroke) -> str | None:
    return None if _number(stroke.opening, 0.0) else "whose opening is no number from 0"


def _common_fault(part: Motion | Line | Stroke, names: Collection[str]) -> str | None:
    """What is wrong with what Motions, Lines and Strokes have in common."""
    what = _wrong_type(part, _COMMON)
    if what is not None:
        return what
    if not all(isinstance(attachment, Attachment) for attachment in part.attachments):
        return "with attachments that are no Attachment"
    for pair in part.allowed:
        if not (
            isinstance(pair, tuple) and len(pair) == 2 and all(isinstance(n, str) for n in pair)
        ):
            return "whose allowed is not of pairs of names"
        for name in pair:
            if name not in names:
                hint = did_you_mean(name, names)
                return f"that allows '{name}' to touch, which neither scene nor robot has{hint}"
    return None


def _wrong_type(value: Any, types: _Types) -> str | None:
    for name, kinds in types.items():
        if not isinstance(getattr(value, name), kinds):
            return f"whose {name} is {kind_of(getattr(value, name))}"
    return None


def _number(value: object, least: float = -math.inf) -> bool:
    """Whether a value is a finite number, at least ``least``."""
    return isinstance(value, Real) and math.isfinite(value) and float(value) >= least
