"""The result of a simulation: where finger and object were, what the sensor read, what happened."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from galley.domain.columns import write_table
from galley.domain.frames import Array, frozen
from galley.planar.finger.force import Force
from galley.planar.finger.model import Finger


class Epoch(StrEnum):
    """Whether finger and object touch, and move: each has its own equations of motion."""

    SEPARATE = "separate"
    STUCK = "stuck"  # touching, at rest
    PUSHING = "pushing"  # touching, in motion together


class Kind(StrEnum):
    """What an event is."""

    TOUCH = "touch"  # finger hits object
    SLIP = "slip"  # the resting object starts to move
    STOP = "stop"  # the object comes to rest
    PART = "part"  # compression has become tension: the finger leaves
    TURN = "turn"  # the finger's velocity changes sign, without an impact
    SETTLE = "settle"  # ever smaller bounces, infinitely many, have ended in contact


@dataclass(frozen=True)
class Event:
    """Something that happened.

    Attributes:
        time: s. kind: what.
        position: of the fingertip, m.
        impulse: N s, that the sensor felt: of an impact, or of all bounces that a ``SETTLE`` sums.
        closing_speed: m/s, before an impact.
    """

    time: float
    kind: Kind
    position: float
    impulse: float = 0.0
    closing_speed: float = 0.0


@dataclass(frozen=True)
class Segment:
    """A stretch of one epoch under one smooth force, in dense form.

    Attributes:
        start, end: s.
        epoch: in between.
        force: applied, N, a function of time.
        sign: of the object's velocity; 0 at rest.
        steps: (n,) s, the solver's.
        motion: maps times (k,) to (4, k): position and velocity of the finger, then of the object.
    """

    start: float
    end: float
    epoch: Epoch
    force: Force
    sign: float
    steps: Array
    motion: Any


@dataclass(frozen=True)
class Samples:
    """A run at n instants.

    Attributes:
        time: (n,) s.
        finger_position, object_position: (n,) m, of the tip and the face that it can touch.
        finger_velocity, object_velocity: (n,) m/s.
        applied_force: (n,) N.
        sensor_constant: (n,) N, the compression between finger and object.
        sensor_impulsive: (n,) N, J / contact_time of each impact in the last contact time.
        epoch: (n,) names of epochs.
    """

    time: Array
    finger_position: Array
    finger_velocity: Array
    object_position: Array
    object_velocity: Array
    applied_force: Array
    sensor_constant: Array
    sensor_impulsive: Array
    epoch: NDArray[np.str_]

    @property
    def sensor(self) -> Array:
        """(n,) N, the sensor's reading: both parts."""
        return self.sensor_constant + self.sensor_impulsive


_UNITS = {"time": "s", "position": "m", "velocity": "m/s", "closing_speed": "m/s"}
_UNITS |= {"impulse": "N s", "epoch": "", "kind": ""}  # of what ends so; all else is in N


@dataclass(frozen=True)
class Trace:
    """A run from time 0.

    Attributes:
        finger: its parameters.
        end: s, until which it was simulated.
        events: in the order of time.
        segments: the run in dense form.
        fault: why it ended early, with the time, or None.
    """

    finger: Finger
    end: float
    events: tuple[Event, ...]
    segments: tuple[Segment, ...]
    fault: str | None = None

    def order(self, *kinds: Kind) -> tuple[Kind, ...]:
        """The kinds of all events in order; of these kinds only, if any are given."""
        return tuple(each.kind for each in self.events if not kinds or each.kind in kinds)

    def impulse(self) -> float:
        """N s: the sum over all impacts."""
        return sum(each.impulse for each in self.events)

    def at(self, times: ArrayLike) -> Samples:
        """The run at ``times`` (n,) in s; at an event's time, just after it.

        Raises:
            ValueError: a time is before 0 or after the end.
            Exception: what a drag law raises there, given as a function.
        """
        time = np.atleast_1d(np.asarray(times, dtype=np.float64))
        bad = time[~((time >= 0.0) & (time <= self.end))]
        if len(bad):
            raise ValueError(f"time = {bad[0]:g} s: the run is from 0 to {self.end:g} s")
        motion = np.zeros((4, len(time)))
        motion[2] = self.finger.gap
        applied, constant = np.zeros((2, len(time)))
        epoch = np.full(len(time), Epoch.SEPARATE.value, dtype="<U8")
        starts = [each.start for each in self.segments]
        which = np.searchsorted(starts, time, side="right") - 1
        for k in np.unique(which[which >= 0]):
            rows, segment = which == k, self.segments[k]
            motion[:, rows] = segment.motion(time[rows])
            applied[rows] = [segment.force(t) for t in time[rows]]
            epoch[rows] = segment.epoch.value
            constant[rows] = self._compression(segment, applied[rows], motion[1, rows])
        x_f, v_f, x_o, v_o = (frozen(row) for row in motion)
        felt = frozen(constant), frozen(self._impulsive(time))
        return Samples(frozen(time), x_f, v_f, x_o, v_o, frozen(applied), *felt, epoch)

    def samples(self, rate: float = 100.0) -> Samples:
        """The run at ``rate`` (Hz), the end included."""
        count = int(np.ceil(self.end * rate - 1e-9))
        return self.at(np.append(np.arange(count) / rate, self.end))

    def write(self, path: Path | str, rate: float) -> None:
        """Write samples at ``rate`` (Hz) as CSV.

        Columns are the fields of ``Samples``, with units: ``finger_position [m]``. Numbers have all
        digits.

        Raises:
            BadInput: ``path`` can't be written.
        """
        samples = self.samples(rate)
        names = (each.name for each in fields(Samples))
        write_table(path, {_header(name): getattr(samples, name) for name in names})

    def write_events(self, path: Path | str) -> None:
        """Write the log of events as CSV.

        Raises:
            BadInput: ``path`` can't be written.
        """
        table = {
            _header(each.name): [getattr(event, each.name) for event in self.events]
            for each in fields(Event)
        }
        write_table(path, table)

    def _compression(self, segment: Segment, force: Array, velocity: Array) -> Any:
        if segment.epoch is Epoch.SEPARATE:
            return 0.0
        if segment.epoch is Epoch.STUCK:
            return np.maximum(force, 0.0)
        found = [
            self.finger.compression(f, v, segment.sign)
            for f, v in zip(force.tolist(), velocity.tolist(), strict=True)
        ]
        return np.maximum(found, 0.0)

    def _impulsive(self, time: Array) -> Array:
        """J / dt for dt after each impact."""
        dt = self.finger.contact_time
        struck = [each for each in self.events if each.impulse]
        totals = np.concatenate([[0.0], np.cumsum([each.impulse for each in struck])])
        until = np.searchsorted([each.time for each in struck], time, side="right")
        since = np.searchsorted([each.time + dt for each in struck], time, side="right")
        return np.asarray((totals[until] - totals[since]) / dt)


def _header(name: str) -> str:
    unit = next((unit for word, unit in _UNITS.items() if name.endswith(word)), "N")
    return f"{name} [{unit}]" if unit else name
