"""One figure of how several methods did on many queries: a box and its points for each figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from galley.viz.figures import figure_file


@dataclass(frozen=True)
class Sample:
    """One method.

    Attributes:
        label: its name. color: of its boxes.
        success: share of the queries for which it did as it should, in [0, 1].
        values: for each panel's key, a number for each such query.
    """

    label: str
    color: str
    success: float
    values: Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class Panel:
    """One figure of merit: its key in ``Sample.values``, a title with the unit, and its scale."""

    key: str
    title: str
    scale: float = 1.0
    logarithmic: bool = False
    limit: float | None = None


def distribution_figure(
    path: Path, title: str, samples: Sequence[Sample], panels: Sequence[Panel]
) -> None:
    """Draw the figure into a PNG file: a panel for each figure of merit, and the success rates."""
    columns = 4
    rows = -(-(len(panels) + 1) // columns)
    with figure_file(path, (16.0, 4.4 * rows)) as figure:
        grid = figure.add_gridspec(
            rows, columns, left=0.045, right=0.99, bottom=0.13, top=0.88, wspace=0.22, hspace=0.62
        )
        _success(figure.add_subplot(grid[0, 0]), samples)
        for k, panel in enumerate(panels, 1):
            _panel(figure.add_subplot(grid[k // columns, k % columns]), panel, samples)
        figure.suptitle(title, x=0.045, y=0.97, ha="left", fontsize=15, fontweight="bold")


def _success(axes: Any, samples: Sequence[Sample]) -> None:
    for k, sample in enumerate(samples):
        axes.bar(k, 100 * sample.success, color=sample.color, width=0.65)
        axes.text(k, 100 * sample.success + 1.5, f"{100 * sample.success:.0f}", ha="center")
    axes.set_ylim(0, 112)
    axes.set_title("found, free, within limits, %", fontsize=12)
    _name(axes, samples)


def _panel(axes: Any, panel: Panel, samples: Sequence[Sample]) -> None:
    rng = np.random.default_rng(0)  # only to spread points sideways
    for k, sample in enumerate(samples):
        values = panel.scale * np.asarray(sample.values.get(panel.key, ()), dtype=np.float64)
        if not len(values):
            continue
        axes.boxplot(
            [values],
            positions=[k],
            widths=0.6,
            showfliers=False,
            whis=(5, 95),
            patch_artist=True,
            boxprops={"facecolor": sample.color, "alpha": 0.35, "edgecolor": sample.color},
            medianprops={"color": "black", "linewidth": 2.0},
            whiskerprops={"color": sample.color},
            capprops={"color": sample.color},
        )
        beside = k + rng.uniform(-0.18, 0.18, len(values))
        axes.plot(beside, values, ".", color=sample.color, markersize=5)
    if panel.logarithmic:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")
    else:
        axes.set_ylim(bottom=0.0)
    if panel.limit is not None:
        axes.axhline(panel.limit, color="#777777", linewidth=1.0, linestyle=(0, (5, 3)))
    axes.set_title(panel.title, fontsize=12)
    _name(axes, samples)


def _name(axes: Any, samples: Sequence[Sample]) -> None:
    axes.set_xticks(range(len(samples)))
    axes.set_xticklabels([s.label for s in samples], rotation=30, ha="right")
    axes.set_xlim(-0.6, len(samples) - 0.4)
    axes.grid(axis="y", alpha=0.25)
