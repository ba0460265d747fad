"""The figure of ``galley disturb``: success rates against noise, and with each fault."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from galley.studies.disturbances.trials import SuccessCount
from galley.viz.figures import figure_file


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
    for k, (kind, counts) in enumerate(noise.items()):
        aside = 0.09 * (k - (len(noise) - 1) / 2)  # keeps coinciding lines apart
        places = [amounts.index(amount) for amount in counts]
        color = f"C{k}"
        _bars(axes, [x + aside for x in places], list(counts.values()), color=color, marker="o")
        # The counts stand in rows below the axis; the names of the rows are the legend.
        row, style = -0.21 - 0.062 * k, {"color": color, "fontsize": 9.5, "va": "center"}
        axes.text(-0.045, row, kind, transform=axes.transAxes, ha="right", **style)
        for x, count in zip(places, counts.values(), strict=True):
            transform = axes.get_xaxis_transform()
            axes.text(x, row, str(count), transform=transform, ha="center", **style)
    axes.set_xticks(range(len(amounts)), [f"{amount:g}" for amount in amounts])
    axes.set_xlim(-0.5, len(amounts) - 0.5)
    axes.set_xlabel("noise, as a multiple of moderate")
    _percent_axis(axes)


def _draw_faults(axes: Any, faults: Mapping[str, SuccessCount]) -> None:
    places, counts = range(len(faults)), list(faults.values())
    axes.bar(places, [100 * count.rate for count in counts], 0.62, label="no recovery needed")
    recovered = [100 * count.recovered / max(1, count.runs) for count in counts]
    axes.bar(places, recovered, 0.62, label="recovered")
    _bars(axes, places, counts, color="#333333", linestyle="none")
    for k, count in enumerate(counts):
        top = 100 * count.interval()[1] if count.runs else 0.0
        axes.text(k, top + 2.0, str(count), ha="center", fontsize=9)
    axes.set_xticks(places, list(faults), rotation=30, ha="right")
    axes.set_xlabel("fault injected")
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, frameon=False)
    _percent_axis(axes)


def _bars(axes: Any, places: Sequence[float], counts: Sequence[SuccessCount], **style: Any) -> None:
    """Rates with their intervals, in percent."""
    rates = np.array([count.rate for count in counts])
    ends = np.array([count.interval() for count in counts]).reshape(-1, 2)
    lengths = np.maximum(0.0, [rates - ends[:, 0], ends[:, 1] - rates])
    axes.errorbar(places, 100 * rates, yerr=100 * lengths, elinewidth=0.8, capsize=2, **style)


def _percent_axis(axes: Any) -> None:
    axes.set_ylabel("runs that succeeded, validated, %")
    axes.set_ylim(0, 110)
    axes.grid(axis="y", alpha=0.25)
