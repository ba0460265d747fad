"""Evaluation of a policy: episodes of fixed seeds, run in parallel processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from galley.sweeps import LostJob, sweep
from galley.sweeps.intervals import wilson


@dataclass(frozen=True)
class EpisodeOutcome:
    """The outcome of one episode.

    Attributes:
        seed: of the start and of the policy.
        success: whether the goal was reached.
        steps: number of steps.
        coverage: share of the goal at the end: the share that the body covers, or in the kitchen
            the share of its facts that hold.
        largest: largest coverage in the episode.
        latency: median and 95th percentile of the time of a prediction, s.
    """

    seed: int
    success: bool
    steps: int
    coverage: float
    largest: float
    latency: tuple[float, float]


@dataclass(frozen=True)
class PolicyEvaluation:
    """The outcomes of many episodes.

    Attributes:
        outcomes: in the order of seeds.
        lost: episodes that raised an error, by seed.
    """

    outcomes: tuple[EpisodeOutcome, ...]
    lost: dict[int, LostJob]

    @property
    def successes(self) -> int:
        """Number of episodes that succeeded."""
        return sum(outcome.success for outcome in self.outcomes)

    def record(self) -> dict[str, Any]:
        """The figures as data of JSON. Lost episodes count as failures.

        ``interval`` is Wilson's confidence interval of the success rate, at 95 %. ``steps`` are the
        mean of successful episodes.
        """
        episodes = len(self.outcomes) + len(self.lost)
        good = [one.steps for one in self.outcomes if one.success]
        ends = [one.coverage for one in self.outcomes] or [0.0]
        largest = [one.largest for one in self.outcomes] or [0.0]
        latency = [one.latency for one in self.outcomes if one.latency[0] > 0.0] or [(0.0, 0.0)]
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
    run: Callable[[int], EpisodeOutcome],
    seeds: Sequence[int],
    workers: int | None = None,
    engine: str = "process",
    progress: Callable[[int, int], None] | None = None,
) -> PolicyEvaluation:
    """Run an episode of each seed. Except for the latency, the outcome is the same on any worker.

    Args:
        run: returns the outcome of a seed; called in the workers.
        seeds: of the episodes.
        workers, engine: as for ``sweeps.sweep``.
        progress: called with (episodes done, successes).
    """
    done = good = 0

    def ended(_: int, result: EpisodeOutcome | LostJob) -> None:
        nonlocal done, good
        done += 1
        good += isinstance(result, EpisodeOutcome) and result.success
        if progress is not None:
            progress(done, good)

    results = sweep(run, seeds, workers, engine, ended)
    pairs = list(zip(seeds, results, strict=True))
    lost = {seed: result for seed, result in pairs if isinstance(result, LostJob)}
    return PolicyEvaluation(tuple(r for _, r in pairs if isinstance(r, EpisodeOutcome)), lost)
