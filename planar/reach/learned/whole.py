"""For comparison: a flow of the whole of Q, whose hand is where the flow happens to put it.

Five numbers on a surface of three dimensions have no density, so the flow learns one that is thin
across the surface: its samples miss H. A coupling flow with rational-quadratic splines (Durkan et
al., Neural Spline Flows, 2019), over x, y and the cosines and sines of all angles, given H.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from flowjax.bijections import RationalQuadraticSpline
from flowjax.distributions import AbstractDistribution, Normal
from flowjax.flows import coupling_flow

from galley.domain.frames import Array
from galley.planar.reach import PlanarArm, Samples
from galley.planar.reach.learned.training import Progress, Settings, fit

_COLUMNS = 8  # x, y, three cosines, three sines
_VALIDATED = 10_000  # rows at most that a validation looks at


@dataclass(frozen=True)
class WholeModel:
    """A trained flow of the whole of Q.

    Attributes:
        flow: of the columns in units of ``scale``. scale: (8,).
    """

    flow: AbstractDistribution
    scale: Array

    def sample(self, target: Array, seed: int) -> Array:
        """One draw of Q (m, 5) for each target (m, 2)."""
        given = jnp.asarray(target, jnp.float32)
        drawn = np.asarray(self.flow.sample(jax.random.key(seed), (), given), dtype=np.float64)
        columns = drawn * self.scale
        return np.column_stack([columns[:, :2], np.arctan2(columns[:, 5:], columns[:, 2:5])])


def train_whole(
    samples: Samples,
    settings: Settings,
    each: Callable[[Progress], None] = lambda progress: None,
) -> WholeModel:
    """Fit a flow of the whole of Q to rows, one base in ten for validation.

    Raises:
        ValueError: fewer than ten bases, or a loss that diverged.
    """
    angles = samples.q[:, 2:]
    columns = np.column_stack([samples.q[:, :2], np.cos(angles), np.sin(angles)])
    scale = columns.std(axis=0)
    rows = np.column_stack([columns / scale, samples.target]).astype(np.float32)
    held_out = samples.source % 10 == 9
    if held_out.all() or not held_out.any():
        raise ValueError(f"too few rows for training and validation: {len(samples)}")
    flow = coupling_flow(
        jax.random.key(settings.seed),
        base_dist=Normal(jnp.zeros(_COLUMNS)),
        transformer=RationalQuadraticSpline(knots=8, interval=4),
        cond_dim=2,
        flow_layers=6,
        nn_width=64,
    )
    parts = jnp.asarray(rows[~held_out]), jnp.asarray(rows[held_out][:_VALIDATED])
    best = flow
    for now, best in fit(flow, _loss, *parts, settings):  # noqa: B007
        each(now)
    return WholeModel(best, scale)


def misses(q: Array, target: Array, arm: PlanarArm) -> Array:
    """From the target to the hand (m, 2) (m) of rows q (m, 5)."""
    return np.asarray(arm.fk(q[:, :3], q[:, 3:]) - target)


def _loss(flow: AbstractDistribution, rows: jax.Array) -> jax.Array:
    return -jnp.mean(flow.log_prob(rows[:, :_COLUMNS], rows[:, _COLUMNS:]))
