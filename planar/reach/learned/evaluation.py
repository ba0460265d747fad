"""Comparison of a learned model with the true distribution, by samples and exact densities.

The mean of log p - log q over true samples estimates KL(p || q). With an obstacle, p is normalised
by the share of candidates that are free, counted for each context. Rows of one context are
dependent, so standard errors are over contexts, by linearisation of the ratio estimate.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

import numpy as np

from galley.planar.reach.learned.model import LearnedModel
from galley.planar.reach.learned.task import heading_errors

_PER_CIRCLE = 1000  # candidate bases, whose free share normalises the density


@dataclass(frozen=True)
class ModelEvaluation:
    """Figures of a model and of the true distribution. Densities are per dx dy dpsi and elbow.

    Attributes:
        kl_nats, kl_error: KL(true || model) and its standard error, nats.
        nll_nats: mean negative log density of true rows in the model; smaller is better.
        entropy_nats: mean negative log density of true rows in the truth, the least possible
            ``nll_nats``.
        positive, positive_true: share of the elbow +, in the model and in the truth.
        spread_rad, spread_true_rad: standard deviation of the heading error, in both.
        free: share of the model's rows that touch no obstacle; 1 without an obstacle.
        samples_per_second: speed of sampling with IK, after compiling.
        rows: number of true rows, and of samples of the model.
    """

    kl_nats: float
    kl_error: float
    nll_nats: float
    entropy_nats: float
    positive: float
    positive_true: float
    spread_rad: float
    spread_true_rad: float
    free: float
    samples_per_second: float
    rows: int


def evaluate(model: LearnedModel, seed: int = 1, bases: int = 100_000) -> ModelEvaluation:
    """Compare a model with the distribution on which it was trained.

    Args:
        model: the model.
        seed: of all samples; a training with the same seed has other samples.
        bases: candidate bases of the truth.

    Raises:
        ValueError: no candidate base survives.
    """
    task, rng = model.task, np.random.default_rng([seed, 1])
    per = 1 if task.circle is None else _PER_CIRCLE  # candidate bases of a context
    target = np.repeat(task.targets(-(-bases // per), rng), per, axis=0)
    circle = task.circles(target[::per], rng)
    samples = task.sampler.sample(target, len(target), rng)
    candidates = np.bincount(samples.source // per, minlength=len(target) // per)
    if circle is not None:
        circle = circle[samples.source // per]
    samples, circle = task.free_rows(samples, circle)
    n = len(samples)
    if n < 2:
        raise ValueError("no candidate base survives: there is nothing to compare with")
    context = samples.source // per
    count = np.bincount(context, minlength=len(candidates))
    log_p = task.sampler.log_density(samples.q, samples.target)
    log_p -= np.log(count[context] / candidates[context])
    log_q = model.log_density(samples.q, samples.target, circle)
    kl = float((log_p - log_q).mean())
    apart = np.bincount(context, log_p - log_q - kl, minlength=len(candidates))
    model.sample(samples.target[:1], 1, seed, None if circle is None else circle[0])  # compiles
    start = perf_counter()
    drawn = model.sample(samples.target, n, seed, circle)
    rate = n / (perf_counter() - start)
    free = 1.0 if circle is None else task.free(drawn.q, circle[drawn.source]).mean()
    return ModelEvaluation(
        kl_nats=kl,
        kl_error=float(np.sqrt((apart**2).sum())) / n,
        nll_nats=-float(log_q.mean()),
        entropy_nats=-float(log_p.mean()),
        positive=float(model.positive_share(samples.target, n, circle).mean()),
        positive_true=float((samples.elbow > 0).mean()),
        spread_rad=float(np.std(heading_errors(drawn))),
        spread_true_rad=float(np.std(heading_errors(samples))),
        free=float(free),
        samples_per_second=rate,
        rows=n,
    )
