"""The figure of search time against the number of items, for every search and its peers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from galley.bench.planning.runs import Bench, outcome
from galley.bench.planning.tasks import kitchen
from galley.bench.report import Section, table

# Planner, label, colour, line: ours solid, peers dashed.
LINES = (
    ("galley-bfs", "galley bfs", "#1b6ca8", "-"),
    ("galley-astar", "galley A*", "#0a8f6c", "-"),
    ("galley-gbfs", "galley gbfs", "#b5179e", "-"),
    ("pyperplan-bfs", "pyperplan bfs", "#1b6ca8", "--"),
    ("fd-blind", "FD blind", "#5fa8d3", ":"),
    ("fd-lmcut", "FD lmcut", "#0a8f6c", ":"),
    ("fd-lama", "FD lama-first", "#b5179e", ":"),
)
ITEMS = range(2, 11)


def growth(bench: Bench, figure: Path | None) -> Section:
    """g. How searches grow with the items to move; a planner stops where it exceeds the limit."""
    raw: dict[str, dict[int, Any]] = {planner: {} for planner, *_ in LINES}
    for planner, *_ in LINES:
        for items in ITEMS:
            result = bench.run(planner, kitchen(items))
            raw[planner][items] = result
            if result["status"] != "solved" or result["search_s"] > bench.seconds:
                break
    rows = [
        [
            label,
            *(outcome(raw[planner][n]) if n in raw[planner] else "" for n in ITEMS),
        ]
        for planner, label, *_ in LINES
    ]
    table(["seconds of search; items:", *map(str, ITEMS)], rows)
    if figure is not None:
        draw(raw, figure, bench.seconds)
    return raw, []


def draw(raw: dict[str, dict[int, Any]], path: Path, limit: float) -> None:
    """Draws the curves on a log axis, each labelled at its end."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    canvas, axes = pyplot.subplots(figsize=(8, 4.8), dpi=120)
    ends: list[tuple[float, int, str, str]] = []
    for planner, label, colour, style in LINES:
        points = [
            (items, max(result["search_s"], 1e-4))
            for items, result in raw[planner].items()
            if result["status"] == "solved" and result.get("search_s") is not None
        ]
        if points:
            x, y = zip(*points, strict=True)
            axes.plot(x, y, style, color=colour, marker="o", markersize=3.5, linewidth=1.8)
            ends.append((y[-1], x[-1], label, colour))
    axes.set_yscale("log")
    axes.set_xlim(ITEMS[0] - 0.2, ITEMS[-1] + 2.2)
    axes.set_ylim(2e-4, 4 * limit)
    axes.set_xticks(list(ITEMS))
    _label(axes, ends)
    axes.set_xlabel("items to move, 4 pieces of furniture")
    axes.set_ylabel("seconds of search")
    axes.set_title(f"Kitchens of growing size, at most {limit:g} s a search", loc="left")
    axes.grid(axis="y", color="#dddddd", linewidth=0.7)
    axes.spines[["top", "right"]].set_visible(False)
    canvas.tight_layout()
    canvas.savefig(path)
    pyplot.close(canvas)


def _label(axes: Any, ends: list[tuple[float, int, str, str]]) -> None:
    """Labels to the right of the last points, pushed apart where they would overlap."""
    apart = 1.75  # factor on the log axis
    placed: list[tuple[int, float]] = []
    for y, x, label, colour in sorted(ends):
        height = y
        while any(
            abs(x - other) < 2 and max(height / h, h / height) < apart for other, h in placed
        ):
            height *= 1.1
        placed.append((x, height))
        behind = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 0.2}
        axes.text(
            x + 0.15, height, label, color=colour, va="center", fontsize=9, bbox=behind, zorder=5
        )
