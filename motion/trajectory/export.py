"""Export: trajectories as files that controllers of real arms read, written atomically.

- CSV with one row for each period: time, then position, velocity and acceleration of each joint
- JSON with the fields of ROS's ``trajectory_msgs/JointTrajectory``
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from galley.domain.files import write_atomically
from galley.domain.npz_columns import write_table
from galley.motion.trajectory.trajectory import Trajectory, TrajectorySamples
from galley.robots.model import JointGroup

CSV_RATE = 1000.0  # Hz, of many arms' control loops
ROS_RATE = 100.0  # Hz: a ROS controller interpolates between the points by quintic splines
_NANO = 1_000_000_000


def write_csv(
    path: Path | str, trajectory: Trajectory, group: JointGroup, rate: float = CSV_RATE
) -> int:
    """Write the trajectory as CSV, for a control loop that sets a state in each period.

    The header names joints and units: ``time [s]``, then for each joint ``name position [rad]``,
    ``name velocity [rad/s]``, ``name acceleration [rad/s^2]`` (m for a sliding joint). Numbers
    have all digits: reading them gives the same doubles. The last row is the exact end, at most
    one period after the row before it.

    Args:
        path: path of the file to write.
        trajectory: over ``group``.
        group: names and units of the joints.
        rate: rows per second, Hz.

    Returns:
        The number of rows, without the header.

    Raises:
        BadInput: ``path`` can't be written.
        ValueError: the trajectory is of another group, or the rate is not positive.
    """
    samples = _sampled(trajectory, group, rate)
    columns = {"time [s]": samples.times}
    for k, (joint, unit) in enumerate(zip(group.joints, group.units, strict=True)):
        columns[f"{joint} position [{unit}]"] = samples.positions[:, k]
        columns[f"{joint} velocity [{unit}/s]"] = samples.velocities[:, k]
        columns[f"{joint} acceleration [{unit}/s^2]"] = samples.accelerations[:, k]
    write_table(path, columns)
    return len(samples.times)


def ros_message(
    trajectory: Trajectory, group: JointGroup, rate: float = ROS_RATE, frame: str = ""
) -> dict[str, Any]:
    """The fields of a ``trajectory_msgs/JointTrajectory`` as plain data.

    ``header.stamp`` is 0: begin at once; ``effort`` is empty: not given. Times are whole
    nanoseconds from the start and always increase, as controllers require: of points that would
    share one only the last is kept.

    Args:
        trajectory: over ``group``.
        group: names of the joints.
        rate: points per second, Hz; the last point is the exact end.
        frame: ``header.frame_id``.

    Raises:
        ValueError: the trajectory is of another group, or the rate is not positive.
    """
    samples = _sampled(trajectory, group, rate)
    stamps = [round(t * _NANO) for t in samples.times.tolist()]
    following = [*stamps[1:], None]
    points = [
        {
            "positions": q,
            "velocities": v,
            "accelerations": a,
            "effort": [],
            "time_from_start": _duration(stamp),
        }
        for stamp, after, q, v, a in zip(
            stamps, following, *(values.tolist() for values in samples[1:]), strict=True
        )
        if stamp != after
    ]
    return {
        "header": {"stamp": _duration(0), "frame_id": frame},
        "joint_names": list(group.joints),
        "points": points,
    }


def write_ros(
    path: Path | str,
    trajectory: Trajectory,
    group: JointGroup,
    rate: float = ROS_RATE,
    frame: str = "",
) -> int:
    """Write ``ros_message`` as JSON; returns the number of points.

    Raises:
        BadInput: ``path`` can't be written.
    """
    message = ros_message(trajectory, group, rate, frame)
    write_atomically(Path(path), json.dumps(message, indent=1) + "\n")
    return len(message["points"])


def _sampled(trajectory: Trajectory, group: JointGroup, rate: float) -> TrajectorySamples:
    """The trajectory at ``rate`` samples per second and at its end.

    Raises:
        ValueError: the trajectory is of another group, or the rate is not positive.
    """
    if trajectory.group != group.name or trajectory.coefficients.shape[2] != group.size:
        raise ValueError(f"the trajectory is of group '{trajectory.group}', not '{group.name}'")
    if not (np.isfinite(rate) and rate > 0.0):
        raise ValueError(f"rate must be greater than 0, got {rate}")
    return trajectory.sampled(1.0 / rate)


def _duration(nanoseconds: int) -> dict[str, int]:
    """A time as ROS 2 writes it: whole seconds, and the rest in nanoseconds, below 1e9."""
    seconds, rest = divmod(nanoseconds, _NANO)
    return {"sec": seconds, "nanosec": rest}
