"""What an executor is: it runs Motions one by one and says what it sees after each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from galley.domain.log import Log
from galley.domain.state import State
from galley.motion.motion import Motion

LOG_PERIOD = 1.0 / 120.0  # s between a log's samples: the fastest joint moves 0.022 rad in one


@dataclass(frozen=True)
class Observation:
    """What an executor sees when a motion is over.

    Attributes:
        state: the world as seen, not as planned.
        time: seconds into the run.
        ended: why the motion ended early, in words; empty where it ran its course.
    """

    state: State
    time: float
    ended: str = ""


class Executor(Protocol):
    """Runs Motions: in a simulator, on a robot, or into files.

    ``observe`` may be called at any time. ``execute`` runs one motion to its end, or until its
    guard is met, and returns what is seen then; it moves the robot from where it is, so that a
    motion should begin there. Nothing else is promised: whether the world now is as it was planned
    is for the caller to compare.
    """

    def observe(self) -> State:
        """The world as seen now."""
        ...

    def execute(self, motion: Motion, name: str) -> Observation:
        """Run one motion; ``name`` stands in the log."""
        ...

    def wait(self, seconds: float) -> None:
        """Stand still for so long; what has just been let go comes to rest."""
        ...

    def log(self) -> Log:
        """Everything that was executed so far."""
        ...

    def close(self) -> None:
        """Release what is held (a physics client, files). The log stays available."""
        ...
