"""Checks that a log is well formed, complete and of this scene."""

from __future__ import annotations

import numpy as np

from galley.domain.log import MODES, OUTSIDE, Log
from galley.domain.scene.model import Scene
from galley.robots.model import RobotModel
from galley.validation.tolerances import Tolerances
from galley.validation.verdict import Violation

_PERIODS = (1e-4, 1.0)  # s
_MOST = 1e6  # of any value, in SI units
_SHORTEST = 0.1  # length of a quaternion; what is merely not of unit length is judged
_COLUMNS = ("q", "velocity", "command", "scene_q", "items")


def check_format(scene: Scene, robot: RobotModel, log: Log) -> tuple[Violation, ...]:
    """Check shapes, types and ranges; a log that fails this can't be judged."""
    count = len(log.time)
    if count == 0:
        return (_fault(0.0, "the log is empty: time has no value"),)
    n, nj, ni = robot.size, len(scene.joints), len(scene.items)
    expected = {
        "time": (count,),
        "q": (count, n),
        "velocity": (count, n),
        "command": (count, n),
        "torque": (count, n),
        "scene_q": (count, nj),
        "items": (count, ni, 7),
        "held": (count,),
        "motion": (count,),
        "ends": (len(log.motions),),
        "guards": (len(log.motions),),
        "declared": (len(log.declared), 3),
        "contact_pair": (len(log.contact_step), 2),
        "contact_distance": (len(log.contact_step),),
        "contact_force": (len(log.contact_step),),
    }
    violations = []
    for name, shape in expected.items():
        if getattr(log, name).shape != shape:
            what = f"{name} has the shape {getattr(log, name).shape}, expected {shape}"
            violations.append(_fault(0.0, what))
    if log.mode not in MODES:
        violations.append(_fault(0.0, f"the mode is '{log.mode}', expected {', '.join(MODES)}"))
    if not _PERIODS[0] <= log.period <= _PERIODS[1]:
        what = f"the period is {log.period} s, expected {_PERIODS[0]} to {_PERIODS[1]}"
        violations.append(_fault(0.0, what))
    if not 0.0 <= log.duration <= _MOST:
        violations.append(_fault(0.0, f"the duration is {log.duration} s"))
    if (np.diff(log.time) < 0.0).any():
        violations.append(_fault(0.0, "time goes backwards"))
    if violations:
        return tuple(violations)
    forces = ("torque",) if log.mode == "physics" else ()
    for name in ("time", *_COLUMNS, *forces):
        wrong = ~np.isfinite(getattr(log, name).reshape(count, -1)).all(axis=1)
        if wrong.any():
            k = int(np.argmax(wrong))
            violations.append(
                _fault(k * log.period, f"{name} of sample {k} is not a finite number")
            )
        elif (size := np.abs(getattr(log, name)).max(initial=0.0)) > _MOST:
            violations.append(_fault(0.0, f"{name} has values up to {size:.3g}, beyond {_MOST:g}"))
    if (np.linalg.norm(log.items[:, :, 3:], axis=2) < _SHORTEST).any():
        violations.append(_fault(0.0, f"items has a quaternion shorter than {_SHORTEST}"))
    ranges = {
        "held": (log.held, -1, ni),
        "motion": (log.motion, 0, len(log.motions)),
        "contact_step": (log.contact_step, 0, count),
        "contact_pair": (log.contact_pair, 0, len(log.names)),
    }
    for name, (values, low, high) in ranges.items():
        if len(values) and (values.min() < low or values.max() >= high):
            what = f"{name} has values from {values.min()} to {values.max()}, expected {low} to"
            violations.append(_fault(0.0, f"{what} {high - 1}"))
    numbers = {str(k) for k in range(len(log.motions))}
    unknown = [row for row in log.declared if str(row[0]) not in numbers]
    if unknown:
        violations.append(_fault(0.0, f"contacts are declared for a motion '{unknown[0][0]}'"))
    if (
        log.mode == "physics"
        and not (np.isfinite(log.contact_force) & (log.contact_force >= 0)).all()
    ):
        violations.append(_fault(0.0, "a contact under physics has no force, or a pulling one"))
    bodies = {OUTSIDE, *robot.links, *(body.name for body in scene.bodies)}
    bodies |= {item.name for item in scene.items}
    unknown = sorted({str(name) for name in log.names} - bodies)
    if unknown:
        violations.append(_fault(0.0, f"contacts with '{unknown[0]}', which is not in the scene"))
    return tuple(violations)


def check_completeness(log: Log, tolerances: Tolerances) -> tuple[Violation, ...]:
    """Check for missing samples, and for motions and contacts out of order."""
    violations = []
    due = np.arange(len(log.time)) * log.period
    off = np.abs(log.time - due)
    if off.max() > tolerances.time:
        k = int(np.argmax(off > tolerances.time))
        if k == 0:
            what = f"the log begins at {log.time[0]:.4f} s instead of 0"
        else:
            what = f"sample {k} has time {log.time[k]:.4f} s instead of {due[k]:.4f} s"
        violations.append(_fault(float(due[k]), what))
    if not abs(log.time[-1] - log.duration) <= tolerances.time:
        what = f"the log ends at {log.time[-1]:.4f} s, the run at {log.duration:.4f} s"
        violations.append(_fault(float(log.time[-1]), what))
    back = np.diff(log.motion) < 0
    if back.any():
        k = int(np.argmax(back))
        violations.append(
            _fault(k * log.period, f"motion {log.motion[k + 1]} follows {log.motion[k]}")
        )
    if log.motion[-1] != len(log.motions) - 1:
        what = f"the log ends in motion {log.motion[-1]} of {len(log.motions)}"
        violations.append(_fault(float(due[-1]), what))
    if (np.diff(log.contact_step) < 0).any():
        violations.append(_fault(0.0, "contacts are not in order of time"))
    norms = np.abs(np.linalg.norm(log.items[:, :, 3:], axis=2) - 1.0)
    if norms.size and norms.max() > tolerances.quaternion:
        k = int(np.argmax((norms > tolerances.quaternion).any(axis=1)))
        what = f"a quaternion of an item in sample {k} is not of unit length"
        violations.append(_fault(float(due[k]), what))
    return tuple(violations)


def _fault(time: float, what: str) -> Violation:
    return Violation(time, what, "log")
