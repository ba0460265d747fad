"""Saves and loads motions: ``trajectories.npz``, numbers and text without pickles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from galley.domain.columns import told
from galley.domain.errors import BadInput
from galley.motion.motion import Attachment, Motion
from galley.motion.path import Path as JointPath
from galley.motion.trajectory.archive import Archive, read_archive, write_archive
from galley.motion.trajectory.trajectory import Trajectory


def save_trajectories(path: Path | str, motions: tuple[Motion, ...]) -> None:
    """Write all motions atomically.

    For motion k, beside its trajectory (``motion.trajectory.archive``): ``k_waypoints`` (n,
    joints). ``phase`` (m,) and ``action_index`` (m,) tell its purpose. ``attachment`` (a, 3) has
    a row (motion, kind, name) for everything that moves with the hand, ``allowed`` (b, 3) a row
    (motion, name, name) for every pair that may touch. Guards and figures are not kept.
    """
    attachments = [(str(k), a.kind, a.name) for k, m in enumerate(motions) for a in m.attachments]
    allowed = [(str(k), a, b) for k, m in enumerate(motions) for a, b in sorted(m.allowed)]
    more: dict[str, Any] = {
        "phase": np.array([m.phase for m in motions], dtype=np.str_),
        "action_index": np.array([m.action_index for m in motions], dtype=np.int64),
        "attachment": np.array(attachments, dtype=np.str_).reshape(-1, 3),
        "allowed": np.array(allowed, dtype=np.str_).reshape(-1, 3),
    }
    for k, motion in enumerate(motions):
        more[f"{k}_waypoints"] = motion.path.waypoints
    curves = [(m.trajectory.group, m.trajectory.breaks, m.trajectory.coefficients) for m in motions]
    write_archive(path, curves, more)


def load_motions(path: Path | str) -> tuple[Motion, ...]:
    """The motions that ``save_trajectories`` wrote, in order, without guards and figures.

    Raises:
        BadInput: no such file, another format, a trajectory alone (``Trajectory.save``), or version
            1, which lacks the attachments.
    """
    archive = read_archive(path)
    if archive.version < 2:
        raise BadInput.one(path, "was written by an older version and lacks what the hand holds")
    if "phase" not in archive.arrays:
        raise BadInput.one(path, "holds a trajectory without the motion that it belongs to")
    with told(path, "holds no motions"):
        return _motions(archive)


def _motions(archive: Archive) -> tuple[Motion, ...]:
    count = len(archive.curves)
    phases = archive.texts("phase", (count,)).tolist()
    indices = archive.whole("action_index", (count,)).tolist()
    attachments: list[list[Attachment]] = [[] for _ in range(count)]
    allowed: list[set[tuple[str, str]]] = [set() for _ in range(count)]
    for k, kind, name in archive.texts("attachment", (None, 3)).tolist():
        attachments[_index("attachment", k, count)].append(Attachment(kind, name))
    for k, a, b in archive.texts("allowed", (None, 3)).tolist():
        allowed[_index("allowed", k, count)].add((a, b))
    return tuple(
        Motion(
            action_index=indices[k],
            phase=phases[k],
            group=curve[0],
            path=JointPath(curve[0], archive.real(f"{k}_waypoints")),
            trajectory=Trajectory(*curve),
            attachments=tuple(attachments[k]),
            allowed=frozenset(allowed[k]),
        )
        for k, curve in enumerate(archive.curves)
    )


def _index(column: str, text: str, count: int) -> int:
    """The motion that a row belongs to."""
    index = int(text)
    if not 0 <= index < count:
        raise ValueError(f"{column} has a row for motion {text} of {count}")
    return index
