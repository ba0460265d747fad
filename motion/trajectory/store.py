"""Saves and loads motions: ``trajectories.npz``, numbers and text without pickles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from galley.domain.columns import Columns
from galley.domain.errors import BadInput
from galley.motion.motion import Attachment, Motion, Slide
from galley.motion.path import Path as JointPath
from galley.motion.trajectory.trajectory import Trajectory, read_trajectories, write_trajectories


def save_trajectories(path: Path | str, motions: tuple[Motion, ...]) -> None:
    """Write all motions atomically.

    For motion k, beside its trajectory (``write_trajectories``): ``k_waypoints`` (n, joints).
    ``phase`` (m,) and ``action_index`` (m,) tell its purpose. ``attachment`` (a, 3) has a row
    (motion, kind, name) for everything that moves with the hand, the kind with the name of the hand
    to which it goes over, if it does; ``hand`` (m,) which one acts, of several; ``allowed`` (b, 3)
    a row (motion, name, name) for every pair that may touch. A motion that pushes an item has a row
    (motion, item) in ``slide`` (c, 2), and ``k_slide`` (n + 2, 4) with its direction and its goal,
    then a row of way, x, y and yaw for each pose. Guards and figures are not kept.
    """
    attachments = [
        (str(k), f"{a.kind} {a.hand}".strip(), a.name)
        for k, m in enumerate(motions)
        for a in m.attachments
    ]
    allowed = [(str(k), a, b) for k, m in enumerate(motions) for a, b in sorted(m.allowed)]
    more: dict[str, Any] = {
        "phase": np.array([m.phase for m in motions], dtype=np.str_),
        "action_index": np.array([m.action_index for m in motions], dtype=np.int64),
        "hand": np.array([m.hand for m in motions], dtype=np.str_),
        "attachment": np.array(attachments, dtype=np.str_).reshape(-1, 3),
        "allowed": np.array(allowed, dtype=np.str_).reshape(-1, 3),
    }
    slides = [(str(k), m.slide.item) for k, m in enumerate(motions) if m.slide is not None]
    more["slide"] = np.array(slides, dtype=np.str_).reshape(-1, 2)
    for k, motion in enumerate(motions):
        more[f"{k}_waypoints"] = motion.path.waypoints
        if (slide := motion.slide) is not None:
            ends = np.column_stack([np.zeros(2), [slide.direction, slide.goal]])
            rows = np.column_stack([slide.way, slide.poses])
            more[f"{k}_slide"] = np.concatenate([ends, rows])
    write_trajectories(path, [motion.trajectory for motion in motions], more)


def load_motions(path: Path | str) -> tuple[Motion, ...]:
    """The motions that ``save_trajectories`` wrote, in order, without guards and figures.

    Raises:
        BadInput: no such file, another format, or a trajectory alone (``Trajectory.save``).
    """
    trajectories, columns = read_trajectories(path)
    if not has_motions(columns):
        raise BadInput.one(path, "holds a trajectory without the motion that it belongs to")
    try:
        return _motions(trajectories, columns)
    except (ValueError, KeyError) as error:
        raise BadInput.one(path, f"holds no motions ({error})") from None


def has_motions(columns: Columns) -> bool:
    """Whether a file has more than trajectories: what they are for and what the hand holds."""
    return "phase" in columns and "attachment" in columns


def _motions(trajectories: tuple[Trajectory, ...], columns: Columns) -> tuple[Motion, ...]:
    count = len(trajectories)
    phases = columns.texts("phase", (count,)).tolist()
    indices = columns.integers("action_index", (count,)).tolist()
    attachments: dict[str, list[Attachment]] = {str(k): [] for k in range(count)}
    allowed: dict[str, set[tuple[str, str]]] = {str(k): set() for k in range(count)}
    for k, kind, name in columns.texts("attachment", (None, 3)).tolist():
        attachments[k].append(Attachment(kind.partition(" ")[0], name, kind.partition(" ")[2]))
    for k, a, b in columns.texts("allowed", (None, 3)).tolist():
        allowed[k].add((a, b))
    hands = columns.texts("hand", (count,)).tolist() if "hand" in columns else [""] * count
    slides: dict[str, Slide] = {}
    if "slide" in columns:
        for k, item in columns.texts("slide", (None, 2)).tolist():
            rows = columns.numbers(f"{k}_slide", (None, 4))
            slides[k] = Slide(item, rows[0, 1:], rows[2:, 0], rows[2:, 1:], rows[1, 1:])
    return tuple(
        Motion(
            action_index=indices[k],
            phase=phases[k],
            group=trajectory.group,
            path=JointPath(trajectory.group, columns.numbers(f"{k}_waypoints")),
            trajectory=trajectory,
            attachments=tuple(attachments[str(k)]),
            allowed=frozenset(allowed[str(k)]),
            slide=slides.get(str(k)),
            hand=hands[k],
        )
        for k, trajectory in enumerate(trajectories)
    )
