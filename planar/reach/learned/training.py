"""Training of a flow by maximum likelihood, with Adam; the best step by validation counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from math import ceil, inf, isfinite
from time import perf_counter
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from galley.learning.checkpoints import random_weights, reproducible
from galley.planar.reach import BaseSamples
from galley.planar.reach.learned.flow import SplineFlow
from galley.planar.reach.learned.model import FlowArchitecture, LearnedModel, empty_flow, features
from galley.planar.reach.learned.task import ReachTask, heading_errors
from galley.planar.reach.learned.unit_cube_map import UnitCubeMap

Flow = TypeVar("Flow", bound=eqx.Module)
_Carry = tuple[Any, Any, jax.Array]  # weights, state of the optimiser, sum of losses
_EVALUATIONS = 40  # in a whole training
_VALIDATED = 50_000  # rows of a validation, at most


@dataclass(frozen=True)
class FitSettings:
    """Settings of a training.

    Attributes:
        steps: of the optimiser, 2 or more.
        batch: rows of a step.
        rate: highest learning rate.
        patience: evaluations (of 40 in a whole training) without improvement, to stop early.
        seed: of the weights, the circles and the order of rows.

    Raises:
        ValueError: fewer than 2 steps, because the rate rises in the first.
    """

    steps: int = 3000
    batch: int = 2048
    rate: float = 4e-3
    patience: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        if self.steps < 2:
            raise ValueError(f"steps must be 2 or more, got {self.steps}")


@dataclass(frozen=True)
class FitProgress:
    """The state after an evaluation; losses are mean negative log densities, nats.

    Attributes:
        step: steps done.
        steps: steps in all.
        training: mean loss since the last evaluation.
        validation: loss on the rows held out.
        best: whether the validation loss is the smallest so far.
        left: estimated time to the end, s.
    """

    step: int
    steps: int
    training: float
    validation: float
    best: bool
    left: float

    def line(self) -> str:
        """The progress as a line for a terminal."""
        return (
            f"        step {self.step:6d}/{self.steps}  loss {self.training:.4f}  validation "
            f"{self.validation:.4f} nats{', best' * self.best:6s}  {self.left:4.0f} s left"
        )


def train(
    task: ReachTask,
    samples: BaseSamples,
    shape: FlowArchitecture,
    settings: FitSettings,
    each: Callable[[FitProgress, LearnedModel], None] = lambda progress, model: None,
) -> LearnedModel:
    """Fit a flow to rows, and return the model of the best validation.

    Training and validation are split by base, as the dataset says. With circles, each row gets one,
    and is dropped if it touches the circle. The same arguments on the same machine give the same
    weights.

    Args:
        task: the distribution of the rows.
        samples: the dataset's rows.
        shape: size of the flow.
        settings: of the optimiser.
        each: called after every evaluation with the progress and the best model so far.

    Raises:
        ValueError: too few rows, rows outside the ring or limits, or a loss that diverged.
    """
    circle = task.circles(samples.target, np.random.default_rng([settings.seed, 2]))
    samples, circle = task.free_rows(samples, circle)
    held_out = task.data.held_out(samples.source)
    if held_out.all() or not held_out.any():
        raise ValueError(f"too few rows for training and validation: {len(samples)}")
    spread = float(np.clip(np.median(np.abs(heading_errors(samples))), 1e-3, 3.0))
    chart = UnitCubeMap(task.sampler.arm, task.ring, spread)
    raw, zero = features(samples.target, circle)
    point, volume, inside = chart.to_cube(samples.q, samples.target, zero)
    if not inside.all():
        raise ValueError(f"{(~inside).sum()} rows are outside the ring or the joint limits")
    scale = np.stack([raw.mean(axis=0), np.maximum(raw.std(axis=0), 1e-6)])
    table = np.column_stack([(raw - scale[0]) / scale[1], samples.elbow, point])
    table = table.astype(np.float32)
    training = jnp.asarray(table[~held_out])
    validation = jnp.asarray(table[held_out][:_VALIDATED])
    offset = -float(volume[held_out][:_VALIDATED].mean()), -float(volume[~held_out].mean())

    best, start = None, random_weights(empty_flow(task, shape), settings.seed)
    for now, flow in fit(start, _mean_loss, training, validation, settings):
        value = now.validation + offset[0]
        if best is None or now.best:
            history = {**asdict(settings), "step": now.step, "validation_nats": value}
            best = LearnedModel(task, chart, shape, scale, flow, history)
        each(replace(now, training=now.training + offset[1], validation=value), best)
    assert best is not None
    return best


def fit(
    flow: Flow,
    loss: Callable[[Flow, jax.Array], jax.Array],
    training: jax.Array,
    validation: jax.Array,
    settings: FitSettings,
) -> Iterator[tuple[FitProgress, Flow]]:
    """Train any flow, and yield the state and the best flow so far after every evaluation.

    Args:
        flow: initial weights.
        loss: mean negative log density of rows (m, k), nats.
        training: rows (n, k) from which batches are drawn.
        validation: rows (l, k) that choose the best flow.
        settings: steps, batch, rate and patience.

    Raises:
        ValueError: the loss diverged.
    """
    weights, static = eqx.partition(flow, eqx.is_inexact_array)
    chunk = ceil(settings.steps / _EVALUATIONS)
    state, key = _optimiser(settings).init(weights), jax.random.key(settings.seed)
    least, since, start = inf, 0, perf_counter()
    for done in range(0, settings.steps, chunk):
        step = min(done + chunk, settings.steps)
        key, now = jax.random.split(key)
        keys, count = jax.random.split(now, chunk), jnp.asarray(step - done)
        weights, state, mean = _steps(weights, state, training, keys, count, static, loss, settings)
        value = float(_value(weights, static, loss, validation))
        if not isfinite(value):
            raise ValueError(f"the loss diverged at step {step}; a lower rate may help")
        better = value < least
        if better:
            least, since, flow = value, 0, eqx.combine(weights, static)
        else:
            since += 1
        left = (perf_counter() - start) * (settings.steps / step - 1.0)
        yield FitProgress(step, settings.steps, float(mean), value, better, left), flow
        if since >= settings.patience:
            break


def _optimiser(settings: FitSettings) -> optax.GradientTransformation:
    rate = optax.warmup_cosine_decay_schedule(
        0.0, settings.rate, max(1, settings.steps // 50), settings.steps, 0.01 * settings.rate
    )
    return optax.flatten(optax.chain(optax.clip_by_global_norm(5.0), optax.adam(rate)))


def _mean_loss(flow: SplineFlow, rows: jax.Array) -> jax.Array:
    """Mean negative log density of rows on the cube: context, elbow, point."""
    return jnp.mean(jax.vmap(flow.loss)(rows[:, :-4], rows[:, -4], rows[:, -3:]))


@reproducible
def _value(weights: Any, static: Any, loss: Callable[..., jax.Array], rows: jax.Array) -> jax.Array:
    return loss(eqx.combine(weights, static), rows)


@reproducible
def _steps(
    weights: Any,
    state: optax.OptState,
    rows: jax.Array,
    keys: jax.Array,
    count: jax.Array,
    static: Any,
    loss: Callable[..., jax.Array],
    settings: FitSettings,
) -> tuple[Any, optax.OptState, jax.Array]:
    """Do ``count`` steps, each on rows drawn by its key; returns weights, state and mean loss.

    There may be more keys than steps, so that the fewer steps before the last evaluation need no
    other compiled code.
    """
    optimiser = _optimiser(settings)

    def step(i: jax.Array, carry: _Carry) -> _Carry:
        weights, state, total = carry
        drawn = rows[jax.random.randint(keys[i], (settings.batch,), 0, len(rows))]
        value, slope = jax.value_and_grad(lambda w: loss(eqx.combine(w, static), drawn))(weights)
        change, state = optimiser.update(slope, state)
        return eqx.apply_updates(weights, change), state, total + value

    weights, state, total = jax.lax.fori_loop(0, count, step, (weights, state, jnp.zeros(())))
    return weights, state, total / count


Settings = FitSettings  # its documented name
