"""Keeps motions on disk: ``trajectories.npz``, numbers and text only, nothing to unpickle."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from galley.domain.errors import BadInput
from galley.domain.log import UNREADABLE
from galley.motion.motion import Motion
from galley.motion.trajectory import Trajectory

STORE_VERSION = 1


def save_trajectories(path: Path, motions: tuple[Motion, ...]) -> None:
    """Write all motions' trajectories and planned waypoints; the file appears whole or not at all.

    For motion k: ``k_breaks`` (n + 1,), ``k_coefficients`` (n, d + 1, joints), ``k_waypoints``;
    ``group`` and ``phase`` (m,) name them, ``action_index`` (m,) says what they belong to.
    """
    data: dict[str, Any] = {
        "store_version": np.array(STORE_VERSION),
        "group": np.array([m.group for m in motions], dtype=np.str_),
        "phase": np.array([m.phase for m in motions], dtype=np.str_),
        "action_index": np.array([m.action_index for m in motions], dtype=np.int64),
    }
    for k, motion in enumerate(motions):
        data[f"{k}_breaks"] = motion.trajectory.breaks
        data[f"{k}_coefficients"] = motion.trajectory.coefficients
        data[f"{k}_waypoints"] = motion.path.waypoints
    partial = path.with_name(f".{path.name}.partial")
    with open(partial, "wb") as stream:
        np.savez_compressed(stream, **data)
    os.replace(partial, path)


def load_trajectories(path: Path) -> tuple[Trajectory, ...]:
    """The trajectories that ``save_trajectories`` wrote, in order.

    Raises:
        BadInput: no such file, or not one of these.
    """
    try:
        with np.load(path, allow_pickle=False) as data:
            version = int(data["store_version"])
            found = tuple(
                Trajectory(str(group), data[f"{k}_breaks"], data[f"{k}_coefficients"])
                for k, group in enumerate(data["group"])
            )
    except FileNotFoundError:
        raise BadInput.one(path, "no such file") from None
    except UNREADABLE as error:
        raise BadInput.one(path, f"holds no trajectories ({error})") from None
    if version != STORE_VERSION:
        raise BadInput.one(path, f"is of version {version}, expected {STORE_VERSION}")
    return found
