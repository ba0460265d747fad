"""Log: the record of a kinematic or physics run (``states.npz``).

Validation, video and report read only the log and the scene. It holds no pickled objects.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from galley.domain.columns import read_columns, write_columns
from galley.domain.errors import BadInput
from galley.domain.frames import Array, frozen

LOG_VERSION = 3
MODES = ("kinematic", "physics", "files")
OUTSIDE = "outside"
"""Name in contacts of a pusher that is not in the scene: an injected disturbance."""
RECOVERY = re.compile(r"(recovery|correction) (\d{1,9}): ")
"""How the label of a motion begins that belongs to a recovery, or the correction of a push
(``ExecutionMonitor``); they are numbered together."""
CLOSE, OPEN = "close fingers", "open fingers"
"""Phases with which the label of a motion ends that begins to grip by force, or ends it."""
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
    """A run, sampled at T times from 0 on, ``period`` apart.

    Attributes:
        time: seconds (T,), sample k at k * period.
        q: measured robot configurations (T, n): base, arm, fingers.
        velocity: joint velocities (T, n), rad/s or m/s.
        command: commanded configurations (T, n).
        torque: motor torques and forces (T, n), N m or N; NaN in a kinematic run.
        scene_q: scene joint values (T, nj).
        items: item poses in the world (T, ni, 7): x, y, z, qx, qy, qz, qw.
        held: index of the item in the hand (T,), -1 for none; of several hands in the first.
        others: likewise of the other hands (T, h - 1).
        motion: index into ``motions`` of the current motion (T,).
        motions: a label for each motion, ``"pick sugar burner h1 | approach"`` (m,).
        declared: allowed contacts: (motion index, name, name) as text rows (k, 3).
        ends: why each motion ended (m,): the guard that stopped it, or empty if it completed.
        guards: N (m,), the contact force that each motion was to stop at; NaN where it had none,
            or only one of the fingers.
        names: everything that has been in contact (b,).
        contact_step: sample index of each contact (c,).
        contact_pair: the two in contact (c, 2), as indices into ``names``.
        contact_distance: metres (c,), negative in penetration.
        contact_force: normal force, newtons (c,); NaN in a kinematic run. While an arm
            moves under a guard, the largest mean over 1/240 s since the sample before.
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
        """What each hand holds (T, h): ``held`` and ``others``."""
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
        """Index in ``motions`` of motion k of part p. Part 0 is the plan, N the N-th recovery."""
        found: dict[tuple[int, int], int] = {}
        counts: dict[int, int] = {}
        for index, label in enumerate(self.motions.tolist()):
            match = RECOVERY.match(label)
            part = int(match.group(2)) if match else 0
            found[part, counts.setdefault(part, 0)] = index
            counts[part] += 1
        return found

    def touching(self, contact: int) -> tuple[str, str]:
        """Names of the two things in a contact, by its index."""
        a, b = self.contact_pair[contact]
        return str(self.names[a]), str(self.names[b])

    def save(self, path: Path | str) -> None:
        """Write a compressed npz, atomically.

        Raises:
            BadInput: ``path`` can't be written.
        """
        own = {each.name: np.asarray(getattr(self, each.name)) for each in fields(self)}
        write_columns(path, {"log_version": np.array(LOG_VERSION), **own})

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
            if "others" in columns:  # not of older runs
                values["others"] = columns.integers("others", (None, None))
        values["mode"] = str(values["mode"])
        for name in ("period", "duration"):
            values[name] = float(values[name])
        return cls(**values)
