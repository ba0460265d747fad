"""The figure of ``galley disturb``: success rates with each noise and fault."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from galley.studies.disturbances.trials import SuccessCount
from galley.viz.figures import figure_file

_RECOVERED, _DIRECT = "#5b8f86", "#9db4bc"  # succeeded with a recovery, or without


def draw_success_rates(path: Path | str, title: str, rows: Mapping[str, SuccessCount]) -> None:
    """Draw success rates as a PNG file: for each a bar, Wilson's 95 % interval, and the count.

    Args:
        path: the PNG file.
        title: of the figure.
        rows: the successes, by the label of their bar.

    Raises:
        BadInput: ``path`` can't be written.
    """
    with figure_file(path, (11.0, 1.5 + 0.36 * len(rows))) as figure:
        axes = figure.add_subplot()
        for y, count in enumerate(rows.values()):
            low, high = (100 * bound for bound in count.interval())
            share = 100 * count.rate
            axes.barh(y, share, color=_DIRECT)
            axes.barh(y, 100 * count.recovered / max(1, count.runs), color=_RECOVERED)
            bars = [[max(0.0, share - low)], [max(0.0, high - share)]]
            axes.errorbar(share, y, xerr=bars, color="#333333", elinewidth=0.8, capsize=2)
            axes.text(102, y, str(count), va="center", fontsize=9)
        axes.set_yticks(range(len(rows)), list(rows))
        axes.invert_yaxis()
        axes.set_xlim(0, 112)
        axes.set_xticks(range(0, 101, 20))
        axes.set_xlabel("runs that succeeded, validated, %; dark: by recovering")
        axes.grid(axis="x", alpha=0.25)
        figure.suptitle(title, x=0.02, ha="left", fontsize=13, fontweight="bold")
        figure.subplots_adjust(left=0.2, right=0.985, top=1.0 - 0.7 / (1.5 + 0.36 * len(rows)))
