"""A trained policy: targets of the pusher from observations, and its checkpoint."""

from __future__ import annotations

from collections import deque
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from galley.domain.errors import BadInput
from galley.domain.frames import Array
from galley.learning.checkpoints import (
    filled_by_name,
    named_arrays,
    read_checkpoint,
    reproducible,
    whole,
    write_checkpoint,
)
from galley.learning.policy.design import Design
from galley.learning.policy.diffusion import cosine_schedule, ddim, sampling_levels
from galley.learning.policy.network import EMBEDDED, UNet
from galley.learning.policy.views import Views
from galley.learning.policy.windows import Scale
from galley.planar.pushing.config import PushConfig, config_of_record, config_record
from galley.planar.pushing.simulation import PushState

FORMAT = 1  # version of a checkpoint's format
COMMAND = "galley push train"
ACTION = 2  # numbers of a target


@dataclass(eq=False)
class DiffusionPolicy:
    """A policy for pushing: ``reset`` begins an episode, ``act`` returns the pusher's next target.

    Attributes:
        config: the table: that of the training, or another one set by ``on``.
        design: observations and horizons.
        scale: maps features and targets to the network's numbers and back.
        network: the network, with the moving average of the weights.
        history: settings, digest of the data, and losses of the training.
        plans: number of predictions in this episode.
        stages: (k, prediction_horizon, 2), the last prediction from noise to targets, in the world,
            m.
    """

    config: PushConfig
    design: Design
    scale: Scale
    network: UNet
    history: dict[str, Any] = field(default_factory=dict)
    plans: int = field(init=False)
    stages: Array = field(init=False)

    def __post_init__(self) -> None:
        self._sample = reproducible(partial(denoised, design=self.design))
        self.on(self.config)

    def on(self, config: PushConfig) -> DiffusionPolicy:
        """Set another table and begin an episode; returns the policy itself."""
        self.config, self._views = config, Views(config, self.design)
        self.reset(0)
        return self

    def reset(self, seed: int = 0) -> None:
        """Begin an episode; its random numbers come from the seed alone."""
        self._seen: deque[Array] = deque(maxlen=self.design.observation_horizon)
        self._left: list[Array] = []
        self._key, self.plans = jax.random.key(seed), 0
        self.stages = np.empty((0, self.design.prediction_horizon, ACTION))

    def act(self, observation: ArrayLike) -> Array:
        """The next target (2,), m, on the table.

        Args:
            observation: of ``galley/Push-v0``, of the kind that the design has.

        Raises:
            ValueError: the observation has the wrong shape or isn't finite.
        """
        seen = np.asarray(observation, dtype=np.float64)
        if seen.shape != (self._views.size,) or not np.isfinite(seen).all():
            kind, size = self.design.observation, self._views.size
            raise ValueError(
                f"observation = {seen.tolist()}: must be {size} finite numbers, {kind}"
            )
        self._seen.append(seen)
        # Predict only once the last prediction's actions are used up.
        if not self._left:
            self._plan()
        target: Array = self._left.pop(0)
        return target

    def _plan(self) -> None:
        """Predict from the last observations, and set the next ``action_horizon`` targets."""
        # At the beginning the first observation stands for the missing ones, as in training.
        missing = self.design.observation_horizon - len(self._seen)
        seen = np.array([*[self._seen[0]] * missing, *self._seen])
        features, frame = self._views.features(seen[None])
        key = jax.random.fold_in(self._key, self.plans)
        numbers = self._sample(self.network, self.scale.features(features)[0], key)
        stages = self.scale.metres(np.asarray(numbers))
        self.stages = self._views.placed(stages, np.repeat(frame, len(stages), axis=0))
        self.plans += 1
        # The first predicted action belongs to the first observation, which is in the past.
        first = self.design.observation_horizon - 1
        targets = self.stages[-1, first : first + self.design.action_horizon]
        self._left = list(np.clip(targets, 0.0, (self.config.width, self.config.height)))

    def observed(self, state: PushState) -> Array:
        """The observation (size,) of the policy for the state of one table."""
        x, y, theta = state.body[:, 0]
        row = np.array([[*state.pusher[:, 0], x, y, np.remainder(theta, 2.0 * np.pi)]])
        observation: Array = self._views.observed(row)[0]
        return observation


class Driver:
    """A policy as a demonstrator, for ``roll_out``.

    Attributes:
        policy: the policy that drives.
        stages: for each step, those of its prediction, see ``DiffusionPolicy``.
        seconds: time of each prediction, s.
    """

    def __init__(self, policy: DiffusionPolicy) -> None:
        self.policy = policy
        self.reset(0)

    def reset(self, seed: int) -> None:
        """Begin an episode of the policy with a seed."""
        self.policy.reset(seed)
        self.stages: list[Array] = []
        self.seconds: list[float] = []

    def act(self, state: PushState) -> Array:
        """The next target of the pusher (2,), m, for the state of one table."""
        before, began = self.policy.plans, perf_counter()
        target = self.policy.act(self.policy.observed(state))
        if self.policy.plans > before:
            self.seconds.append(perf_counter() - began)
        self.stages.append(self.policy.stages)
        return target


def denoised(network: UNet, features: jax.Array, key: jax.Array, design: Design) -> jax.Array:
    """Stages (k, prediction_horizon, 2) of a prediction, noisiest first, in network numbers."""
    shape = (design.prediction_horizon, ACTION)
    if design.method == "cloning":
        return network(jnp.zeros(shape), jnp.zeros(()), features)[None]
    return ddim(
        lambda x, level: network(x, level.astype(jnp.float32), features),
        jax.random.normal(key, shape),
        cosine_schedule(design.noise_steps),
        sampling_levels(design.noise_steps, design.sampling_steps),
        bound=1.0,
    )


def empty_network(config: PushConfig, design: Design) -> UNet:
    """The structure of a design's network, with shapes and dtypes in place of weights."""
    views = Views(config, design)
    start = np.zeros((1, design.observation_horizon, 5))
    seen = np.stack([views.observed(states) for states in start])
    inputs = views.features(seen)[0].shape[1]
    network: UNet = eqx.filter_eval_shape(UNet, inputs, ACTION, design.channels, design.width)
    return network


def save_policy(path: Path | str, policy: DiffusionPolicy) -> None:
    """Write a checkpoint: weights as safetensors, the rest as JSON in the file's header.

    Raises:
        BadInput, OSError: as ``domain.files.atomic_file``.
    """
    settings = {
        "kind": "policy",
        "table": config_record(policy.config),
        "design": asdict(policy.design),
        "history": policy.history,
    }
    arrays = {name: np.asarray(leaf) for name, leaf in named_arrays(policy.network)}
    arrays |= {f"scale.{name}": value for name, value in vars(policy.scale).items()}
    write_checkpoint(path, FORMAT, settings, arrays)


def load_policy(path: Path | str) -> DiffusionPolicy:
    """Read a checkpoint of ``save_policy``.

    Raises:
        BadInput: the file is missing, damaged, of another kind or format.
    """
    settings, arrays = read_checkpoint(path, FORMAT, COMMAND)
    if settings.get("kind") != "policy":
        raise BadInput.one(path, f"is not a policy of {COMMAND}")
    with whole(path, "checkpoint"):
        config, design = config_of_record(settings["table"]), Design(**settings["design"])
        network = empty_network(config, design)
        inputs = int(network.read.layers[0].weight.shape[1]) - EMBEDDED
        outputs = design.prediction_horizon, ACTION
        shapes = {"middle": (inputs,), "spread": (inputs,), "low": outputs, "high": outputs}
        parts = {name: arrays[f"scale.{name}"] for name in shapes}
        for name, wanted in shapes.items():
            if parts[name].shape != wanted or not np.isfinite(parts[name]).all():
                raise ValueError(f"scale.{name} is not {wanted} finite numbers")
        full = filled_by_name(network, arrays)
        return DiffusionPolicy(config, design, Scale(**parts), full, dict(settings["history"]))
