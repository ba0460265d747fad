"""The figure of durations and solve times."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from galley.bench.optimization.peers import SMOOTH, TIMED
from galley.bench.optimization.runs import Run, by_name

_OURS, _PEERS, _HIT = "#1b6ca8", "#555555", "#c1121f"


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
