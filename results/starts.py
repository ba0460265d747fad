"""Which motion of the log is which motion of the report, and when each ran."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from galley.domain.log import Log

RECOVERY = re.compile(r"recovery (\d{1,9}): ")


def spans(log: Log) -> list[tuple[float, float]]:
    """Seconds at which each motion began and ended; the next begins where one ends.

    A motion shorter than the log's period may have no sample of its own: it begins where the next
    one does.
    """
    begins = np.searchsorted(log.motion, np.arange(len(log.motions)))
    times = np.append(log.time, log.duration)
    starts = [float(times[k]) for k in begins]
    return list(zip(starts, [*starts[1:], float(log.duration)], strict=True))


def parts_of(labels: Sequence[str]) -> dict[tuple[int, int], int]:
    """Index in the log of motion k of part p, by the labels that ``ExecutionMonitor`` gave.

    Part 0 is the plan, part N the N-th recovery.
    """
    found: dict[tuple[int, int], int] = {}
    counts: dict[int, int] = {}
    for index, label in enumerate(labels):
        match = RECOVERY.match(label)
        part = int(match.group(1)) if match else 0
        found[part, counts.setdefault(part, 0)] = index
        counts[part] += 1
    return found
