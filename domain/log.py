"""Log: the record of an executed run (``states.npz``), kinematic or under physics.

The validator, the video and the report read only the log and the scene. It has no pickled objects.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from galley.domain.errors import BadInput
from galley.domain.frames import Array, frozen
from galley.domain.npz_columns import read_columns, write_columns

LOG_VERSION = 3
MODES = ("kinematic", "physics", "files")
OUTSIDE = "outside"
"""Stands in contacts for an injected disturbance, which pushes but is not in the scene."""
RECOVERY = re.compile(r"(recovery|correction) (\d{1,9}): ")
"""The beginning of a motion's label in a recovery, or in the correction of a push;
``ExecutionMonitor`` numbers both together."""
CLOSE, OPEN = "close fingers", "open fingers"
"""The end of the label of a motion with which a grip by force begins, or ends."""
_NUMBERS: dict[str, tuple[int | None, ...]] = {
    **dict.fromkeys(("q", "velocity", "command", "torque", "scene_q"), (None, None)),
    **dict.fromkeys(("time", "contact_distance", "contact_force"), (None,)),
    **dict.fromkeys(("period", "duration"), ()),
    "items": (None, None, 7),
    "guards": (None,),
}
_INDICES: dict[str, tuple[int | None, ...]] = {
    **dict.fromkeys(("held", "motion", "contact_step"), (None,)),
    "contact_pair": (None, 2),
}
_TEXTS: dict[str, tuple[int | None, ...]] = {
    **dict.fromkeys(("motions", "ends", "names"), (None,)),
    "declared": (None, 3),
    "mode": (),
}


@dataclass(frozen=True)
class Log:
    """The log of a run, with T samples at intervals of ``period`` from time 0 on.

    Attributes:
        time: seconds (T,); sample k is at k * period.
        q: measured robot configurations (T, n): base, arm, fingers; m and rad.
        velocity: joint velocities (T, n), m/s and rad/s.
        command: commanded configurations (T, n), m and rad.
        torque: motor forces and torques (T, n), N and N m; NaN in a kinematic run.
        scene_q: scene joint values (T, nj), m and rad.
        items: item poses in the world (T, ni, 7): x, y, z, qx, qy, qz, qw.
        held: index of the item in the (first) hand (T,), -1 for none.
        others: the same for each of the other hands (T, h - 1).
        motion: index in ``motions`` of the current motion (T,).
        motions: label of each motion (m,), such as ``"pick sugar burner h1 | approach"``.
        declared: the contacts that each motion allows, as text rows (k, 3): motion index and two
            names. Any other contact is unexpected.
        ends: why each motion ended (m,): the guard that stopped it, or empty if it completed.
        guards: force (N) at which each motion's guard triggers (m,); NaN without a guard, and for
            motions of the fingers.
        names: names of all bodies that were in contact (b,).
        contact_step: sample index of each contact (c,).
        contact_pair: the two bodies of each contact (c, 2), as indices in ``names``.
        contact_distance: distance of each contact (c,), m; negative in penetration.
        contact_force: normal force of each contact (c,), N; NaN in a kinematic run. While an arm
            moves under a guard, it is the largest mean over 1/240 s since the previous sample.
        mode: one of ``MODES``.
        period: seconds between samples.
        duration: seconds of the whole run: the time of the last sample.
    """

    time: Array
    q: Array
    velocity: Array
    command: Array
    torque: Array
    scene_q: Array
    items: Array
    held: NDArray[np.int64]
    motion: NDArray[np.int64]
    motions: NDArray[np.str_]
    declared: NDArray[np.str_]
    ends: NDArray[np.str_]
    guards: Array
    names: NDArray[np.str_]
    contact_step: NDArray[np.int64]
    contact_pair: NDArray[np.int64]
    contact_distance: Array
    contact_force: Array
    mode: str
    period: float
    duration: float
    others: NDArray[np.int64] = field(default_factory=lambda: np.empty((0, 0), dtype=np.int64))

    @property
    def holds(self) -> NDArray[np.int64]:
        """Index of the item in each hand (T, h), -1 for none: ``held`` and ``others``."""
        return np.column_stack([self.held, self.others]) if self.others.size else self.held[:, None]

    @cached_property
    def spans(self) -> list[tuple[float, float]]:
        """Seconds at which each motion began and ended; the next begins where one ends.

        A motion shorter than ``period`` may have no sample of its own: it begins where the next
        one does.
        """
        begins = np.searchsorted(self.motion, np.arange(len(self.motions)))
        times = np.append(self.time, self.duration)
        starts = [float(times[k]) for k in begins]
        return list(zip(starts, [*starts[1:], float(self.duration)], strict=True))

    @cached_property
    def parts(self) -> dict[tuple[int, int], int]:
        """Index in ``motions`` of each motion k of part p, by (p, k).

        Part 0 is the original plan, part N the N-th recovery or correction.
        """
        indices: dict[tuple[int, int], int] = {}
        counts: dict[int, int] = {}
        for index, label in enumerate(self.motions.tolist()):
            match = RECOVERY.match(label)
            part = int(match.group(2)) if match else 0
            indices[part, counts.setdefault(part, 0)] = index
            counts[part] += 1
        return indices

    def touching(self, contact: int) -> tuple[str, str]:
        """The names of the two bodies of a contact, by the contact's index."""
        a, b = self.contact_pair[contact]
        return str(self.names[a]), str(self.names[b])

    def save(self, path: Path | str) -> None:
        """Write a compressed npz, atomically.

        Raises:
            BadInput: ``path`` can't be written.
        """
        columns = {each.name: np.asarray(getattr(self, each.name)) for each in fields(self)}
        write_columns(path, {"log_version": np.array(LOG_VERSION), **columns})

    @classmethod
    def load(cls, path: Path | str) -> Log:
        """Read what ``save`` wrote.

        Raises:
            BadInput: not a log, or a log of another version.
        """
        with read_columns(path, "is not a log of a run") as columns:
            version = int(columns.integers("log_version", ()))
            if version != LOG_VERSION:
                raise BadInput.one(path, f"is a log of version {version}, expected {LOG_VERSION}")
            values: dict[str, Any] = {
                **{n: frozen(columns.numbers(n, s, finite=False)) for n, s in _NUMBERS.items()},
                **{name: columns.integers(name, shape) for name, shape in _INDICES.items()},
                **{name: columns.texts(name, shape) for name, shape in _TEXTS.items()},
            }
            if "others" in columns:  # logs of older runs don't have it
                values["others"] = columns.integers("others", (None, None))
        values["mode"] = str(values["mode"])
        for name in ("period", "duration"):
            values[name] = float(values[name])
        return cls(**values)
