"""The force on the finger: a number, a function of time, (time, force) pairs, or a policy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from galley.domain.frames import Array, frozen
from galley.domain.parameters import DURATION, FORCE, TIME, check, parameter

Force = Callable[[float], float]
"""Applied force (N) at a time (s)."""


@dataclass(frozen=True)
class Constant:
    """A constant force, ``value`` in N."""

    value: float

    def __call__(self, time: float) -> float:
        """The force (N) at a time (s)."""
        return self.value


@dataclass(frozen=True)
class Profile:
    """(time, force) pairs: linear between them, a jump where two have the same time.

    Before the first pair and after the last the force is constant. At the time of a jump the later
    pair counts.

    Attributes:
        times: (n,), s, in rising order; at most two may be equal.
        forces: (n,), N.

    Raises:
        ValueError: on construction, if the pairs are unsorted or not finite numbers.
    """

    times: Array
    forces: Array

    def __post_init__(self) -> None:
        for name in ("times", "forces"):
            object.__setattr__(self, name, frozen(getattr(self, name)))
        times, forces = self.times, self.forces
        if times.ndim != 1 or times.shape != forces.shape or not len(times):
            raise ValueError(
                f"a profile needs a force for each time, got {times.shape} times and "
                f"{forces.shape} forces"
            )
        for k, (time, force) in enumerate(zip(times, forces, strict=True)):
            if not (np.isfinite(time) and np.isfinite(force)):
                raise ValueError(f"profile, pair {k}: ({time}, {force}) is not finite")
            if k and time < times[k - 1]:
                raise ValueError(
                    f"profile, pair {k}: time {time} s comes after {times[k - 1]} s; sort the pairs"
                )
            if k > 1 and time == times[k - 2]:
                raise ValueError(f"profile, pair {k}: the third at time {time} s, two make a jump")

    @classmethod
    def of(cls, pairs: Any) -> Profile:
        """A profile from (time, force) pairs, in s and N.

        Raises:
            ValueError: as the class, or an entry isn't a pair of numbers.
        """
        try:
            numbers = np.array(list(pairs), dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            numbers = np.zeros(1)
        if len(numbers) and numbers.shape[1:] != (2,):
            raise ValueError(f"profile = {pairs!r}: must be (time, force) pairs")
        times, forces = numbers.reshape(-1, 2).T
        return cls(times, forces)

    def __call__(self, time: float) -> float:
        """The force (N) at a time (s)."""
        k = int(np.searchsorted(self.times, time, side="right"))
        if k == 0 or k == len(self.times):
            return float(self.forces[max(k - 1, 0)])
        t0, t1 = self.times[k - 1 : k + 1]
        f0, f1 = self.forces[k - 1 : k + 1]
        return float(f0 + (f1 - f0) * (time - t0) / (t1 - t0))

    def pieces(self, t_end: float) -> Iterator[tuple[Force, float]]:
        """Parts of the force from time 0, without kinks or jumps, each with its end (s)."""
        edges = [0.0, *(float(t) for t in np.unique(self.times) if 0.0 < t < t_end), t_end]
        for start, end in itertools.pairwise(edges):
            k = int(np.searchsorted(self.times, start, side="right"))
            value = self(start)
            if k == 0 or k == len(self.times) or self.forces[k] == self.forces[k - 1]:
                yield Constant(value), end
            else:
                slope = (self.forces[k] - self.forces[k - 1]) / (self.times[k] - self.times[k - 1])
                yield partial(_ramp, start, value, float(slope)), end


def _ramp(start: float, value: float, slope: float, time: float) -> float:
    """The force (N) at a time (s) that is ``value`` at ``start`` and changes by ``slope`` (N/s)."""
    return value + slope * (time - start)


class Sense(NamedTuple):
    """What a policy observes: the finger's own motion and its sensor, not the object.

    Attributes:
        time: s.
        position, velocity: of the fingertip, m and m/s; it starts at 0 m.
        sensor: reading (N) just before this time: the compression, and J / contact_time of each
            impact in the last contact time.
    """

    time: float
    position: float
    velocity: float
    sensor: float


@dataclass(frozen=True)
class Policy:
    """A force that is chosen during the run, from what the finger feels.

    Attributes:
        act: called with a ``Sense`` at the start of each control step; returns the force (N) of the
            step.
        period: the control step, s; at most the finger's ``contact_time``, or an impact between
            two steps would go unfelt.
    """

    act: Callable[[Sense], float]
    period: float = parameter(0.02, DURATION, "control step")

    def __post_init__(self) -> None:
        check(self)
        if not callable(self.act):
            raise ValueError(f"policy = {self.act!r}: must be a function of a Sense")


def _until(force: Force, end: float) -> Force:
    """A force without its jump at ``end`` (s): there it has the value of the instant before."""
    last = math.nextafter(end, -math.inf)
    return lambda time: force(min(time, last))


def pieces(force: Any, t_end: float, breaks: Sequence[float]) -> Iterator[tuple[Force, float]]:
    """Smooth pieces of a number, a function of time or (time, force) pairs: see ``Profile.pieces``.

    Args:
        force: one of these, in N.
        t_end: s.
        breaks: times (s) at which a function of time has jumps or kinks.

    Raises:
        ValueError: it is none of these, or malformed.
    """
    if isinstance(force, Profile):
        return force.pieces(t_end)
    if callable(force):
        try:
            edges = sorted({TIME.checked("breaks", time) for time in breaks})
        except TypeError:
            raise ValueError(f"breaks = {breaks!r}: must be times in s") from None
        ends = [*(t for t in edges if 0.0 < t < t_end), t_end]
        return iter([(_until(force, end), end) for end in ends])
    if isinstance(force, (Sequence, np.ndarray)) and not isinstance(force, str):
        return Profile.of(force).pieces(t_end)
    return iter([(Constant(FORCE.checked("force", force)), t_end)])
