"""Readers of exported samples, for tests."""

import csv
import json
from pathlib import Path

import numpy as np

from galley.motion.trajectory.trajectory import TrajectorySamples


def read_csv(path):
    """Joint names and samples that ``write_csv`` wrote, bit for bit."""
    with open(path, newline="") as stream:
        names, *rows = csv.reader(stream)
    assert names[0] == "time [s]"
    assert len(names) % 3 == 1
    table = np.array(rows, dtype=np.float64).reshape(-1, len(names))
    joints = tuple(name.split(" position ")[0] for name in names[1::3])
    return joints, TrajectorySamples(table[:, 0], table[:, 1::3], table[:, 2::3], table[:, 3::3])


def read_ros(path):
    """Joint names and samples of a file that ``write_ros`` wrote; times to the nanosecond."""
    message = json.loads(Path(path).read_text())
    points = message["points"]
    stamps = [p["time_from_start"] for p in points]
    times = np.array([s["sec"] + s["nanosec"] / 1e9 for s in stamps])
    fields = ("positions", "velocities", "accelerations")
    q, v, a = (np.array([p[field] for p in points]) for field in fields)
    return tuple(message["joint_names"]), TrajectorySamples(times, q, v, a)
