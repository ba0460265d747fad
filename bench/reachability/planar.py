"""Section a: samples of the planar arm's p(Q | H) per second."""

from __future__ import annotations

from collections.abc import Callable, Sized
from statistics import median
from time import perf_counter

import numpy as np

from galley.bench.report import Section, Target, shown, table
from galley.domain.frames import Array
from galley.planar.reach import DonutSampler, PlanarArm

_LIMITS = ((-2.0, 2.0), (-2.5, 2.5))
_RATIO, _ROWS = 50.0, 2.0  # of the loop's rate; million rows per second


def generator(quick: bool) -> Section:
    """a. DonutSampler against a loop over samples, which take turns; medians of the rates."""
    n, repeats = (100_000, 3) if quick else (1_000_000, 9)
    lines, raw = [], {}
    for name, limits in (("no limits", None), ("limits", _LIMITS)):
        sampler = DonutSampler(PlanarArm(1.0, 0.8, limits), epsilon=0.05, heading_sigma=0.3)
        sampler.sample((0.0, 0.0), 1000, np.random.default_rng(0))
        ours, theirs = [], []
        for seed in range(repeats):
            ours.append(_rate(_vectorised, sampler, n, seed))
            theirs.append(_rate(loop, sampler, n // 100, seed))
        raw[name] = {"ours": ours, "loop": theirs}
        ratio = median(a / b for a, b in zip(ours, theirs, strict=True))
        lines.append([name, *(shown(median(r) / 1e6) for r in (ours, theirs)), shown(ratio)])
    table(["a. million rows a second", "DonutSampler", "loop", "ratio"], lines)
    free = raw["no limits"]
    ratio = median(a / b for a, b in zip(free["ours"], free["loop"], strict=True))
    rows = median(free["ours"]) / 1e6
    return raw, [
        Target.at_least("a. generator against a loop over samples", _RATIO, ratio),
        Target.at_least("a. generator", _ROWS, rows, " M rows/s"),
    ]


def loop(sampler: DonutSampler, n: int, seed: int) -> list[Array]:
    """The recipe of p(Q | H) written down with NumPy, one base after the other."""
    rng, rows = np.random.default_rng(seed), []
    arm, target = sampler.arm, np.zeros(2)
    for _ in range(n):
        r = rng.uniform(sampler.r_min, sampler.r_max)
        phi = rng.uniform(0.0, 2.0 * np.pi)
        base = target + r * np.array([np.cos(phi), np.sin(phi)])
        away = target - base
        psi = np.arctan2(away[1], away[0]) + rng.normal(0.0, sampler.heading_sigma)
        c, s = np.cos(psi), np.sin(psi)
        u, v = np.array([[c, s], [-s, c]]) @ away
        cosine = (u * u + v * v - arm.l1**2 - arm.l2**2) / (2.0 * arm.l1 * arm.l2)
        for theta2 in (np.arccos(cosine), -np.arccos(cosine)):
            theta1 = np.arctan2(v, u) - np.arctan2(
                arm.l2 * np.sin(theta2), arm.l1 + arm.l2 * np.cos(theta2)
            )
            theta = (np.array([theta1, theta2]) + np.pi) % (2.0 * np.pi) - np.pi
            if arm.limits is None or all(
                low <= angle <= high for (low, high), angle in zip(arm.limits, theta, strict=True)
            ):
                rows.append(np.array([*base, psi, *theta]))
    return rows


def _vectorised(sampler: DonutSampler, n: int, seed: int) -> Array:
    return sampler.sample((0.0, 0.0), n, np.random.default_rng(seed)).q


def _rate(
    make: Callable[[DonutSampler, int, int], Sized], sampler: DonutSampler, n: int, seed: int
) -> float:
    """Rows per second, of those that are left."""
    began = perf_counter()
    rows = make(sampler, n, seed)
    return len(rows) / (perf_counter() - began)
