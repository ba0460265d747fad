"""Saves and loads motions: ``trajectories.npz``, numbers and text without pickles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from galley.domain.errors import BadInput
from galley.domain.npz_columns import Columns
from galley.motion.motion import Attachment, Motion, Slide
from galley.motion.path import Path as JointPath
from galley.motion.trajectory.trajectory import Trajectory, read_trajectories, write_trajectories


def save_trajectories(path: Path | str, motions: tuple[Motion, ...]) -> None:
    """Write all motions atomically.

    The file has the columns of ``write_trajectories``, and:

    - ``k_waypoints`` (n, joints): the path of motion k
    - ``phase`` (m,) and ``action_index`` (m,): the purpose of each motion
    - ``hand`` (m,): the hand that acts, for a robot with several
    - ``attachment`` (a, 3): a row (motion, kind, name) for everything that moves with the hand;
      after the kind comes the name of the other hand, if the item is handed over to it
    - ``allowed`` (b, 3): a row (motion, name, name) for every pair of bodies that may touch
    - ``slide`` (c, 2): a row (motion, item) for every motion that pushes an item
    - ``k_slide`` (n + 2, 4): the slide's direction and its goal, each after a 0, then a row of way,
      x, y and yaw for each pose

    Guards and figures are not stored.
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
    """Whether a file has whole motions, with phases and attachments, not trajectories alone."""
    return "phase" in columns and "attachment" in columns


def _motions(trajectories: tuple[Trajectory, ...], columns: Columns) -> tuple[Motion, ...]:
    """The motions of a file's trajectories and columns.

    Raises:
        ValueError, KeyError: a column is missing or does not fit.
    """
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
