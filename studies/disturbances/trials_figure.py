"""The figure of ``galley disturb``: success rates against noise, and with each fault."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from galley.studies.disturbances.trials import SuccessCount
from galley.viz.figures import figure_file

_COLORS = {
    "friction": "#c8553d",
    "mass": "#7a6c5d",
    "position": "#2a7f9e",
    "observation": "#8a5aa8",
    "all": "#1d3c34",
}
_MARKERS = {"friction": "o", "mass": "s", "position": "^", "observation": "D", "all": "o"}
_RECOVERED, _DIRECT = "#5b8f86", "#9db4bc"  # succeeded with a recovery, or without


def draw_success_rates(
    path: Path | str,
    title: str,
    noise: Mapping[str, Mapping[float, SuccessCount]],
    faults: Mapping[str, SuccessCount],
) -> None:
    """Draw the success rates as a PNG file, with Wilson's 95 % intervals and the counts.

    Args:
        title: of the figure.
        noise: successes by kind and amount.
        faults: successes by fault.

    Raises:
        BadInput: ``path`` can't be written.
    """
    widths = [1.6] * bool(noise) + [1.0] * bool(faults)
    with figure_file(path, (1.6 + 5.2 * sum(widths), 5.8)) as figure:
        columns = max(1, len(widths))
        axes = figure.subplots(1, columns, squeeze=False, width_ratios=widths or [1])[0]
        if noise:
            _draw_noise(axes[0], noise)
        if faults:
            _draw_faults(axes[-1], faults)
        figure.suptitle(title, x=0.02, ha="left", fontsize=13, fontweight="bold")
        figure.subplots_adjust(left=0.1, right=0.985, top=0.86, bottom=0.33, wspace=0.17)


def _draw_noise(axes: Any, noise: Mapping[str, Mapping[float, SuccessCount]]) -> None:
    amounts = sorted({amount for counts in noise.values() for amount in counts})
    position = {amount: k for k, amount in enumerate(amounts)}
    for k, (kind, counts) in enumerate(noise.items()):
        aside = 0.09 * (k - (len(noise) - 1) / 2)  # keeps coinciding lines apart
        color = _COLORS.get(kind, "#333333")
        present = [amount for amount in amounts if amount in counts]
        bars = [_error_bar(counts[amount]) for amount in present]
        axes.errorbar(
            [position[amount] + aside for amount in present],
            [100 * counts[amount].rate for amount in present],
            yerr=[[below for below, _ in bars], [above for _, above in bars]],
            color=color,
            marker=_MARKERS.get(kind, "o"),
            markersize=6,
            linewidth=2.4 if kind == "all" else 1.4,
            elinewidth=0.8,
            capsize=2,
        )
        # The counts stand in rows below the axis; the names of the rows are the legend.
        row, style = -0.21 - 0.062 * k, {"color": color, "fontsize": 9.5, "va": "center"}
        axes.text(-0.045, row, kind, transform=axes.transAxes, ha="right", **style)
        for amount in present:
            transform, text = axes.get_xaxis_transform(), str(counts[amount])
            axes.text(position[amount], row, text, transform=transform, ha="center", **style)
    axes.set_xticks(range(len(amounts)), [f"{amount:g}" for amount in amounts])
    axes.set_xlim(-0.5, len(amounts) - 0.5)
    axes.set_xlabel("noise, as a multiple of moderate")
    _percent_axis(axes)


def _draw_faults(axes: Any, faults: Mapping[str, SuccessCount]) -> None:
    for k, count in enumerate(faults.values()):
        below, above = _error_bar(count)
        error = [[below], [above]]
        axes.bar(k, 100 * count.rate, color=_DIRECT, width=0.62)
        axes.bar(k, 100 * count.recovered / max(1, count.runs), color=_RECOVERED, width=0.62)
        axes.errorbar(k, 100 * count.rate, yerr=error, color="#333333", elinewidth=0.8, capsize=2)
        top = 100 * count.interval()[1] if count.runs else 0.0
        axes.text(k, top + 2.0, str(count), ha="center", fontsize=9)
    axes.set_xticks(range(len(faults)), list(faults), rotation=30, ha="right")
    axes.set_xlabel("fault injected")
    for k, (text, color) in enumerate((("recovered", _RECOVERED), ("no recovery needed", _DIRECT))):
        axes.text(0.02 + 0.42 * k, 1.01, text, transform=axes.transAxes, color=color, fontsize=10)
    _percent_axis(axes)


def _error_bar(count: SuccessCount) -> tuple[float, float]:
    """Lengths of the bar below and above the rate, in percent."""
    low, high = count.interval()
    return max(0.0, 100 * (count.rate - low)), max(0.0, 100 * (high - count.rate))


def _percent_axis(axes: Any) -> None:
    axes.set_ylabel("runs that succeeded, validated, %")
    axes.set_ylim(0, 110)
    axes.set_yticks(range(0, 101, 20))
    axes.grid(axis="y", alpha=0.25)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
