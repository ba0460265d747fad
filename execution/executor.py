"""The executor interface: runs Motions one by one, and observes after each.

``Recorder`` records a Log.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from galley.domain.frames import Array, frozen
from galley.domain.log import Log
from galley.domain.state import State
from galley.motion.motion import Motion

LOG_PERIOD = 1.0 / 120.0  # s between samples of a log: the fastest joint moves 0.022 rad


@dataclass(frozen=True)
class Observation:
    """An observation at the end of a motion.

    Attributes:
        state: as observed, not as planned.
        time: seconds into the run.
        ended: why the motion ended early; empty if it did not.
    """

    state: State
    time: float
    ended: str = ""


class Executor(Protocol):
    """Runs Motions: in a simulator, on a robot, or into files.

    ``observe`` may be called at any time. ``execute`` runs one motion to its end or until its
    guard triggers, and returns an observation; the motion should begin where the robot is.
    Whether the world is as planned is for the caller to compare.
    """

    def observe(self) -> State:
        """The State as observed now."""

    def execute(self, motion: Motion, name: str) -> Observation:
        """Run one motion; ``name`` stands in the log."""

    def wait(self, seconds: float) -> None:
        """Stand still for so long, so that released items come to rest."""

    def log(self) -> Log:
        """Everything that was executed so far."""

    def close(self) -> None:
        """Release resources (a physics client, files). The log stays available."""


@dataclass(frozen=True)
class Sample:
    """The world at one time; or at m times in a row, with a leading axis of m.

    Attributes:
        q, velocity, command, torque: of the robot's joints (n,).
        scene_q: scene joint values (nj,).
        items: poses in the world (ni, 7).
        held: index of the item in the hand, or None; of several hands in the first.
        others: likewise of the other hands.
    """

    q: Array
    velocity: Array
    command: Array
    torque: Array
    scene_q: Array
    items: Array
    held: int | None
    others: tuple[int | None, ...] = ()


COLUMNS = ("q", "velocity", "command", "torque", "scene_q", "items")  # of a Sample and of a log


@dataclass
class Recorder:
    """Records a Log.

    Attributes:
        mode: of the Log.
        period: seconds between samples.
        on_sample: hears each sample; it may not change it.
        count: number of samples.
    """

    mode: str
    period: float
    on_sample: Callable[[Sample], None] | None = None
    count: int = 0
    blocks: list[Sample] = field(default_factory=list)
    motion: list[int] = field(default_factory=list)  # of each block
    motions: list[str] = field(default_factory=list)
    ends: list[str] = field(default_factory=list)
    guards: list[float] = field(default_factory=list)
    declared: list[tuple[str, str, str]] = field(default_factory=list)
    names: dict[str, int] = field(default_factory=dict)
    contacts: list[tuple[int, int, int, float, float]] = field(default_factory=list)

    @property
    def time(self) -> float:
        """Seconds at the latest sample; minus one period before the first."""
        return (self.count - 1) * self.period

    def begin(self, name: str, motion: Motion | None = None) -> None:
        """A motion begins; None: the robot stands still.

        A guard of the fingers bounds no force: they press on.
        """
        k = len(self.motions)
        guard = None if motion is None or motion.group == "fingers" else motion.guard
        declared = () if motion is None else sorted(motion.allowed)
        self.motions.append(name)
        self.ends.append("")
        self.guards.append(np.nan if guard is None else guard.force)
        self.declared += [(str(k), a, b) for a, b in declared]

    def stand(self) -> None:
        """The robot stands still, which needs a name if there was no motion before."""
        if not self.motions:
            self.begin("nothing to do")

    def ended(self, why: str) -> None:
        """The present motion ended early, and why."""
        self.ends[-1] = why

    def sample(self, sample: Sample) -> None:
        """The world one period after the sample before."""
        columns = {name: getattr(sample, name)[None] for name in COLUMNS}
        self.sample_many(Sample(**columns, held=sample.held, others=sample.others))

    def sample_many(self, samples: Sample) -> None:
        """The world at the m periods after the sample before."""
        self.blocks.append(samples)
        self.motion.append(len(self.motions) - 1)
        self.count += len(samples.q)
        if self.on_sample is not None:
            for row in zip(*(getattr(samples, name) for name in COLUMNS), strict=True):
                columns = dict(zip(COLUMNS, row, strict=True))
                self.on_sample(Sample(**columns, held=samples.held, others=samples.others))

    def contact(
        self, a: str, b: str, distance: float, force: float = np.nan, step: int | None = None
    ) -> None:
        """A contact at the latest sample, or at that with index ``step``.

        Args:
            distance: m. force: normal, N; NaN: unknown.
        """
        i, j = (self.names.setdefault(name, len(self.names)) for name in (a, b))
        self.contacts.append((self.count - 1 if step is None else step, i, j, distance, force))

    def log(self) -> Log:
        """The Log so far, of at least one sample."""
        sizes = [len(block.q) for block in self.blocks]
        holds = [
            [-1 if each is None else each for each in (block.held, *block.others)]
            for block in self.blocks
        ]
        held = np.repeat(np.array(holds, dtype=np.int64), sizes, axis=0)
        steps = np.array([c[0] for c in self.contacts], dtype=np.int64)
        pairs = np.array([c[1:3] for c in self.contacts], dtype=np.int64)
        return Log(
            time=frozen(np.arange(self.count) * self.period),
            **{
                name: frozen(np.concatenate([getattr(block, name) for block in self.blocks]))
                for name in COLUMNS
            },
            held=held[:, 0],
            others=held[:, 1:],
            motion=np.repeat(np.array(self.motion, dtype=np.int64), sizes),
            motions=np.array(self.motions, dtype=np.str_),
            declared=np.array(self.declared, dtype=np.str_).reshape(-1, 3),
            ends=np.array(self.ends, dtype=np.str_),
            guards=frozen(self.guards),
            names=np.array(list(self.names), dtype=np.str_),
            contact_step=steps,
            contact_pair=pairs.reshape(-1, 2),
            contact_distance=frozen([c[3] for c in self.contacts]),
            contact_force=frozen([c[4] for c in self.contacts]),
            mode=self.mode,
            period=self.period,
            duration=self.time,
        )
