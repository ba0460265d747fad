"""Time to plan against the number of obstacles: a table and a figure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from galley.bench.motion.clutter import BOXES, clutter, clutter_queries
from galley.bench.motion.peers.planners import OMPL_OURS, planners
from galley.bench.motion.runs import Run, race, summed_up
from galley.bench.motion.verdicts import Judge
from galley.bench.report import shown, table
from galley.domain.scene.model import Scene
from galley.robots.model import RobotModel

COUNTS = (10, 30, 100, 300, 1000)
_COLOURS = ("#1b6ca8", "#0a8f6c", "#b5179e", "#c77700", "#555555", "#8a1c1c")


def growth(
    scene: Scene, robot: RobotModel, limit: float, figure: Path | None, quick: bool
) -> dict[str, Any]:
    """Runs the planners among 10 to 1000 obstacles, which fill the same space."""
    queries = clutter_queries(scene, robot, 4 if quick else 20)
    raw: dict[str, Any] = {}
    for count in COUNTS[::2] if quick else COUNTS:
        among = clutter(scene, count)
        # pybullet-planning takes seconds even among few.
        found, _ = planners(among, robot, without=("pybullet-planning",))
        chosen = [each for each in found if each.name != OMPL_OURS]
        judge = Judge(among, robot)
        runs = race(chosen, queries, judge, limit)
        for each in found:
            each.close()
        judge.close()
        raw[str(count)] = {each.name: _summary(runs, each.name, limit) for each in chosen}
    names = list(next(iter(raw.values())))
    rows = [[name, *(shown(raw[count][name]["median_ms"]) for count in raw)] for name in names]
    table(["median ms; obstacles:", *raw], rows)
    if figure is not None:
        draw(raw, figure)
    return raw


def _summary(runs: list[Run], name: str, limit: float) -> dict[str, float]:
    summary = summed_up(runs, name, ("clutter",), limit)
    return {
        "median_ms": 1e3 * summary.median,
        "p95_ms": 1e3 * summary.p95,
        "asked": summary.asked,
        "solved": summary.solved,
        "valid": summary.valid,
    }


def draw(raw: dict[str, Any], path: Path) -> None:
    """Medians on two log axes, the band up to the 95th percentile shaded."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    canvas, axes = pyplot.subplots(figsize=(8, 4.8), dpi=120)
    counts = np.array([int(count) for count in raw])
    for k, name in enumerate(next(iter(raw.values()))):
        median, p95 = (
            np.array([raw[count][name][key] for count in raw]) for key in ("median_ms", "p95_ms")
        )
        colour = _COLOURS[k % len(_COLOURS)]
        axes.plot(counts, median, color=colour, marker="o", markersize=3.5, linewidth=1.8)
        axes.fill_between(counts, median, p95, color=colour, alpha=0.12, linewidth=0)
        axes.text(counts[-1] * 1.08, median[-1], name, color=colour, va="center", fontsize=9)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(counts[0] * 0.9, counts[-1] * 9)
    axes.set_xticks(counts, [str(count) for count in counts])
    axes.minorticks_off()
    axes.set_xlabel(f"obstacles: {BOXES} boxes, cut into ever more pieces")
    axes.set_ylabel("ms to plan, median to 95th percentile")
    axes.set_title("The arm among boxes: time to plan", loc="left")
    axes.grid(axis="y", color="#dddddd", linewidth=0.7)
    axes.spines[["top", "right"]].set_visible(False)
    canvas.tight_layout()
    canvas.savefig(path)
    pyplot.close(canvas)
