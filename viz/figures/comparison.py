"""The figures of a comparison: several trajectories of one query, several methods on many queries.

Of trajectories: joints over time, velocities, the hand's path, clearance. Of methods: a box and its
points for each figure of merit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from galley.domain.frames import Array, inverse
from galley.robots.model import JointGroup
from galley.viz.figures.file import figure_file
from galley.viz.render.sightlines import Boxes

_VIEWS = (("from above", 0, 1, 2), ("from the side", 0, 2, 1), ("from the front", 1, 2, 0))
_AXES = "xyz"
_ROOM = 0.15  # m shown round the hands' paths
_SHOWN = 0.3  # m, clearances are drawn up to here
_GREY = "#777777"
_HIT = {"marker": "X", "markersize": 13, "mec": "black", "zorder": 4}


@dataclass(frozen=True)
class Line:
    """One trajectory.

    Attributes:
        label: for the legend. color, width (points): of its lines. Where lines lie on each other
            all show, as broad ones are drawn under narrow ones.
        time: s (n,). position, velocity: (n, k). hand: p_WH (n, 3), m.
        clearance_time: s (m,). clearance: m (m,).
        hit: s, when it first collides, or None.
    """

    label: str
    color: str
    time: Array
    position: Array
    velocity: Array
    hand: Array
    clearance_time: Array
    clearance: Array
    hit: float | None = None
    width: float = 1.5

    @property
    def style(self) -> dict[str, Any]:
        """How matplotlib draws it."""
        return {"color": self.color, "linewidth": self.width, "zorder": 3.0 - 0.01 * self.width}


def compare_figure(
    path: Path, title: str, lines: Sequence[Line], group: JointGroup, furniture: Boxes, foot: Array
) -> None:
    """Draw the figure into a PNG file, which appears whole or not at all.

    Args:
        lines: in the legend's order.
        furniture: outlined behind the hand's path.
        foot: where the arm stands (3,), m.
    """
    with figure_file(path, (16.0, 11.0)) as figure:
        grid = figure.add_gridspec(
            group.size,
            3,
            width_ratios=(1.0, 1.0, 1.35),
            left=0.06,
            right=0.985,
            bottom=0.055,
            top=0.86,
            wspace=0.22,
            hspace=0.18,
        )
        side = grid[:, 2].subgridspec(2, 1, height_ratios=(1.75, 1.0), hspace=0.22)
        first = None
        for j in range(group.size):
            left = figure.add_subplot(grid[j, 0], sharex=first)
            first = first or left
            right = figure.add_subplot(grid[j, 1], sharex=first)
            _joint(left, right, j, lines, group, last=j == group.size - 1)
        figure.align_ylabels()
        _hands(figure.add_subplot(side[0]), lines, furniture, foot)
        _clearance(figure.add_subplot(side[1]), lines)
        figure.suptitle(title, x=0.015, y=0.98, ha="left", fontsize=15, fontweight="bold")
        handles, labels = first.get_legend_handles_labels() if first else ([], [])
        figure.legend(
            handles,
            labels,
            loc="upper left",
            bbox_to_anchor=(0.01, 0.96),
            ncols=3,
            fontsize=11,
            frameon=False,
        )


def _joint(
    left: Any, right: Any, j: int, lines: Sequence[Line], group: JointGroup, last: bool
) -> None:
    for line in lines:
        left.plot(line.time, line.position[:, j], label=line.label, **line.style)
        right.plot(line.time, line.velocity[:, j], **line.style)
    for sign in (-1.0, 1.0):
        right.axhline(sign * group.velocity[j], color=_GREY, linewidth=1.0, linestyle=(0, (5, 3)))
    right.set_ylim(-1.18 * group.velocity[j], 1.18 * group.velocity[j])
    short = group.joints[j].rpartition("_")[2].replace("joint", "joint ")
    left.set_ylabel(f"{short}, {group.units[j]}")
    right.set_ylabel(f"{group.units[j]}/s")
    for axes in (left, right):
        axes.grid(alpha=0.25)
        axes.margins(x=0.01)
        axes.tick_params(labelbottom=last)
    if j == 0:
        left.set_title("joint positions", fontsize=12)
        right.set_title("joint velocities, limits dashed", fontsize=12)
    if last:
        left.set_xlabel("time, s")
        right.set_xlabel("time, s")


def _hands(axes: Any, lines: Sequence[Line], furniture: Boxes, foot: Array) -> None:
    points = np.concatenate([line.hand for line in lines])
    name, a, b, _ = best_view(points)
    shown = np.concatenate([points[:, [a, b]], foot[None, [a, b]]])
    low, high = shown.min(axis=0) - _ROOM, shown.max(axis=0) + _ROOM
    for bottom, top in outlines(furniture, a, b):
        if (bottom < low).all() and (top > high).all():
            continue  # a floor or wall behind all of it
        size = top - bottom
        axes.add_patch(_rectangle(bottom, size))
    for line in lines:
        axes.plot(line.hand[:, a], line.hand[:, b], **line.style)
        if line.hit is not None:
            k = int(np.searchsorted(line.time, line.hit))
            axes.plot(
                *line.hand[k, [a, b]], "X", color=line.color, markersize=13, mec="black", zorder=4
            )
    start, ends = points[0], [line.hand[-1] for line in lines]
    axes.plot(start[a], start[b], "o", color="black", markersize=8)
    axes.annotate("start", (start[a], start[b]), xytext=(8, 6), textcoords="offset points")
    axes.plot(ends[-1][a], ends[-1][b], "s", color="black", markersize=8)
    axes.annotate("end", (ends[-1][a], ends[-1][b]), xytext=(8, 6), textcoords="offset points")
    axes.plot(foot[a], foot[b], "P", color=_GREY, markersize=10)
    axes.annotate(
        "the arm's foot",
        (foot[a], foot[b]),
        xytext=(0, 10),
        ha="center",
        textcoords="offset points",
        color=_GREY,
    )
    axes.set_xlim(low[0], high[0])
    axes.set_ylim(low[1], high[1])
    axes.set_aspect("equal", adjustable="box")
    axes.set_title(f"the hand's path, {name}; a cross where it collides", fontsize=12)
    axes.set_xlabel(f"{_AXES[a]}, m")
    axes.set_ylabel(f"{_AXES[b]}, m")
    axes.grid(alpha=0.25)


def _clearance(axes: Any, lines: Sequence[Line]) -> None:
    for line in lines:
        shown = 1e3 * np.minimum(line.clearance, _SHOWN)
        axes.plot(line.clearance_time, shown, **line.style)
        if line.hit is not None:
            k = min(int(np.searchsorted(line.clearance_time, line.hit)), len(shown) - 1)
            axes.plot(
                line.hit, shown[k], "X", color=line.color, markersize=13, mec="black", zorder=4
            )
    axes.axhline(0.0, color="black", linewidth=1.0)
    axes.set_ylim(min(-5.0, axes.get_ylim()[0]), None)
    axes.set_title(f"clearance to what stands still, up to {1e3 * _SHOWN:.0f} mm", fontsize=12)
    axes.set_xlabel("time, s")
    axes.set_ylabel("mm")
    axes.grid(alpha=0.25)
    axes.margins(x=0.01)


def best_view(points: Array) -> tuple[str, int, int, int]:
    """From where points (n, 3) spread most: a name, the axes to the right, up and away."""
    size = np.ptp(points, axis=0)
    return max(_VIEWS, key=lambda view: size[view[1]] * size[view[2]])


def outlines(boxes: Boxes, a: int, b: int) -> list[tuple[Array, Array]]:
    """Lower and upper corners (2,) of each box, seen along the third axis."""
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    found = []
    for X_BW, half in zip(boxes.X_BW, boxes.halves, strict=True):
        X_WB = inverse(X_BW)
        corners = (signs * half) @ X_WB[:3, :3].T + X_WB[:3, 3]
        seen = corners[:, [a, b]]
        found.append((seen.min(axis=0), seen.max(axis=0)))
    return found


def _rectangle(corner: Array, size: Array) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle(
        (float(corner[0]), float(corner[1])),
        float(size[0]),
        float(size[1]),
        facecolor="#d9d4cc",
        edgecolor="#b5aea3",
        alpha=0.55,
        linewidth=0.6,
        zorder=0,
    )


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
