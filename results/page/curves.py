"""Curves for the page: joints and their limits, tracking errors and forces.

Curves are thinned to what a screen can show, but keep their extremes: the instants at which a curve
is largest and smallest are among those shown.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from galley.domain.frames import Array
from galley.domain.log import Log
from galley.motion.motion import Motion
from galley.robots.model import JointGroup, RobotModel

_SHOWN = 90  # instants of a motion
_SHOWN_RUN = 400  # instants of a whole run
_PARTS = 80  # parts of a whole run, each of which keeps its extremes
_SEARCHED = 600  # instants of a motion at which its curves are sampled
_PAIRS = 4  # curves of force, those with the largest peaks
_ORDERS = ("position", "velocity", "acceleration", "jerk")


def motion_curves(motion: Motion, robot: RobotModel) -> dict[str, Any]:
    """A motion's joints over time as planned, with their limits.

    Returns:
        ``group``, ``joints``, ``units``, ``limits`` (for each order, for each joint: lower and
        upper), ``t`` in seconds, and for each order a list (joints) of lists (instants).
    """
    trajectory, group = motion.trajectory, robot.acting(motion.hand).group(motion.group)
    # A derivative may jump where pieces meet, so both sides are sampled.
    breaks = trajectory.breaks
    sides = np.concatenate([breaks, np.nextafter(breaks[1:], 0.0)])
    dense = np.unique(np.append(np.linspace(0.0, trajectory.duration, _SEARCHED), sides))
    values = [trajectory(dense, order) for order in range(4)]
    chosen = _chosen(np.concatenate(values, axis=1), _SHOWN)
    return {
        "group": motion.group,
        "joints": list(group.joints),
        "units": list(group.units),
        "limits": _limits(group),
        "t": _plain(dense[chosen], 4),
        **{
            name: [_plain(column) for column in curve[chosen].T]
            for name, curve in zip(_ORDERS, values, strict=True)
        },
    }


def peaks(motion: Motion, robot: RobotModel) -> list[dict[str, Any]]:
    """The range of motion and the exact peaks of the derivatives of each joint, with limits."""
    group, trajectory = robot.acting(motion.hand).group(motion.group), motion.trajectory
    low, high = trajectory.extremes()
    largest = [trajectory.peaks(order) for order in (1, 2, 3)]
    limits = (group.velocity, group.acceleration, group.jerk)
    return [
        {
            "joint": joint,
            "unit": group.units[j],
            "range": [float(low[j]), float(high[j])],
            "range_limits": [float(group.lower[j]), float(group.upper[j])],
            "peaks": [
                {"value": float(p[j]), "limit": float(limit[j]), "share": float(p[j] / limit[j])}
                for p, limit in zip(largest, limits, strict=True)
            ],
        }
        for j, joint in enumerate(group.joints)
    ]


def tracking(log: Log, robot: RobotModel, begin: float, end: float) -> dict[str, Any]:
    """Tracking error of arm and base between two times, the largest over the joints of a group.

    Returns:
        ``t`` in seconds; ``curves`` and ``peaks`` by group and unit, such as ``arm (mrad)``. Curves
        that hardly leave zero are left out; empty if none is left, as in kinematic runs.
    """
    steps = _steps(log, begin, end)
    off = np.abs(log.q[steps] - log.command[steps])
    columns: dict[str, Array] = {}
    for group in robot.groups:
        part = off[:, robot.slice(group.name)]
        for unit, name in (("rad", "mrad"), ("m", "mm")):
            of = [j for j, own in enumerate(group.units) if own == unit]
            if of:
                columns[f"{group.name} ({name})"] = 1e3 * part[:, of].max(axis=1)
    return _table(log.time[steps], columns, begin, end, log)


def forces(log: Log, begin: float, end: float) -> dict[str, Any]:
    """Normal forces (N) between two times, summed over the contacts of each pair of names.

    Only the pairs with the largest peaks; empty without forces, as in kinematic runs.
    """
    steps = _steps(log, begin, end)
    first, last = int(steps[0]), int(steps[-1]) + 1
    felt = np.isfinite(log.contact_force)
    felt &= (log.contact_step >= first) & (log.contact_step < last)
    pairs, steps_felt = log.contact_pair[felt], log.contact_step[felt] - first
    sums: dict[str, Array] = {}
    for pair in np.unique(pairs, axis=0):
        of = (pairs == pair).all(axis=1)
        name = " and ".join(sorted(str(log.names[k]) for k in pair))
        sums.setdefault(name, np.zeros(last - first))
        np.add.at(sums[name], steps_felt[of], log.contact_force[felt][of])
    largest = sorted(sums, key=lambda name: -float(sums[name].max()))[:_PAIRS]
    return _table(log.time[steps], {name: sums[name] for name in largest}, begin, end, log)


def _steps(log: Log, begin: float, end: float) -> NDArray[np.int64]:
    """Indices of the log's samples in [begin, end]; at least one."""
    first, last = np.searchsorted(log.time, (begin - 1e-9, end + 1e-9))
    first = min(int(first), len(log.time) - 1)
    return np.arange(first, max(int(last), first + 1), dtype=np.int64)


def _table(
    t: Array, columns: dict[str, Array], begin: float, end: float, log: Log
) -> dict[str, Any]:
    """Curves over ``t`` with their peaks, thinned; without those that would be flat lines."""
    columns = {name: y for name, y in columns.items() if y.max() >= 5e-3}  # mrad, mm or N
    if not columns:
        return {}
    values = np.stack(list(columns.values()), axis=1)
    long = end - begin > 0.9 * log.duration
    chosen = _chosen(values, _SHOWN_RUN if long else _SHOWN)
    return {
        "t": _plain(t[chosen], 3),
        "curves": {name: _plain(v[chosen], 2) for name, v in columns.items()},
        "peaks": {name: float(v.max()) for name, v in columns.items()},
    }


def _chosen(values: Array, count: int) -> Array:
    """Indices of rows (m, k) to draw: evenly spaced ones, and those where a column is extreme.

    In a long record every part keeps its own extremes, so that no peak is lost on the screen.
    """
    rows = np.arange(len(values))
    even = np.linspace(0, len(rows) - 1, min(count, len(rows))).astype(int)
    ends = [
        part[np.concatenate([values[part].argmax(axis=0), values[part].argmin(axis=0)])]
        for part in np.array_split(rows, min(1 if count <= _SHOWN else _PARTS, len(rows)))
    ]
    return np.unique(np.concatenate([even, *ends]))


def _limits(group: JointGroup) -> dict[str, list[list[float]]]:
    """Lower and upper limit of every joint, for position and each derivative."""
    limits = {"position": np.stack([group.lower, group.upper], axis=1)}
    for name in _ORDERS[1:]:
        most = getattr(group, name)
        limits[name] = np.stack([-most, most], axis=1)
    return {name: [_plain(row) for row in rows] for name, rows in limits.items()}


def _plain(values: Array, digits: int | None = None) -> list[float]:
    """The values rounded to ``digits`` decimals, or to four significant digits."""
    if digits is not None:
        return [round(float(v), digits) for v in values]
    return [float(f"{v:.4g}") for v in values]
