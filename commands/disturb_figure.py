"""The figure of ``galley disturb``: success against the amount of noise, and for each fault."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from galley.viz.figures import figure_file

_COLORS = {
    "friction": "#c8553d",
    "mass": "#7a6c5d",
    "position": "#2a7f9e",
    "observation": "#8a5aa8",
    "all": "#1d3c34",
}
_MARKS = {"friction": "o", "mass": "s", "position": "^", "observation": "D", "all": "o"}
_AGAIN, _AT_ONCE = "#5b8f86", "#9db4bc"  # succeeded after planning anew, or without


@dataclass(frozen=True)
class Count:
    """How many of some runs succeeded, and how many of these after planning anew."""

    runs: int
    success: int
    recovered: int = 0

    @property
    def share(self) -> float:
        """In [0, 1]; 0 without runs."""
        return self.success / self.runs if self.runs else 0.0

    def __str__(self) -> str:
        return f"{self.success}/{self.runs}"


def wilson(count: Count, z: float = 1.96) -> tuple[float, float]:
    """The interval in which the true share lies with 95 % confidence (Wilson, 1927)."""
    n, p = count.runs, count.share
    if n == 0:
        return 0.0, 1.0
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return max(0.0, float(middle - half)), min(1.0, float(middle + half))


def disturb_figure(
    path: Path,
    title: str,
    noise: Mapping[str, Mapping[float, Count]],
    faults: Mapping[str, Count],
) -> None:
    """Draw it into a PNG file; counts stand at the points, bars show Wilson's 95 % intervals.

    Args:
        title: of the whole.
        noise: for each kind and amount, how many succeeded.
        faults: for each fault.

    Raises:
        BadInput: ``path`` can't be written.
    """
    wide = [1.6] * bool(noise) + [1.0] * bool(faults)
    with figure_file(path, (1.6 + 5.2 * sum(wide), 5.8)) as figure:
        axes = figure.subplots(1, max(1, len(wide)), squeeze=False, width_ratios=wide or [1])[0]
        if noise:
            _lines(axes[0], noise)
        if faults:
            _bars(axes[-1], faults)
        figure.suptitle(title, x=0.02, ha="left", fontsize=13, fontweight="bold")
        figure.subplots_adjust(left=0.1, right=0.985, top=0.86, bottom=0.33, wspace=0.17)


def _lines(axes: Any, noise: Mapping[str, Mapping[float, Count]]) -> None:
    amounts = sorted({amount for counts in noise.values() for amount in counts})
    at = {amount: k for k, amount in enumerate(amounts)}
    for k, (kind, counts) in enumerate(noise.items()):
        aside = 0.09 * (k - (len(noise) - 1) / 2)  # so that lines on top of each other can be seen
        color = _COLORS.get(kind, "#333333")
        known = [amount for amount in amounts if amount in counts]
        x = [at[amount] + aside for amount in known]
        y = [100 * counts[amount].share for amount in known]
        ends = [wilson(counts[amount]) for amount in known]
        below = [max(0.0, value - 100 * low) for value, (low, _) in zip(y, ends, strict=True)]
        above = [max(0.0, 100 * high - value) for value, (_, high) in zip(y, ends, strict=True)]
        axes.errorbar(
            x,
            y,
            yerr=[below, above],
            color=color,
            marker=_MARKS.get(kind, "o"),
            markersize=6,
            linewidth=2.4 if kind == "all" else 1.4,
            elinewidth=0.8,
            capsize=2,
        )
        # The counts in rows below the axis, where nothing hides them; their names are the legend.
        row, style = -0.21 - 0.062 * k, {"color": color, "fontsize": 9.5, "va": "center"}
        axes.text(-0.045, row, kind, transform=axes.transAxes, ha="right", **style)
        for amount in known:
            place = axes.get_xaxis_transform()
            axes.text(at[amount], row, str(counts[amount]), transform=place, ha="center", **style)
    axes.set_xticks(range(len(amounts)), [f"{amount:g}" for amount in amounts])
    axes.set_xlim(-0.5, len(amounts) - 0.5)
    axes.set_xlabel("noise, as a multiple of moderate")
    axes.set_ylabel("runs that succeeded, validated, %")
    _percent(axes)


def _bars(axes: Any, faults: Mapping[str, Count]) -> None:
    for k, count in enumerate(faults.values()):
        low, high = wilson(count)
        error = [
            [max(0.0, 100 * (count.share - low))],
            [max(0.0, 100 * (high - count.share))],
        ]
        axes.bar(k, 100 * count.share, color=_AT_ONCE, width=0.62)
        again = 100 * count.recovered / max(1, count.runs)
        axes.bar(k, again, color=_AGAIN, width=0.62)
        axes.errorbar(k, 100 * count.share, yerr=error, color="#333333", elinewidth=0.8, capsize=2)
        top = 100 * high if count.runs else 0.0
        axes.text(k, top + 2.0, str(count), ha="center", fontsize=9)
    axes.set_xticks(range(len(faults)), list(faults), rotation=30, ha="right")
    axes.set_xlabel("fault injected")
    axes.set_ylabel("runs that succeeded, validated, %")
    for k, (words, color) in enumerate((("planned anew", _AGAIN), ("did not have to", _AT_ONCE))):
        axes.text(0.02 + 0.42 * k, 1.01, words, transform=axes.transAxes, color=color, fontsize=10)
    _percent(axes)


def _percent(axes: Any) -> None:
    axes.set_ylim(0, 110)
    axes.set_yticks(range(0, 101, 20))
    axes.grid(axis="y", alpha=0.25)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def counted(results: Sequence[tuple[bool, int]]) -> Count:
    """The Count of (succeeded, times planned anew)."""
    good = [again for success, again in results if success]
    return Count(len(results), len(good), sum(again > 0 for again in good))
