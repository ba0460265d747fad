"""Limits on grounding and search: expanded states, time and memory."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import fsum
from time import perf_counter
from typing import NoReturn

from galley.domain.failure import Failure, FailureError, FailureKind
from galley.planning.operators import COST_DECIMALS, Operator, Plan

_MIB = 1 << 20
_CHECK_EVERY = 4096  # combinations of objects between two checks of clock and memory
_MAX_COMBINATIONS = 1_000_000  # of objects, tried in grounding: ten seconds, some 1 GB of actions
_PROGRESS_S = 0.5  # s between two reports of progress


@dataclass(frozen=True)
class SearchLimits:
    """Limits on grounding or a search, and a progress callback; None means no limit.

    Attributes:
        nodes: most states to expand.
        seconds: most wall time, s.
        memory_mib: most resident memory of the process, MiB; by default half of the machine's
            memory more than the process has now.
        progress: called from time to time with the number of expanded states, or, in grounding, of
            combinations of objects.
        spent: seconds spent before the search, which count towards ``seconds``.

    Raises:
        ValueError: a limit is below 0.
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
    """Checks a search against its limits; the time runs from when the budget is made.

    Attributes:
        limits: the limits.
        began: start of the time, in seconds of ``perf_counter``.
        nodes: most states to expand; ``sys.maxsize`` for no limit.
    """

    def __init__(self, limits: SearchLimits) -> None:
        self.limits = limits
        self.began = perf_counter() - limits.spent
        self.nodes = sys.maxsize if limits.nodes is None else limits.nodes
        self._next_check = 0  # expansions at which clock and memory are checked next
        self._next_progress = self.began + _PROGRESS_S

    @property
    def seconds(self) -> float:
        """Wall time since the start, with the time spent before it, in seconds."""
        return perf_counter() - self.began

    def exceeded(self, expanded: int, check_every: int = 256) -> str | None:
        """The limit that is reached, such as ``node limit of 1000``; None within all limits.

        Args:
            expanded: states expanded so far; must not decrease.
            check_every: expansions between two checks of clock and memory.
        """
        if expanded >= self.nodes:
            return f"node limit of {self.nodes}"
        if expanded < self._next_check:
            return None
        # Clock and memory take far longer to read than a state takes to expand.
        self._next_check = expanded + check_every
        progress = self.limits.progress
        if progress is not None and perf_counter() >= self._next_progress:
            self._next_progress = perf_counter() + _PROGRESS_S
            progress(expanded)
        limits = self.limits
        if limits.seconds is not None and self.seconds >= limits.seconds:
            return f"time limit of {limits.seconds:g} s"
        if limits.memory_mib is not None and resident_mib() >= limits.memory_mib:
            return f"memory limit of {limits.memory_mib:g} MiB"
        return None

    def plan(self, operators: Sequence[Operator], *, expanded: int, generated: int) -> Plan:
        """The Plan of ``operators`` in order, with the search's figures.

        Args:
            operators: the plan's operators.
            expanded: states whose successors were computed.
            generated: distinct states seen.
        """
        actions = tuple(operator.action for operator in operators)
        cost = round(fsum(operator.cost for operator in operators), COST_DECIMALS)
        return Plan(actions, cost, expanded, generated, self.seconds)

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


class LimitReached(FailureError):
    """Grounding stopped at a limit, which ``failure`` names."""


class GroundingBudget:
    """Checks grounding against its limits, and counts the combinations of objects that it tries.

    Attributes:
        what: the action or goal that is being grounded, for the message of a failure.
    """

    def __init__(self, limits: SearchLimits, most: int | None = None) -> None:
        """Allows ``most`` combinations; by default as many as fit in time and memory."""
        self._budget = SearchBudget(replace(limits, nodes=None))
        self._most = _MAX_COMBINATIONS if most is None else most
        self._spent = 0
        self._shares: Counter[str] = Counter()  # of ``_spent``, roughly
        self.what = ""

    def spend(self) -> None:
        """Counts one combination.

        Raises:
            LimitReached: a limit is reached.
        """
        self._spent += 1
        if self._spent % _CHECK_EVERY:
            return
        self._shares[self.what] += _CHECK_EVERY
        self.foresee(1)
        reached = self._budget.exceeded(self._spent, 1)
        if reached is not None:
            self._stop(
                f"grounding stopped at the {reached} after {self._spent:,} combinations of "
                "objects; a plan may exist",
                self._spent,
            )

    def foresee(self, count: int) -> None:
        """Announces ``count`` more combinations, so that too many are refused before any is tried.

        Raises:
            LimitReached: they are too many.
        """
        needed = self._spent + count
        if needed > self._most:
            self._shares[self.what] += count
            self._stop(
                f"grounding needs {needed:,} combinations of objects or more, most of them of "
                f"{self._shares.most_common(1)[0][0]}; give variables narrower types, split it "
                "into several with fewer variables, or leave out objects",
                needed,
            )

    def _stop(self, message: str, combinations: int) -> NoReturn:
        """Raises LimitReached with a Failure of these figures."""
        numbers = {"combinations": combinations, "seconds": self._budget.seconds}
        raise LimitReached(Failure(FailureKind.BUDGET, message, numbers=numbers))


def resident_mib() -> float:
    """Resident memory of this process, MiB; the peak on systems without ``/proc``."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / _MIB
    except OSError:
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / (_MIB if sys.platform == "darwin" else 1024)


def default_memory_mib() -> float:
    """The default limit (MiB): half of the machine's memory more than the process has now."""
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / _MIB
    return resident_mib() + machine / 2
