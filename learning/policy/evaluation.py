"""The episodes of a policy that pushes, or of a demonstrator beside it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from galley.learning.evaluation import Outcome
from galley.learning.policy.policy import Driver, load_policy
from galley.planar.pushing.demonstrators import Demonstrator, demonstrator
from galley.planar.pushing.rollout import roll_out
from galley.planar.pushing.simulation import Simulation


@dataclass(frozen=True)
class PolicyRunner:
    """Runs the episode of a seed; can be pickled.

    Attributes:
        checkpoint: of the policy. demonstrator: by name, that pushes instead of it.
    """

    checkpoint: Path | str
    demonstrator: str | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Without what is cached: compiled code isn't pickled."""
        return PolicyRunner, (self.checkpoint, self.demonstrator)

    def __call__(self, seed: int) -> Outcome:
        """The outcome of a seed."""
        run = roll_out(self._sim, self._who, seed)
        seconds = getattr(self._who, "seconds", None) or [0.0]
        middle = float(np.median(seconds)), float(np.percentile(seconds, 95))
        end, most = float(run.coverage[-1]), float(run.coverage.max())
        return Outcome(seed, run.success, len(run.targets), end, most, middle)

    @cached_property
    def _policy(self) -> Any:
        return load_policy(self.checkpoint)

    @cached_property
    def _sim(self) -> Simulation:
        return Simulation(self._policy.config)

    @cached_property
    def _who(self) -> Demonstrator:
        if self.demonstrator is not None:
            return demonstrator(self.demonstrator, self._policy.config)
        driver = Driver(self._policy)
        driver.act(self._sim.random_states(np.random.default_rng(0), 1))  # compiles
        return driver
