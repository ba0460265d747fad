"""Section l: the learned p(Q | H) beside the true density."""

from __future__ import annotations

from dataclasses import asdict, replace
from time import perf_counter

from galley.bench.report import Section, Target, note, shown, table
from galley.planar.reach import DonutSampler, PlanarArm
from galley.planar.reach.dataset import DatasetSettings
from galley.planar.reach.learned import FitSettings, FlowArchitecture, ReachTask, evaluate, train
from galley.planar.reach.learned.evaluation import ModelEvaluation

_BOUNDS = ((-2.0, 2.0), (-2.0, 2.0))
_LIMITS = ((-2.0, 0.9), (-3.0, 3.0))  # P(elbow +) is 0.60


def learned(quick: bool) -> Section:
    """l. Trained three times."""
    bases = 50_000 if quick else 1_000_000
    free = _task(bases, None)
    cases = {
        "no limits": (free, 1500),
        "joint limits": (_task(bases, _LIMITS), 1500),
        "one circle": (replace(free, circle=(0.1, 0.4)), 3000),
    }
    lines, raw, targets = [], {}, []
    for name, (task, steps) in cases.items():
        began = perf_counter()
        rows = task.samples()
        model = train(task, rows, FlowArchitecture(), FitSettings(200 if quick else steps))
        seconds = perf_counter() - began
        found = evaluate(model, bases=20_000 if quick else 200_000)
        note(f"l. {name}: {seconds:.0f} s")
        raw[name] = {**asdict(found), "seconds": seconds}
        lines.append(_line(name, found, seconds))
        targets += _targets(name, found, seconds)
    head = ["KL, nats", "+-", "NLL", "entropy", "P(+)", "true", "spread", "true"]
    table(["l. learned, exact IK", *head, "free %", "M/s", "train s"], lines)
    return raw, targets


def _task(bases: int, limits: tuple[tuple[float, float], ...] | None) -> ReachTask:
    sampler = DonutSampler(PlanarArm(1.0, 0.8, limits), epsilon=0.05, heading_sigma=0.3)
    return ReachTask(DatasetSettings(sampler, bases, bounds=_BOUNDS, shard_bases=bases))


def _line(name: str, found: ModelEvaluation, seconds: float) -> list[str]:
    return [
        name,
        *(f"{x:.4f}" for x in (found.kl_nats, found.kl_error, found.nll_nats, found.entropy_nats)),
        *(f"{x:.4f}" for x in (found.positive, found.positive_true)),
        *(f"{x:.4f}" for x in (found.spread_rad, found.spread_true_rad)),
        f"{100 * found.free:.3f}",
        shown(found.samples_per_second / 1e6),
        shown(seconds),
    ]


def _targets(name: str, found: ModelEvaluation, seconds: float) -> list[Target]:
    off = abs(found.positive - found.positive_true)
    return [
        Target.at_most(f"l. {name}: KL", 0.02, found.kl_nats, " nats"),
        Target.at_most(f"l. {name}: P(+) off by", 0.01, off, ""),
        Target.at_most(f"l. {name}: training", 300.0, seconds, " s"),
    ]
