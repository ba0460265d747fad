"""Episodes of a policy for pushing, or of a demonstrator, for evaluation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from galley.learning.evaluation import EpisodeOutcome
from galley.learning.policy.policy import DiffusionPolicy, Driver, load_policy
from galley.planar.pushing.config import PushConfig
from galley.planar.pushing.demonstrators import demonstrator
from galley.planar.pushing.rollout import roll_out
from galley.planar.pushing.simulation import PushSimulation


@dataclass(frozen=True)
class PolicyRunner:
    """Runs the episode of a seed; can be pickled.

    Attributes:
        checkpoint: file of the policy.
        demonstrator: name of a demonstrator that pushes instead of the policy, or None.
        config: of the table; with ranges each seed has its own table. None: that of the training.
    """

    checkpoint: Path | str
    demonstrator: str | None = None
    config: PushConfig | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the fields only: compiled code can't be pickled."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def __call__(self, seed: int) -> EpisodeOutcome:
        """The outcome of the episode of a seed."""
        config, other = (self.config or self._trained).drawn(seed), self.demonstrator
        who = demonstrator(other, config) if other else Driver(self._policy.on(config))
        run = roll_out(PushSimulation(config), who, seed)
        seconds = getattr(who, "seconds", None) or [0.0]
        middle = float(np.median(seconds)), float(np.percentile(seconds, 95))
        end, most = float(run.coverage[-1]), float(run.coverage.max())
        return EpisodeOutcome(seed, run.success, len(run.targets), end, most, middle)

    @cached_property
    def _trained(self) -> PushConfig:
        return load_policy(self.checkpoint).config

    @cached_property
    def _policy(self) -> DiffusionPolicy:
        policy = load_policy(self.checkpoint)
        sim = PushSimulation(policy.config.drawn(0))
        Driver(policy).act(sim.random_states(np.random.default_rng(0), 1))  # compiles the network
        return policy
