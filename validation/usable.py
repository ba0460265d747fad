"""Whether a log can be judged: whole, of one length, of this scene, and made of numbers."""

from __future__ import annotations

import numpy as np

from galley.domain.log import MODES, OUTSIDE, Log
from galley.domain.scene.model import Scene
from galley.robots.model import RobotModel
from galley.validation.tolerances import Tolerances
from galley.validation.verdict import Violation

_PERIODS = (1e-4, 1.0)  # s
_FARTHEST = 1e6  # of anything here, in SI units
_COLUMNS = ("q", "velocity", "command", "scene_q", "items")


def misshapen(scene: Scene, robot: RobotModel, log: Log) -> tuple[Violation, ...]:
    """What makes a log unreadable: nothing more can be said of such a one."""
    count = len(log.time)
    if count == 0:
        return (_fault(0.0, "the log is empty"),)
    n, nj, ni = robot.size, len(scene.joints), len(scene.items)
    wanted = {
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
        "declared": (len(log.declared), 3),
        "contact_pair": (len(log.contact_step), 2),
        "contact_distance": (len(log.contact_step),),
        "contact_force": (len(log.contact_step),),
    }
    found = []
    for name, shape in wanted.items():
        if getattr(log, name).shape != shape:
            what = f"{name} has the shape {getattr(log, name).shape}, expected {shape}"
            found.append(_fault(0.0, what))
    if log.mode not in MODES:
        found.append(_fault(0.0, f"the mode is '{log.mode}', expected {', '.join(MODES)}"))
    if not _PERIODS[0] <= log.period <= _PERIODS[1]:
        what = f"the period is {log.period} s, expected {_PERIODS[0]} to {_PERIODS[1]}"
        found.append(_fault(0.0, what))
    if found:
        return tuple(found)
    forces = ("torque",) if log.mode == "physics" else ()
    for name in ("time", *_COLUMNS, *forces):
        wrong = ~np.isfinite(getattr(log, name).reshape(count, -1)).all(axis=1)
        if wrong.any():
            k = int(np.argmax(wrong))
            found.append(_fault(k * log.period, f"{name} of sample {k} is not a finite number"))
        elif (size := np.abs(getattr(log, name)).max(initial=0.0)) > _FARTHEST:
            found.append(_fault(0.0, f"{name} has values up to {size:.3g}: out of this world"))
    ranges = {
        "held": (log.held, -1, ni),
        "motion": (log.motion, 0, len(log.motions)),
        "contact_step": (log.contact_step, 0, count),
        "contact_pair": (log.contact_pair, 0, len(log.names)),
    }
    for name, (values, low, high) in ranges.items():
        if len(values) and (values.min() < low or values.max() >= high):
            what = f"{name} has values from {values.min()} to {values.max()}, expected {low} to"
            found.append(_fault(0.0, f"{what} {high - 1}"))
    motions = {str(k) for k in range(len(log.motions))}
    strange = [row for row in log.declared if str(row[0]) not in motions]
    if strange:
        found.append(_fault(0.0, f"contacts are declared for a motion '{strange[0][0]}'"))
    if (
        log.mode == "physics"
        and not (np.isfinite(log.contact_force) & (log.contact_force >= 0)).all()
    ):
        found.append(_fault(0.0, "a contact of a run in physics has no force, or one that pulls"))
    known = {OUTSIDE, *robot.links, *(body.name for body in scene.bodies)}
    known |= {item.name for item in scene.items}
    strangers = sorted({str(name) for name in log.names} - known)
    if strangers:
        found.append(_fault(0.0, f"contacts with '{strangers[0]}', which is not in the scene"))
    return tuple(found)


def incomplete(log: Log, tolerances: Tolerances) -> tuple[Violation, ...]:
    """Samples that are missing, at the start, between and at the end, and order that is broken."""
    found = []
    due = np.arange(len(log.time)) * log.period
    off = np.abs(log.time - due)
    if off.max() > tolerances.time:
        k = int(np.argmax(off > tolerances.time))
        if k == 0:
            what = f"the log begins at {log.time[0]:.4f} s instead of 0"
        else:
            what = f"sample {k} is of {log.time[k]:.4f} s instead of {due[k]:.4f} s"
        found.append(_fault(float(due[k]), what))
    if not abs(log.time[-1] - log.duration) <= tolerances.time:
        what = f"the log ends at {log.time[-1]:.4f} s, the run at {log.duration:.4f} s"
        found.append(_fault(float(log.time[-1]), what))
    back = np.diff(log.motion) < 0
    if back.any():
        k = int(np.argmax(back))
        found.append(_fault(k * log.period, f"motion {log.motion[k + 1]} follows {log.motion[k]}"))
    if log.motion[-1] != len(log.motions) - 1:
        what = f"the log ends in motion {log.motion[-1]} of {len(log.motions)}"
        found.append(_fault(float(due[-1]), what))
    if (np.diff(log.contact_step) < 0).any():
        found.append(_fault(0.0, "contacts are not in the order of time"))
    norms = np.abs(np.linalg.norm(log.items[:, :, 3:], axis=2) - 1.0)
    if norms.size and norms.max() > tolerances.quaternion:
        k = int(np.argmax((norms > tolerances.quaternion).any(axis=1)))
        what = f"a quaternion of an item in sample {k} has not the length 1"
        found.append(_fault(float(due[k]), what))
    return tuple(found)


def _fault(time: float, what: str) -> Violation:
    return Violation(time, what, "log")
