"""Limits of grounding and search: states, seconds, memory."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import perf_counter

from galley.domain.failure import Failure, FailureKind

_MIB = 1 << 20
_CHECK_EVERY = 4096  # combinations between two checks of clock and memory
_MAX_COMBINATIONS = 5_000_000  # half a minute; their actions would fill the memory
_FIRST_FORECAST = 16_384  # combinations, half a second; then at each doubling
_FORECAST_SHARE = 4  # combinations for each fact that it looks at
_SHARE_OF_FREE = 0.8  # of the free memory, at most
_PROGRESS_S = 0.5  # between two reports of progress


@dataclass(frozen=True)
class SearchLimits:
    """Limits of grounding or a search, and a progress callback; None means no limit.

    Attributes:
        nodes: most states to expand.
        seconds: most wall time.
        memory_mib: most resident memory of the process, in MiB; by default what the process has
            now and half of the machine's, or most of the free memory if that is less.
        spent: seconds that have passed before the search.
        progress: called from time to time with the number of expanded states, or of combinations
            of objects while grounding.
    """

    nodes: int | None = None
    seconds: float | None = None
    memory_mib: float | None = field(default_factory=lambda: default_memory_mib())
    progress: Callable[[int], None] | None = field(default=None, compare=False, repr=False)
    spent: float = 0.0

    def __post_init__(self) -> None:
        for name in ("nodes", "seconds", "memory_mib"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise ValueError(f"{name} must be 0 or more, got {value}")


class SearchBudget:
    """Checks a search against its limits, with time from now; no limit on ``nodes`` is maxsize."""

    def __init__(self, limits: SearchLimits) -> None:
        self.limits = limits
        self.began = perf_counter() - limits.spent
        self.nodes = sys.maxsize if limits.nodes is None else limits.nodes
        self._next_check = 0  # expansions at which clock and memory are checked next
        self._next_progress = self.began + _PROGRESS_S

    @property
    def seconds(self) -> float:
        """Wall time since the start."""
        return perf_counter() - self.began

    def restarted(self) -> SearchBudget:
        """The budget of a restarted search: states are counted from 0, time goes on."""
        budget = SearchBudget(self.limits)
        budget.began = self.began
        return budget

    def exceeded(self, expanded: int, check_every: int = 256) -> str | None:
        """The limit that is reached, in words, or None.

        Args:
            expanded: states expanded so far; must not decrease.
            check_every: expansions between two checks of clock and memory.
        """
        if expanded >= self.nodes:
            return f"node limit of {self.nodes}"
        if expanded < self._next_check:
            return None
        self._next_check = expanded + check_every
        progress = self.limits.progress
        if progress is not None and perf_counter() >= self._next_progress:
            self._next_progress = perf_counter() + _PROGRESS_S
            progress(expanded)
        return self.out_of_time_or_memory()

    def out_of_time_or_memory(self, more_mib: float = 0.0) -> str | None:
        """The limit of time or memory that is reached now, in words, or None.

        Args:
            more_mib: memory about to be allocated.
        """
        limits = self.limits
        if limits.seconds is not None and self.seconds >= limits.seconds:
            return f"time limit of {limits.seconds:g} s"
        if limits.memory_mib is not None and resident_mib() + more_mib >= limits.memory_mib:
            return f"memory limit of {limits.memory_mib:g} MiB"
        return None

    def failure(self, reached: str, *, expanded: int, generated: int) -> Failure:
        """The failure of a search that stopped at a limit.

        Args:
            reached: the limit, such as ``"node limit of 1000"``.
            expanded: states whose successors were computed.
            generated: distinct states seen.
        """
        seconds = self.seconds
        return Failure(
            FailureKind.BUDGET,
            f"no plan found before the {reached} was reached ({expanded} "
            f"state{'' if expanded == 1 else 's'} expanded, {seconds:.1f} s); a plan may exist",
            numbers={"expanded": expanded, "generated": generated, "seconds": seconds},
        )


class LimitReached(RuntimeError):
    """Grounding stopped at a limit, which ``failure`` names."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure))
        self.failure = failure


class GroundingBudget:
    """Checks grounding against its limits, and counts combinations of objects.

    Attributes:
        forecast: takes a number of steps; tells from what is known so far how many combinations
            there are at least, and what has the most of them.
    """

    def __init__(self, limits: SearchLimits) -> None:
        self._budget = SearchBudget(replace(limits, nodes=None))
        self.restart(lambda steps: (0, ""))

    def restart(self, forecast: Callable[[int], tuple[int, str]]) -> None:
        """Counts from 0; time goes on."""
        self.forecast = forecast
        self._spent, self._next_check, self._next_forecast = 0, _CHECK_EVERY, _FIRST_FORECAST

    def spend(self) -> None:
        """Counts one combination.

        Raises:
            LimitReached: a limit is reached, or will be for certain.
        """
        self._spent += 1
        if self._spent < self._next_check:
            return
        self._next_check = self._spent + _CHECK_EVERY
        full = self._spent >= _MAX_COMBINATIONS
        foreseen, what = 0, ""
        if full or self._spent >= self._next_forecast:
            self._next_forecast = 2 * self._spent
            foreseen, what = self.forecast(self._spent // _FORECAST_SHARE)
        if full or foreseen > _MAX_COMBINATIONS:
            raise self._stopped(
                f"grounding stopped after {self._spent:,} combinations of objects, of at most "
                f"{_MAX_COMBINATIONS:,}: {what} has {foreseen:,} or more; give variables narrower "
                "types, split it into several with fewer variables, or leave out objects",
                foreseen,
            )
        reached = self._budget.exceeded(self._spent, 1)
        if reached is not None:
            raise self._stopped(
                f"grounding stopped at the {reached} after {self._spent:,} combinations of "
                "objects; a plan may exist"
            )

    def _stopped(self, message: str, foreseen: int = 0) -> LimitReached:
        numbers = {"combinations": self._spent, "seconds": self._budget.seconds}
        numbers |= {"foreseen": foreseen} if foreseen else {}
        return LimitReached(Failure(FailureKind.BUDGET, message, numbers=numbers))


def resident_mib() -> float:
    """Resident memory of this process in MiB (its peak, if the system tells only that)."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / _MIB
    except (OSError, ValueError, IndexError):
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / (_MIB if sys.platform == "darwin" else 1024)


def default_memory_mib() -> float | None:
    """See ``SearchLimits.memory_mib``; None if the system doesn't tell."""
    try:
        half = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / _MIB / 2.0
    except (OSError, ValueError):
        return None
    free = available_mib()
    return resident_mib() + (half if free is None else min(half, _SHARE_OF_FREE * free))


def available_mib() -> float | None:
    """Available memory of the machine in MiB; None if unknown."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) / 1024
    except (OSError, ValueError, IndexError):
        pass
    return None
