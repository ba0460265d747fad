"""Limits of grounding and search: states, seconds, memory."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter

from galley.domain.failure import Failure, FailureKind

_MIB = 1 << 20
_LOOK_EVERY = 4096  # combinations between two looks at clock and memory
_MOST_COMBINATIONS = 5_000_000  # half a minute; their actions would fill the memory
_WORD_S = 0.5  # between two reports of progress


@dataclass(frozen=True)
class SearchLimits:
    """When a search gives up, and who hears how far it is; None is no limit.

    Attributes:
        nodes: states that may be expanded.
        seconds: wall time that a search may take.
        memory_mib: resident memory that the process may have, in MiB.
        spent: seconds that went by already.
        progress: called now and then with the number of states expanded so far.
    """

    nodes: int | None = None
    seconds: float | None = None
    memory_mib: float | None = None
    progress: Callable[[int], None] | None = field(default=None, compare=False, repr=False)
    spent: float = 0.0

    def __post_init__(self) -> None:
        for name in ("nodes", "seconds", "memory_mib"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise ValueError(f"{name} must be 0 or more, got {value}")


class Meter:
    """Holds one search against its limits, from now on; ``nodes`` is ``sys.maxsize`` for none."""

    def __init__(self, limits: SearchLimits) -> None:
        self.limits = limits
        self.began = perf_counter() - limits.spent
        self.nodes = sys.maxsize if limits.nodes is None else limits.nodes
        self._next_look = 0  # expansions at which clock and memory are read again
        self._next_word = self.began + _WORD_S

    @property
    def seconds(self) -> float:
        """Wall time since the start."""
        return perf_counter() - self.began

    def restarted(self) -> Meter:
        """The same for a search that begins anew: states count from 0 again, time goes on."""
        meter = Meter(self.limits)
        meter.began = self.began
        return meter

    def exceeded(self, expanded: int, look_every: int = 256) -> str | None:
        """The limit that is reached once ``expanded`` states are expanded, in words.

        Args:
            expanded: states expanded so far; must not fall.
            look_every: expansions between two looks at clock and memory.
        """
        if expanded >= self.nodes:
            return f"node limit of {self.nodes}"
        if expanded < self._next_look:
            return None
        self._next_look = expanded + look_every
        progress = self.limits.progress
        if progress is not None and perf_counter() >= self._next_word:
            self._next_word = perf_counter() + _WORD_S
            progress(expanded)
        return self.out_of_time_or_memory()

    def out_of_time_or_memory(self, more_mib: float = 0.0) -> str | None:
        """The same for clock and memory alone, read now.

        Args:
            more_mib: memory that is about to be taken.
        """
        limits = self.limits
        if limits.seconds is not None and self.seconds >= limits.seconds:
            return f"time limit of {limits.seconds:g} s"
        if limits.memory_mib is not None and resident_mib() + more_mib >= limits.memory_mib:
            return f"memory limit of {limits.memory_mib:g} MiB"
        return None

    def failure(self, reached: str, *, expanded: int, generated: int) -> Failure:
        """The failure of a search that stopped at a limit: an honest "don't know".

        Args:
            reached: which limit, such as ``"node limit of 1000"``.
            expanded: states whose successors were computed.
            generated: distinct states seen.
        """
        seconds = self.seconds
        return Failure(
            FailureKind.BUDGET,
            f"no plan found before the {reached} was reached ({expanded} "
            f"state{'' if expanded == 1 else 's'} expanded, {seconds:.1f} s); there may be one "
            "beyond",
            numbers={"expanded": expanded, "generated": generated, "seconds": seconds},
        )


class LimitReached(RuntimeError):
    """Grounding has stopped at a limit; ``failure`` says at which."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure))
        self.failure = failure


class Allowance:
    """Holds grounding against limits: combinations of objects are counted, whatever for."""

    def __init__(self, limits: SearchLimits) -> None:
        self._meter = Meter(limits)
        self._spent = 0
        self._next_look = _LOOK_EVERY

    def spend(self) -> None:
        """Counts one combination.

        Raises:
            LimitReached: a limit is reached.
        """
        self._spent += 1
        if self._spent < self._next_look:
            return
        self._next_look = self._spent + _LOOK_EVERY
        reached = self._meter.out_of_time_or_memory()
        if self._spent >= _MOST_COMBINATIONS:
            reached = f"limit of {_MOST_COMBINATIONS:,} combinations of objects"
        if reached is not None:
            raise LimitReached(
                Failure(
                    FailureKind.BUDGET,
                    f"grounding stopped at the {reached}, before the search began; actions and "
                    "quantifiers with many parameters have too many instances",
                    numbers={"combinations": self._spent, "seconds": self._meter.seconds},
                )
            )


def resident_mib() -> float:
    """Memory that this process holds now, in MiB (its peak where the system doesn't say more)."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / _MIB
    except (OSError, ValueError, IndexError):
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / (_MIB if sys.platform == "darwin" else 1024)


def available_mib() -> float | None:
    """Memory that the machine could still give out, in MiB; None where that isn't known."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) / 1024
    except (OSError, ValueError, IndexError):
        pass
    return None
