"""How near a learned model is to the truth, from samples of both and exact densities.

The mean of log p - log q over true samples estimates KL(p || q); where there is an obstacle, p is
normalised by the share of candidates that are free, counted for each context. Rows of one context
are dependent, so standard errors are of contexts, by linearisation of the ratio estimate.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

import numpy as np

from galley.planar.reach.learned.model import LearnedModel
from galley.planar.reach.learned.task import heading_errors

_PER_CIRCLE = 1000  # candidate bases: their free share normalises the density


@dataclass(frozen=True)
class Evaluation:
    """A model beside the truth. Densities are per dx dy dpsi and elbow.

    Attributes:
        kl_nats, kl_error: KL(true || model) and its standard error.
        nll_nats: mean negative log density of true rows in the model.
        entropy_nats: the same in the truth: the least that nll_nats can be.
        positive, positive_true: share of the elbow +.
        spread_rad, spread_true_rad: standard deviation of the heading error.
        free: share of the model's rows that touch no obstacle; 1 where there is none.
        samples_per_second: with IK, after compiling.
        rows: of the truth, and samples of the model.
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


def evaluate(model: LearnedModel, seed: int = 1, bases: int = 100_000) -> Evaluation:
    """Compare a model with the law that it was trained on.

    Args:
        model: the model.
        seed: of all samples; none of them is in a training of the same seed.
        bases: candidate bases of the truth.

    Raises:
        ValueError: no candidate base survives.
    """
    task, rng = model.task, np.random.default_rng([seed, 1])
    each = 1 if task.circle is None else _PER_CIRCLE
    target = np.repeat(task.targets(-(-bases // each), rng), each, axis=0)
    circle = task.circles(target[::each], rng)
    samples = task.sampler.sample(target, len(target), rng)
    candidates = np.bincount(samples.source // each, minlength=len(target) // each)
    if circle is not None:
        circle = circle[samples.source // each]
    samples, circle = task.free_rows(samples, circle)
    n = len(samples)
    if n < 2:
        raise ValueError("no candidate base survives: there is nothing to compare with")
    context = samples.source // each
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
    return Evaluation(
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
