"""How often a policy succeeds: episodes of fixed seeds, in processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from galley.sweeps import LostJob, sweep
from galley.sweeps.intervals import wilson


@dataclass(frozen=True)
class Outcome:
    """Of one episode.

    Attributes:
        seed: of the start, and of the policy. success: whether the goal was reached.
        steps: done.
        coverage, largest: of the goal, at the end and in the whole episode: the share that the body
            covers; in the kitchen of its facts that hold.
        latency: s, the median and the 95th percentile of the time of a prediction.
    """

    seed: int
    success: bool
    steps: int
    coverage: float
    largest: float
    latency: tuple[float, float]


@dataclass(frozen=True)
class Evaluation:
    """Of many episodes.

    Attributes:
        outcomes: by seed. lost: why, by seed, of those that raised.
    """

    outcomes: tuple[Outcome, ...]
    lost: dict[int, LostJob]

    @property
    def successes(self) -> int:
        """Episodes that succeeded."""
        return sum(each.success for each in self.outcomes)

    def record(self) -> dict[str, Any]:
        """The figures, as data of JSON; ``interval`` is Wilson's, at 95 %. Lost episodes failed."""
        episodes = len(self.outcomes) + len(self.lost)
        good = [each.steps for each in self.outcomes if each.success]
        ends = [each.coverage for each in self.outcomes] or [0.0]
        largest = [each.largest for each in self.outcomes] or [0.0]
        latency = [each.latency for each in self.outcomes if each.latency[0] > 0.0] or [(0.0, 0.0)]
        return {
            "episodes": episodes,
            "successes": self.successes,
            "interval": list(wilson(self.successes, episodes)),
            "steps": float(np.mean(good)) if good else None,
            "coverage": float(np.mean(ends)),
            "largest_coverage": float(np.mean(largest)),
            "latency_ms": 1e3 * float(np.median([a for a, _ in latency])),
            "latency_95_ms": 1e3 * float(np.median([b for _, b in latency])),
        }


def evaluate(
    run: Callable[[int], Outcome],
    seeds: Sequence[int],
    workers: int | None = None,
    engine: str = "process",
    progress: Callable[[int, int], None] | None = None,
) -> Evaluation:
    """Run the episodes of seeds; a seed's outcome, but for the latency, is the same on any worker.

    Args:
        workers, engine: as for ``sweeps.sweep``. progress: called with (done, successes).
    """
    done = good = 0

    def ended(_: int, result: Outcome | LostJob) -> None:
        nonlocal done, good
        done += 1
        good += isinstance(result, Outcome) and result.success
        if progress is not None:
            progress(done, good)

    results = sweep(run, seeds, workers, engine, ended)
    pairs = list(zip(seeds, results, strict=True))
    lost = {seed: each for seed, each in pairs if isinstance(each, LostJob)}
    return Evaluation(tuple(r for _, r in pairs if isinstance(r, Outcome)), lost)
