"""The sections of the optimization benchmark: tables of the results of ``runs.py``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from galley.bench.optimization.peers import SMOOTH, TIMED
from galley.bench.optimization.queries import BLOCKED, STRAIGHT
from galley.bench.optimization.runs import Gate, Run, by_name, median, numbers, percentile, worst
from galley.bench.report import Target, shown, table

_OURS, _PEERS, _HIT = "#1b6ca8", "#555555", "#c1121f"
_DURATION, _LENGTH = 1.15, 1.02  # of ruckig's least time, of the shortcut path's length
_MEDIAN, _P95 = 100.0, 500.0  # ms
_ITSELF = 95.0  # %


def gate(runs: Sequence[Run]) -> list[Target]:
    """a. How many trajectories are free and within all limits."""
    rows, targets = [], []
    for name, own in by_name(runs).items():
        g = Gate.of(own)
        counts = (g.free, g.paced, g.within, g.passed)
        rows.append(
            [
                name,
                f"{g.returned}/{g.asked}",
                f"{g.itself}/{g.asked}",
                *(f"{count}/{g.returned}" for count in counts),
                f"{g.held_passed}/{g.held}",
            ]
        )
        if name in (SMOOTH, TIMED):
            targets += _gate_targets(name, g)
    headers = ["a. gate", "returned", "by itself", "free", "v, a kept", "all limits", "passed"]
    table([*headers, "item held: passed"], rows)
    print(
        "Free: no collision in the kernel, in Drake, in PyBullet. All limits: position, velocity,\n"
        "acceleration, jerk, rest at both ends. Passed: both. toppra minds neither jerk nor rest.\n"
    )
    _details(runs)
    return targets


def _gate_targets(name: str, g: Gate) -> list[Target]:
    share = 100.0 * g.passed / g.returned if g.returned else None
    found = [Target.at_least(f"{name}: returned, free and within all limits", 100, share, " %")]
    if name == SMOOTH:
        own = 100.0 * g.itself / g.asked
        found.append(Target.at_least(f"{name}: queries answered by itself", _ITSELF, own, " %"))
    return found


def _details(runs: Sequence[Run]) -> None:
    """Prints what speaks against answers of ours, and where one gave up or let another do it."""
    ours = [run for run in runs if run.name in (SMOOTH, TIMED)]
    wrong = [
        [run.name, run.query, objection]
        for run in ours
        if run.verdict is not None
        for objection in run.verdict.objections()
    ]
    if wrong:
        table(["objections to ours", "query", "what"], wrong)
    handed = [
        [run.name, run.query, "-" if run.verdict is None else run.method, run.note]
        for run in ours
        if run.verdict is None or run.method != run.name
    ]
    if handed:
        table(["not by itself", "query", "made by", "why"], handed)


def quality(runs: Sequence[Run]) -> list[Target]:
    """b. Duration, length, jerk and clearance of the trajectories that are free."""
    rows = []
    for name, own in by_name(runs).items():
        free = [run for run in own if run.verdict is not None and run.verdict.free]
        verdicts = [run.verdict for run in free if run.verdict is not None]
        cells = []
        for set_ in (STRAIGHT, BLOCKED):
            cells += _both(numbers(run.duration_ratio for run in free if run.set == set_))
        cells += _both(numbers(run.length_ratio for run in free))
        cells.append(shown(median([v.jerk for v in verdicts])))
        clearances = [1e3 * v.clearance for v in verdicts]
        cells += [shown(median(clearances)), shown(min(clearances, default=None))]
        rows.append([name, str(len(free)), *cells])
    headers = ["b. quality", "free", "time, line free", "worst", "time, blocked", "worst"]
    headers += ["length", "worst", "jerk", "clearance mm", "least"]
    table(headers, rows)
    print(
        "Of free trajectories only. Time: duration over ruckig's least from start to goal;\n"
        "length: over the shortcut path's; jerk: over its limit, where a jump of acceleration\n"
        "counts as if it took 1 ms. Medians, but for the worst.\n"
    )
    own = by_name(runs).get(SMOOTH)
    return _quality_targets(SMOOTH, own) if own else []


def _both(values: list[float]) -> list[str]:
    return [shown(median(values), 4), shown(worst(values), 4)]


def _quality_targets(name: str, own: list[Run]) -> list[Target]:
    found = []
    over: list[list[str]] = []
    straight = [run for run in own if run.set == STRAIGHT]
    for what, bound, of, key in (
        ("duration where the line is free", _DURATION, straight, "duration_ratio"),
        ("length over the path's", _LENGTH, own, "length_ratio"),
    ):
        values = numbers(getattr(run, key) for run in of)
        for which, figure in (("median", median(values)), ("worst", worst(values))):
            found.append(Target.at_most(f"{name}: {what}, {which}", bound, figure, ""))
        over += [
            [what, run.query, shown(value, 4)]
            for run in of
            if (value := getattr(run, key)) is not None and value > bound
        ]
    if over:
        table([f"{name}: beyond the target", "query", "ratio"], over)
    return found


def speed(runs: Sequence[Run]) -> list[Target]:
    """c. Time to solve, warm."""
    times = {name: [1e3 * run.seconds for run in own] for name, own in by_name(runs).items()}
    ours = [name for name in (SMOOTH, TIMED) if name in times]
    rows = []
    for name, own in times.items():
        middle = median(own)
        ratios = []
        for mine in ours:
            base = median(times[mine])
            ratios.append(shown(middle / base if middle is not None and base else None))
        rows.append([name, shown(middle), shown(percentile(own, 95)), shown(worst(own)), *ratios])
    headers = ["c. speed", "median ms", "p95 ms", "worst ms"]
    table([*headers, *(f"median over {mine}'s" for mine in ours)], rows)
    if SMOOTH not in times:
        return []
    return [
        Target.at_most(f"{SMOOTH}: median", _MEDIAN, median(times[SMOOTH]), " ms"),
        Target.at_most(f"{SMOOTH}: p95", _P95, percentile(times[SMOOTH], 95), " ms"),
    ]


def base(runs: Sequence[Run]) -> list[Target]:
    """d. Motions of the base."""
    rows, targets = [], []
    for name, own in by_name(runs).items():
        g = Gate.of(own)
        verdicts = [run.verdict for run in own if run.verdict is not None]
        rows.append(
            [
                name,
                f"{g.returned}/{g.asked}",
                f"{g.itself}/{g.asked}",
                f"{g.free}/{g.returned}",
                f"{g.within}/{g.returned}",
                *_both(numbers(run.duration_ratio for run in own)),
                *_both(numbers(run.length_ratio for run in own)),
                shown(median([v.jerk for v in verdicts])),
                shown(median([1e3 * run.seconds for run in own])),
            ]
        )
        if name in (SMOOTH, TIMED):
            share = 100.0 * g.passed / g.asked
            targets.append(
                Target.at_least(f"{name}: base motions free and within limits", 100, share, " %")
            )
    headers = ["d. base", "returned", "by itself", "free", "all limits", "time", "worst"]
    table([*headers, "length", "worst", "jerk", "median ms"], rows)
    _details(runs)
    return targets


def draw(runs: Sequence[Run], path: Path) -> None:
    """A row for each method, a dot for each query, a bar at the median of all.

    Hollow: free, but beyond a limit. Red crosses: hits, or no trajectory.

    Left, duration over ruckig's least time from start to goal; right, ms to solve, log scale.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    groups = by_name(runs)
    canvas, (left, right) = pyplot.subplots(
        1, 2, figsize=(11, 1.6 + 0.5 * len(groups)), dpi=120, sharey=True
    )
    rng = np.random.default_rng(0)
    for row, (name, own) in enumerate(groups.items()):
        colour = _OURS if name in (SMOOTH, TIMED) else _PEERS
        jitter = row + rng.uniform(-0.22, 0.22, len(own))
        free = np.array([run.verdict is not None and run.verdict.free for run in own])
        sound = np.array([run.verdict is not None and run.verdict.passed for run in own])
        ratios = np.array([run.duration_ratio or np.nan for run in own])
        times = np.array([1e3 * run.seconds for run in own])
        for axes, values in ((left, ratios), (right, times)):
            for which, style in (
                (sound, {"color": colour, "s": 11, "alpha": 0.55, "linewidth": 0}),
                (
                    free & ~sound,
                    {"edgecolor": colour, "facecolor": "none", "s": 14, "linewidth": 0.7},
                ),
                (~free, {"color": _HIT, "s": 15, "alpha": 0.6, "marker": "x", "linewidth": 0.9}),
            ):
                axes.scatter(values[which], jitter[which], **style)
            if np.isfinite(values).any():
                middle = float(np.nanmedian(values))
                axes.plot([middle] * 2, [row - 0.36, row + 0.36], color=colour, linewidth=2.2)
                axes.annotate(
                    f"{middle:.3g}", (middle, row - 0.38), fontsize=8, color=colour, ha="center",
                    va="bottom",
                )  # fmt: skip
    left.set_yticks(range(len(groups)), list(groups))
    left.set_ylim(len(groups) - 0.4, -0.75)
    left.axvline(1.15, color="#999999", linewidth=1, linestyle=":")
    left.set_xlabel("duration over ruckig's least time, start to goal (dotted: 1.15)")
    right.set_xscale("log")
    right.set_xlabel("ms to solve")
    left.set_title("How long the motion takes", loc="left", fontsize=11)
    right.set_title("How long it takes to make it", loc="left", fontsize=11)
    for axes in (left, right):
        axes.grid(axis="x", color="#dddddd", linewidth=0.7)
        axes.spines[["top", "right"]].set_visible(False)
    canvas.text(0.01, 0.035, "ring: free, but beyond a limit", color=_PEERS, fontsize=9)
    canvas.text(0.01, 0.01, "cross: hits something, or no trajectory", color=_HIT, fontsize=9)
    canvas.tight_layout(rect=(0, 0.03, 1, 1))
    canvas.savefig(path)
    pyplot.close(canvas)
