"""Training of a policy with AdamW and a moving average of the weights; it can be resumed.

The batch and the noise of a step depend on the seed and the number of the step alone, and steps run
in compiled portions with fixed ends. So a training that resumes at the end of a portion gives the
same weights as one without interruption, to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isfinite, isnan
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from galley.domain.errors import BadInput
from galley.learning.checkpoints import (
    filled_by_name,
    named_arrays,
    random_weights,
    read_checkpoint,
    reproducible,
    whole,
    write_checkpoint,
)
from galley.learning.policy.data import with_symmetric
from galley.learning.policy.design import Design, Training
from galley.learning.policy.diffusion import cosine_schedule, noised
from galley.learning.policy.network import UNet
from galley.learning.policy.policy import COMMAND, FORMAT, DiffusionPolicy, empty_network
from galley.learning.policy.views import Views
from galley.learning.policy.windows import Scale, Track, digest, learned
from galley.planar.pushing.config import PushConfig, config_record

_EVALUATIONS = 50  # portions of a whole training, each with an evaluation
_VALIDATED = 4096  # windows of a validation, at most
_AGAIN = 8  # random noises for each of these windows


@dataclass(frozen=True)
class TrainingProgress:
    """The state after a portion of the training; losses are mean squares of the network's errors.

    Attributes:
        step: steps done.
        steps: steps in all.
        training: mean loss over the portion.
        validation: loss of the moving average on episodes held out; NaN without any.
    """

    step: int
    steps: int
    training: float
    validation: float

    def line(self) -> str:
        """The progress as a line for a terminal."""
        validation = "" if isnan(self.validation) else f"  validation {self.validation:.4f}"
        return f"step {self.step}/{self.steps}  loss {self.training:.4f}{validation}"


class _State(NamedTuple):
    """Everything that the next step depends on: weights, their average, the optimiser's state."""

    weights: Any
    average: Any
    optimiser: Any


class Trainer:
    """A training, from its beginning or from a file of ``save``.

    Args:
        tracks: the episodes.
        config: of their table.
        design: of the policy.
        training: steps, batch, rate and so on.

    Raises:
        ValueError: there are too few episodes.

    Attributes:
        scale: of features and targets, from the data.
        windows: number of training windows.
        episodes: number of episodes, with those held out.
        data: digest of the episodes.
        state: weights, their average, and the optimiser's state.
        losses: (step, training loss, validation loss) after each portion.
    """

    def __init__(
        self, tracks: Sequence[Track], config: PushConfig, design: Design, training: Training
    ) -> None:
        self.config, self.design, self.training = config, design, training
        order = np.random.default_rng([training.seed, 1]).permutation(len(tracks))
        held = round(training.validation * len(tracks))
        if held >= len(tracks):
            raise ValueError(f"too few episodes to learn from: {len(tracks)}, {held} held out")
        views = Views(config, design)
        chosen = [tracks[k] for k in order[held:]]
        if training.symmetric:
            chosen = with_symmetric(chosen, config)
        features, targets = learned(chosen, views)
        self.scale, self.windows = Scale.of(features, targets), len(features)
        self.episodes = len(tracks)
        self._rows = self._numbers(features, targets)
        self._held = None
        if held:
            features, targets = learned([tracks[k] for k in order[:held]], views)
            pick = np.linspace(0, len(features) - 1, min(len(features), _VALIDATED)).astype(int)
            self._held = self._numbers(features[pick], targets[pick])
        self.data = digest(tracks)
        empty = empty_network(config, design)
        weights, self._static = eqx.partition(random_weights(empty, training.seed), eqx.is_array)
        self.state = _State(weights, weights, _optimiser(training).init(weights))
        self.losses: list[tuple[int, float, float]] = []

    @property
    def step(self) -> int:
        """Number of steps done so far."""
        return self.losses[-1][0] if self.losses else 0

    @property
    def parameters(self) -> int:
        """Number of weights of the network."""
        return sum(leaf.size for _, leaf in named_arrays(self.state.weights))

    @property
    def policy(self) -> DiffusionPolicy:
        """The policy at the present step, with the moving average of the weights."""
        network: UNet = eqx.combine(self.state.average, self._static)
        history = {
            **self._settings(),
            "step": self.step,
            "losses": self.losses,
            "episodes": self.episodes,
            "windows": self.windows,
        }
        return DiffusionPolicy(self.config, self.design, self.scale, network, history)

    def run(self) -> Iterator[TrainingProgress]:
        """Train to the end; yields the progress after each portion.

        Raises:
            ValueError: the loss diverged.
        """
        steps = self.training.steps
        chunk = -(-steps // _EVALUATIONS)
        while self.step < steps:
            done = self.step
            count = min(chunk, steps - done)
            self.state, mean = _portion(
                self.state, self._rows, jnp.asarray(done), jnp.asarray(count),
                self._static, self.design, self.training,
            )  # fmt: skip
            value = float("nan")
            if self._held is not None:
                value = float(_value(self.state.average, self._static, self._held, self.design))
            if not isfinite(loss := float(mean)):
                reason = f"the loss diverged at step {done + count}"
                raise ValueError(f"{reason}; a lower --learning-rate helps")
            self.losses.append((done + count, loss, value))
            yield TrainingProgress(self.step, steps, loss, value)

    def save(self, path: Path | str) -> None:
        """Write everything that the next step depends on to a checkpoint.

        Raises:
            BadInput, OSError: as ``domain.files.atomic_file``.
        """
        arrays = {name: np.asarray(leaf) for name, leaf in named_arrays(self.state)}
        settings = {"kind": "training", **self._settings(), "losses": self.losses}
        write_checkpoint(path, FORMAT, settings, arrays)

    def resume(self, path: Path | str) -> None:
        """Resume from a checkpoint of ``save``.

        Raises:
            BadInput: the file is missing, damaged, or of another training.
        """
        settings, arrays = read_checkpoint(path, FORMAT, COMMAND)
        self._check(path, settings)
        with whole(path, "training"):
            self.state = filled_by_name(self.state, arrays)
            self.losses = [(int(step), float(a), float(b)) for step, a, b in settings["losses"]]

    def check_made(self, path: Path | str) -> None:
        """Check that the checkpoint of a policy is the result of this training.

        Raises:
            BadInput: it isn't.
        """
        settings, _ = read_checkpoint(path, FORMAT, COMMAND)
        self._check(path, settings.get("history", {}))

    def _check(self, path: Path | str, settings: Mapping[str, Any]) -> None:
        """Raise BadInput if the settings of a file aren't those of this training."""
        for name, ours in self._settings().items():
            if (theirs := settings.get(name)) != ours:
                reason = f"is of a training with {_difference(theirs, ours) or f'other {name}'}"
                raise BadInput.one(path, f"{reason}; remove it, or choose another name")

    def _settings(self) -> dict[str, Any]:
        """Everything that the weights depend on, as data of JSON."""
        return {
            "design": asdict(self.design),
            "training": asdict(self.training),
            "table": config_record(self.config),
            "data": self.data,
        }

    def _numbers(self, features: Any, targets: Any) -> tuple[jax.Array, jax.Array]:
        return jnp.asarray(self.scale.features(features)), jnp.asarray(self.scale.targets(targets))


def _difference(theirs: Any, ours: Any) -> str:
    """The first difference of two records in words; empty without one."""
    if not isinstance(theirs, dict) or not isinstance(ours, dict):
        return ""
    for name in ours:
        if theirs.get(name) != ours[name]:
            return f"{name} = {theirs.get(name)}, not {ours[name]}"
    return ""


def _optimiser(training: Training) -> optax.GradientTransformation:
    """AdamW with clipped gradients; the rate rises at first, then falls along a cosine."""
    warm = max(1, min(500, training.steps // 20))
    rate = optax.warmup_cosine_decay_schedule(0.0, training.learning_rate, warm, training.steps)
    adam = optax.adamw(rate, b1=0.9, b2=0.95, weight_decay=training.decay)
    return optax.flatten(optax.chain(optax.clip_by_global_norm(1.0), adam))


def average_of(average: Any, weights: Any, step: jax.Array, most: float) -> Any:
    """The moving average of the weights after step ``step``, from 0.

    The share of the old average is min(most, (1 + step) / (10 + step)). It grows with the training,
    so that the random initial weights are soon forgotten.
    """
    keep = jnp.minimum(most, (1.0 + step) / (10.0 + step))
    return jax.tree.map(lambda a, w: keep * a + (1.0 - keep) * w, average, weights)


def errors(
    network: UNet, features: jax.Array, targets: jax.Array, key: jax.Array, design: Design
) -> jax.Array:
    """Mean square error of the network on features (n, f), targets (n, T, 2); noise by ``key``."""
    if design.method == "cloning":
        zeros = jnp.zeros(targets.shape)
        predicted = jax.vmap(network)(zeros, jnp.zeros(len(targets)), features)
        return jnp.mean(jnp.square(predicted - targets))
    at, noise = jax.random.split(key)
    level = jax.random.randint(at, (len(targets),), 0, design.noise_steps)
    kept = jnp.asarray(cosine_schedule(design.noise_steps), jnp.float32)[level]
    x, v = noised(targets, jax.random.normal(noise, targets.shape), kept[:, None, None])
    predicted = jax.vmap(network)(x, level.astype(jnp.float32), features)
    return jnp.mean(jnp.square(predicted - v))


@reproducible
def _value(weights: Any, static: Any, rows: tuple[jax.Array, jax.Array], design: Design) -> Any:
    """The validation loss: mean error on features and targets, over fixed noises."""
    network = eqx.combine(weights, static)
    keys = jax.random.split(jax.random.key(1), 1 if design.method == "cloning" else _AGAIN)
    return jax.lax.map(lambda key: errors(network, *rows, key, design), keys).mean()


@reproducible
def _portion(
    state: _State,
    rows: tuple[jax.Array, jax.Array],
    first: jax.Array,
    count: jax.Array,
    static: Any,
    design: Design,
    training: Training,
) -> tuple[_State, jax.Array]:
    """Do ``count`` steps of gradient descent from step ``first`` on.

    Each step draws its batch and noise by its own number, takes the gradient of the error, updates
    weights and optimiser, and then the moving average.

    Returns:
        The new state, and the mean loss.
    """
    optimiser, root = _optimiser(training), jax.random.key(training.seed)

    def step(i: jax.Array, carry: tuple[_State, jax.Array]) -> tuple[_State, jax.Array]:
        state, total = carry
        # The key depends on the step alone, so a resumed training draws the same.
        draw, noise = jax.random.split(jax.random.fold_in(root, i))
        drawn = jax.random.randint(draw, (training.batch,), 0, len(rows[0]))
        features, targets = (array[drawn] for array in rows)

        def loss(weights: Any) -> jax.Array:
            return errors(eqx.combine(weights, static), features, targets, noise, design)

        value, slope = jax.value_and_grad(loss)(state.weights)
        change, optimiser_state = optimiser.update(slope, state.optimiser, state.weights)
        weights = eqx.apply_updates(state.weights, change)
        average = average_of(state.average, weights, i, training.average)
        return _State(weights, average, optimiser_state), total + value

    end = first + count
    state, total = jax.lax.fori_loop(first, end, step, (state, jnp.zeros(())))
    return state, total / count


def train(
    trainer: Trainer, each: Callable[[TrainingProgress], None], resume: Path | str
) -> DiffusionPolicy:
    """Train to the end, with a file from which an interrupted training resumes.

    Args:
        trainer: the training.
        each: called with the progress after every portion.
        resume: the file, written after every portion.
    """
    if Path(resume).exists():
        trainer.resume(resume)
    for now in trainer.run():
        trainer.save(resume)
        each(now)
    return trainer.policy
