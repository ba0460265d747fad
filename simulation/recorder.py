"""Collects what an executor does into a Log."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from galley.domain.frames import Array, frozen
from galley.domain.log import Log
from galley.worlds.checker import Pair


@dataclass(frozen=True)
class Sample:
    """The world at one time.

    Attributes:
        q, velocity, command, torque: of the robot's joints (n,).
        scene_q: scene joint values (nj,).
        items: poses in the world (ni, 7).
        held: index of the item in the hand, or None.
    """

    q: Array
    velocity: Array
    command: Array
    torque: Array
    scene_q: Array
    items: Array
    held: int | None


@dataclass
class Recorder:
    """Growing lists of a Log's columns; ``log`` freezes them.

    Attributes:
        mode: of the Log.
        period: seconds between samples.
    """

    mode: str
    period: float
    samples: list[Sample] = field(default_factory=list)
    motion: list[int] = field(default_factory=list)
    motions: list[str] = field(default_factory=list)
    ends: list[str] = field(default_factory=list)
    declared: list[tuple[str, str, str]] = field(default_factory=list)
    names: dict[str, int] = field(default_factory=dict)
    contacts: list[tuple[int, int, int, float, float]] = field(default_factory=list)

    @property
    def time(self) -> float:
        """Seconds at the latest sample; minus one period before the first."""
        return (len(self.samples) - 1) * self.period

    def begin(self, name: str, declared: frozenset[Pair]) -> None:
        """A motion begins: its name and the pairs that may touch during it."""
        k = len(self.motions)
        self.motions.append(name)
        self.ends.append("")
        self.declared += [(str(k), a, b) for a, b in sorted(declared)]

    def ended(self, why: str) -> None:
        """The motion under way has ended, and why, if not by running its course."""
        self.ends[-1] = why

    def sample(self, sample: Sample) -> None:
        """The world one period after the sample before."""
        self.samples.append(sample)
        self.motion.append(len(self.motions) - 1)

    def contact(self, a: str, b: str, distance: float, force: float = np.nan) -> None:
        """A contact at the latest sample: distance in m, normal force in N (NaN: unknown)."""
        i, j = (self.names.setdefault(name, len(self.names)) for name in (a, b))
        self.contacts.append((len(self.samples) - 1, i, j, distance, force))

    def log(self) -> Log:
        """The Log of everything so far. At least one sample has been taken."""
        steps = np.array([c[0] for c in self.contacts], dtype=np.int64)
        pairs = np.array([c[1:3] for c in self.contacts], dtype=np.int64)
        return Log(
            time=frozen(np.arange(len(self.samples)) * self.period),
            q=frozen([s.q for s in self.samples]),
            velocity=frozen([s.velocity for s in self.samples]),
            command=frozen([s.command for s in self.samples]),
            torque=frozen([s.torque for s in self.samples]),
            scene_q=frozen([s.scene_q for s in self.samples]),
            items=frozen([s.items for s in self.samples]),
            held=np.array([-1 if s.held is None else s.held for s in self.samples], dtype=np.int64),
            motion=np.array(self.motion, dtype=np.int64),
            motions=np.array(self.motions, dtype=np.str_),
            declared=np.array(self.declared, dtype=np.str_).reshape(-1, 3),
            ends=np.array(self.ends, dtype=np.str_),
            names=np.array(list(self.names), dtype=np.str_),
            contact_step=steps,
            contact_pair=pairs.reshape(-1, 2),
            contact_distance=frozen([c[3] for c in self.contacts]),
            contact_force=frozen([c[4] for c in self.contacts]),
            mode=self.mode,
            period=self.period,
            duration=self.time,
        )
