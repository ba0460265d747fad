"""The result of a simulation of the finger: motion, the sensor's reading, and the log of events."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from galley.domain.frames import Array, frozen
from galley.domain.npz_columns import write_table
from galley.planar.finger.force import Force
from galley.planar.finger.model import Finger


class Epoch(StrEnum):
    """Whether finger and object touch, and whether they move; chooses the equations of motion."""

    SEPARATE = "separate"
    STUCK = "stuck"  # touching, at rest
    PUSHING = "pushing"  # touching, in motion together


class Kind(StrEnum):
    """Kind of an event: what ends an epoch, or happens within one."""

    TOUCH = "touch"  # finger hits object
    SLIP = "slip"  # the resting object starts to move
    STOP = "stop"  # the object comes to rest
    PART = "part"  # compression has become tension: the finger leaves
    TURN = "turn"  # the finger's velocity changes sign, without an impact
    SETTLE = "settle"  # ever smaller bounces, infinitely many, have ended in contact


@dataclass(frozen=True)
class Event:
    """An entry of the log.

    Attributes:
        time: s.
        kind: what happened.
        position: of the fingertip, m.
        impulse: that the sensor feels, N s: of an impact, or of all bounces that a ``SETTLE`` sums;
            0 for other kinds.
        closing_speed: before an impact, m/s; 0 for other kinds.
    """

    time: float
    kind: Kind
    position: float
    impulse: float = 0.0
    closing_speed: float = 0.0


@dataclass(frozen=True)
class TraceSegment:
    """A part of one epoch under one smooth force, as a continuous function of time.

    Attributes:
        start, end: s.
        epoch: from start to end.
        force: applied force (N) as a function of time (s).
        sign: direction of the object's motion, -1, 0 or 1.
        steps: (n,), times of the solver's steps, s.
        motion: function from times (k,), s, to states (4, k): position (m) and velocity (m/s) of
            the finger, then of the object.
    """

    start: float
    end: float
    epoch: Epoch
    force: Force
    sign: float
    steps: Array
    motion: Any


@dataclass(frozen=True)
class TraceSamples:
    """A run at n instants.

    Attributes:
        time: (n,), s.
        finger_position: (n,), of the fingertip, m.
        finger_velocity: (n,), m/s.
        object_position: (n,), of the face that the finger can touch, m.
        object_velocity: (n,), m/s.
        applied_force: (n,), N.
        sensor_constant: (n,), N, the compression between finger and object.
        sensor_impulsive: (n,), N, the sum of J / contact_time over the impacts in the last contact
            time.
        epoch: (n,), names of the epochs.
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
_UNITS |= {"impulse": "N s", "epoch": "", "kind": ""}  # by the end of a name; others are in N


@dataclass(frozen=True)
class Trace:
    """A run from time 0.

    Attributes:
        finger: parameters of finger and object.
        end: time until which it was simulated, s.
        events: the log, in the order of time.
        segments: the motion, in the order of time, without gaps.
        fault: why and when it ended early; None if it didn't.
    """

    finger: Finger
    end: float
    events: tuple[Event, ...]
    segments: tuple[TraceSegment, ...]
    fault: str | None = None

    def order(self, *kinds: Kind) -> tuple[Kind, ...]:
        """The kinds of all events in order; of these kinds only, if any are given."""
        return tuple(event.kind for event in self.events if not kinds or event.kind in kinds)

    def impulse(self) -> float:
        """Sum of the impulses of all impacts, N s."""
        return sum(event.impulse for event in self.events)

    def at(self, times: ArrayLike) -> TraceSamples:
        """The run at ``times`` (n,) in s. At an event's time it is the state after the event.

        Raises:
            ValueError: a time is before 0 or after the end.
            Exception: a drag law, given as a function, failed; its own error.
        """
        time = np.atleast_1d(np.asarray(times, dtype=np.float64))
        bad = time[~((time >= 0.0) & (time <= self.end))]
        if len(bad):
            raise ValueError(f"time = {bad[0]:g} s: the run is from 0 to {self.end:g} s")
        motion = np.zeros((4, len(time)))
        motion[2] = self.finger.gap
        applied, constant = np.zeros((2, len(time)))
        epoch = np.full(len(time), Epoch.SEPARATE.value, dtype="<U8")
        starts = [segment.start for segment in self.segments]
        index = np.searchsorted(starts, time, side="right") - 1
        for k in np.unique(index[index >= 0]):
            rows, segment = index == k, self.segments[k]
            motion[:, rows] = segment.motion(time[rows])
            applied[rows] = [segment.force(t) for t in time[rows]]
            epoch[rows] = segment.epoch.value
            constant[rows] = self._compression(segment, applied[rows], motion[1, rows])
        x_f, v_f, x_o, v_o = (frozen(row) for row in motion)
        felt = frozen(constant), frozen(self._impulsive(time))
        return TraceSamples(frozen(time), x_f, v_f, x_o, v_o, frozen(applied), *felt, epoch)

    def samples(self, rate: float = 100.0) -> TraceSamples:
        """The run sampled at ``rate`` (Hz) from time 0, and at its end."""
        count = int(np.ceil(self.end * rate - 1e-9))
        return self.at(np.append(np.arange(count) / rate, self.end))

    def write(self, path: Path | str, rate: float) -> None:
        """Write samples at ``rate`` (Hz) as CSV.

        Columns are the fields of ``TraceSamples``, with units: ``finger_position [m]``. Numbers
        have all digits.

        Raises:
            BadInput: ``path`` can't be written.
        """
        samples = self.samples(rate)
        names = (column.name for column in fields(TraceSamples))
        write_table(path, {_header(name): getattr(samples, name) for name in names})

    def write_events(self, path: Path | str) -> None:
        """Write the log of events as CSV.

        Raises:
            BadInput: ``path`` can't be written.
        """
        table = {
            _header(column.name): [getattr(event, column.name) for event in self.events]
            for column in fields(Event)
        }
        write_table(path, table)

    def _compression(self, segment: TraceSegment, force: Array, velocity: Array) -> Any:
        """Compression (n,), N, at applied forces and velocities (n,) of a segment."""
        if segment.epoch is Epoch.SEPARATE:
            return 0.0
        if segment.epoch is Epoch.STUCK:
            return np.maximum(force, 0.0)
        compressions = [
            self.finger.compression(f, v, segment.sign)
            for f, v in zip(force.tolist(), velocity.tolist(), strict=True)
        ]
        return np.maximum(compressions, 0.0)

    def _impulsive(self, time: Array) -> Array:
        """Impulsive part (n,), N, at times (n,), s: J / dt for dt after each impact.

        The impulses of the last contact time are a difference of two cumulative sums.
        """
        dt = self.finger.contact_time
        impacts = [event for event in self.events if event.impulse]
        totals = np.concatenate([[0.0], np.cumsum([event.impulse for event in impacts])])
        until = np.searchsorted([event.time for event in impacts], time, side="right")
        since = np.searchsorted([event.time + dt for event in impacts], time, side="right")
        return np.asarray((totals[until] - totals[since]) / dt)


def _header(name: str) -> str:
    """A column's name with its unit, such as ``finger_position [m]``."""
    unit = next((unit for word, unit in _UNITS.items() if name.endswith(word)), "N")
    return f"{name} [{unit}]" if unit else name
