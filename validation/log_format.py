"""Checks that a log is well formed, complete, and of the given scene."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from galley.domain.log import MODES, OUTSIDE, Log
from galley.domain.scene.model import Scene
from galley.robots.model import RobotModel
from galley.validation.tolerances import Tolerances
from galley.validation.verdict import Violation

_PERIODS = (1e-4, 1.0)  # s, the shortest and the longest period
_MOST = 1e6  # largest magnitude of any value, in SI units
_UNIT = 1e-6  # deviation of a quaternion's length from 1, by rounding
_COLUMNS = ("q", "velocity", "command", "scene_q", "items")


def check_format(scene: Scene, robot: RobotModel, log: Log) -> tuple[Violation, ...]:
    """Check shapes, types and ranges. A log that fails this check can't be judged."""
    # The values of columns of a wrong shape can't be checked.
    return tuple(_shapes(scene, robot, log)) or tuple(_values(scene, robot, log))


def _shapes(scene: Scene, robot: RobotModel, log: Log) -> Iterator[Violation]:
    """The faults in the shapes of the columns, and in mode, period, duration and times."""
    count = len(log.time)
    if count == 0:
        yield _fault("the log is empty: time has no value")
        return
    n, nj, ni = robot.size, len(scene.joints), len(scene.items)
    expected = {
        **dict.fromkeys(("time", "held", "motion"), (count,)),
        **({"others": (count, len(robot.hands) - 1)} if robot.views or log.others.size else {}),
        **dict.fromkeys(("q", "velocity", "command", "torque"), (count, n)),
        "scene_q": (count, nj),
        "items": (count, ni, 7),
        **dict.fromkeys(("ends", "guards"), (len(log.motions),)),
        "declared": (len(log.declared), 3),
        "contact_pair": (len(log.contact_step), 2),
        **dict.fromkeys(("contact_distance", "contact_force"), (len(log.contact_step),)),
    }
    for name, shape in expected.items():
        if (actual := getattr(log, name).shape) != shape:
            yield _fault(f"{name} has the shape {actual}, expected {shape}")
    if log.mode not in MODES:
        yield _fault(f"the mode is '{log.mode}', expected {', '.join(MODES)}")
    if not _PERIODS[0] <= log.period <= _PERIODS[1]:
        yield _fault(f"the period is {log.period} s, expected {_PERIODS[0]} to {_PERIODS[1]}")
    if not 0.0 <= log.duration <= _MOST:
        yield _fault(f"the duration is {log.duration} s")
    if (np.diff(log.time) < 0.0).any():
        yield _fault("time goes backwards")


def _values(scene: Scene, robot: RobotModel, log: Log) -> Iterator[Violation]:
    """The faults in the values of the columns, whose shapes are right."""
    count, ni = len(log.time), len(scene.items)
    forces = ("torque",) if log.mode == "physics" else ()
    for name in ("time", *_COLUMNS, *forces):
        wrong = ~np.isfinite(getattr(log, name).reshape(count, -1)).all(axis=1)
        if wrong.any():
            k = int(np.argmax(wrong))
            yield _fault(f"{name} of sample {k} is not a finite number", k * log.period)
        elif (size := np.abs(getattr(log, name)).max(initial=0.0)) > _MOST:
            yield _fault(f"{name} has values up to {size:.3g}, beyond {_MOST:g}")
    if (np.abs(np.linalg.norm(log.items[:, :, 3:], axis=2) - 1.0) > _UNIT).any():
        yield _fault("items has a quaternion that is not of unit length")
    ranges = {
        "held": (log.held, -1, ni),
        "others": (log.others.ravel(), -1, ni),
        "motion": (log.motion, 0, len(log.motions)),
        "contact_step": (log.contact_step, 0, count),
        "contact_pair": (log.contact_pair, 0, len(log.names)),
    }
    for name, (values, low, high) in ranges.items():
        if len(values) and (values.min() < low or values.max() >= high):
            what = f"{name} has values from {values.min()} to {values.max()}, expected {low} to"
            yield _fault(f"{what} {high - 1}")
    numbers = {str(k) for k in range(len(log.motions))}
    unknown = [row for row in log.declared if str(row[0]) not in numbers]
    if unknown:
        yield _fault(f"contacts are declared for an unknown motion '{unknown[0][0]}'")
    pushing = np.isfinite(log.contact_force) & (log.contact_force >= 0)
    if log.mode == "physics" and not pushing.all():
        yield _fault("a contact under physics has no force, or a negative one")
    bodies = {OUTSIDE, *robot.links, *(body.name for body in scene.bodies)}
    bodies |= {item.name for item in scene.items}
    strange = sorted({str(name) for name in log.names} - bodies)
    if strange:
        yield _fault(f"a contact names '{strange[0]}', which is not in the scene")


def check_completeness(log: Log, tolerances: Tolerances) -> Iterator[Violation]:
    """Check for missing samples, and for motions out of order; a failure is a violation."""
    due = np.arange(len(log.time)) * log.period
    off = np.abs(log.time - due)
    if off.max() > tolerances.time:
        k = int(np.argmax(off > tolerances.time))
        yield _fault(f"sample {k} has time {log.time[k]:.4f} s instead of {due[k]:.4f} s", due[k])
    if not abs(log.time[-1] - log.duration) <= tolerances.time:
        what = f"the log ends at {log.time[-1]:.4f} s, the run at {log.duration:.4f} s"
        yield _fault(what, log.time[-1])
    back = np.diff(log.motion) < 0
    if back.any():
        k = int(np.argmax(back))
        what = f"motion {log.motion[k + 1]} follows {log.motion[k]}"
        yield _fault(what, k * log.period)
    if log.motion[-1] != len(log.motions) - 1:
        yield _fault(f"the log ends in motion {log.motion[-1]} of {len(log.motions)}", due[-1])


def _fault(what: str, time: float = 0.0) -> Violation:
    return Violation(float(time), what, "log")
