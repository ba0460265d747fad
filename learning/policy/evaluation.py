"""How well a policy pushes: episodes of fixed seeds, in processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from galley.learning.policy.policy import Driver, Policy, load_policy
from galley.planar.pushing.config import PushConfig
from galley.planar.pushing.demonstrators import demonstrator
from galley.planar.pushing.rollout import roll_out
from galley.planar.pushing.simulation import Simulation
from galley.sweeps import LostJob, sweep
from galley.sweeps.intervals import wilson


@dataclass(frozen=True)
class Outcome:
    """Of one episode.

    Attributes:
        seed: of the start, and of the policy. success: whether the goal was covered.
        steps: done. coverage, largest: of the goal, at the end and in the whole episode.
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


@dataclass(frozen=True)
class PolicyRunner:
    """Runs the episode of a seed; can be pickled.

    Attributes:
        checkpoint: of the policy. demonstrator: by name, that pushes instead of it.
        config: of the table, with ranges that of the seed; None: as in the policy's training.
    """

    checkpoint: Path | str
    demonstrator: str | None = None
    config: PushConfig | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Without what is cached: compiled code isn't pickled."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def __call__(self, seed: int) -> Outcome:
        """The outcome of a seed."""
        config, other = (self.config or self._trained).drawn(seed), self.demonstrator
        who = demonstrator(other, config) if other else Driver(self._policy.on(config))
        run = roll_out(Simulation(config), who, seed)
        seconds = getattr(who, "seconds", None) or [0.0]
        middle = float(np.median(seconds)), float(np.percentile(seconds, 95))
        end, most = float(run.coverage[-1]), float(run.coverage.max())
        return Outcome(seed, run.success, len(run.targets), end, most, middle)

    @cached_property
    def _trained(self) -> PushConfig:
        return load_policy(self.checkpoint).config

    @cached_property
    def _policy(self) -> Policy:
        policy = load_policy(self.checkpoint)
        sim = Simulation(policy.config.drawn(0))
        Driver(policy).act(sim.random_states(np.random.default_rng(0), 1))  # compiles
        return policy


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
