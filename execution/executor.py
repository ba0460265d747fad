"""The executor interface: an executor runs Motions one by one and observes after each.

``Recorder`` collects samples and contacts into a Log.
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
        state: the observed State, not the planned one.
        time: seconds into the run.
        ended: why the motion ended, such as ``contact, 12 N`` or ``grip, 24 N``; empty if it ran to
            the end of its trajectory.
    """

    state: State
    time: float
    ended: str = ""


class Executor(Protocol):
    """Runs Motions: in a simulator, on a robot, or into files.

    ``observe`` may be called at any time. ``execute`` runs one motion to its end or until its
    guard triggers, and returns an observation; the motion should begin where the robot is. An
    executor doesn't know the plan: ``monitor`` compares the observation with the expected State.
    """

    def observe(self) -> State:
        """The State as observed now."""

    def execute(self, motion: Motion, name: str) -> Observation:
        """Run one motion; ``name`` is its label in the log."""

    def wait(self, seconds: float) -> None:
        """Stand still for some seconds, so that released items come to rest."""

    def log(self) -> Log:
        """The Log of the run so far."""

    def close(self) -> None:
        """Release resources (a physics client, files). The log stays available."""


@dataclass(frozen=True)
class Sample:
    """The world at one time, or at m successive times, with a leading axis of m.

    Attributes:
        q: measured robot configuration (n,), m and rad.
        velocity: joint velocities (n,), m/s and rad/s.
        command: commanded configuration (n,), m and rad.
        torque: motor forces and torques (n,), N and N m; NaN in a kinematic run.
        scene_q: scene joint values (nj,), m and rad.
        items: item poses in the world (ni, 7): x, y, z, qx, qy, qz, qw.
        held: index of the item in the (first) hand, or None.
        others: the same for each of the other hands.
    """

    q: Array
    velocity: Array
    command: Array
    torque: Array
    scene_q: Array
    items: Array
    held: int | None
    others: tuple[int | None, ...] = ()


# The arrays that a Sample and a Log share.
COLUMNS = ("q", "velocity", "command", "torque", "scene_q", "items")


@dataclass
class Recorder:
    """Records a Log: samples at a fixed period, motions and contacts. See ``Log`` for the columns.

    Attributes:
        mode: the Log's mode, one of ``domain.log.MODES``.
        period: seconds between samples.
        on_sample: called with each sample, which it may not change.
        count: number of samples.
        blocks: the samples in order; a block has a leading axis.
        motion: the index of the motion of each block.
        motions: the label of each motion.
        ends: why each motion ended; empty if it ran to the end of its trajectory.
        guards: the force (N) at which each motion's guard triggers; NaN without one.
        declared: the contacts that each motion allows: its index as text, and two names.
        names: the bodies that were in contact, each with its index in ``contacts``.
        contacts: sample index, indices of the two bodies, distance (m) and normal force (N).
    """

    mode: str
    period: float
    on_sample: Callable[[Sample], None] | None = None
    count: int = 0
    blocks: list[Sample] = field(default_factory=list)
    motion: list[int] = field(default_factory=list)
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
        """A motion with the label ``name`` begins; without ``motion`` the robot stands still."""
        k = len(self.motions)
        # The fingers' guard is no upper bound: once it triggers, they go on pressing.
        guard = None if motion is None or motion.group == "fingers" else motion.guard
        declared = () if motion is None else sorted(motion.allowed)
        self.motions.append(name)
        self.ends.append("")
        self.guards.append(np.nan if guard is None else guard.force)
        self.declared += [(str(k), a, b) for a, b in declared]

    def stand(self) -> None:
        """Label the samples to come if no motion has begun yet: every sample needs a label."""
        if not self.motions:
            self.begin("nothing to do")

    def ended(self, why: str) -> None:
        """Record why the current motion ended; an empty text if it was not stopped early."""
        self.ends[-1] = why

    def sample(self, sample: Sample) -> None:
        """Record one sample, a period after the last one."""
        columns = {name: getattr(sample, name)[None] for name in COLUMNS}
        self.sample_many(Sample(**columns, held=sample.held, others=sample.others))

    def sample_many(self, samples: Sample) -> None:
        """Record m samples, the first a period after the last one."""
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
        """Record a contact.

        Args:
            a: name of one of the two bodies.
            b: name of the other.
            distance: m, negative in penetration.
            force: normal force, N; NaN if it is unknown.
            step: index of the sample; None for the latest one.
        """
        i, j = (self.names.setdefault(name, len(self.names)) for name in (a, b))
        self.contacts.append((self.count - 1 if step is None else step, i, j, distance, force))

    def log(self) -> Log:
        """The Log so far; there must be at least one sample."""
        sizes = [len(block.q) for block in self.blocks]
        holds = [
            [-1 if item is None else item for item in (block.held, *block.others)]
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
