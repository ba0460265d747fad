"""The figure and the films of a comparison, of one query.

The figure: joint positions and velocities, the hand's path, clearance. The films: two methods,
alone and side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.domain.frames import Array, inverse
from galley.domain.log import Log
from galley.domain.scene.model import Scene
from galley.execution.kinematic import KinematicExecutor
from galley.motion.motion import Attachment, Motion
from galley.motion.path import Path as JointPath
from galley.robots.model import JointGroup, RobotModel
from galley.robots.panda.mobile import link0_pose
from galley.studies.comparison.measures import Measurements
from galley.studies.comparison.methods import TITLES, Attempt
from galley.studies.comparison.summary import (
    QueryResult,
)
from galley.viz.figures import figure_file
from galley.viz.film.side_by_side import Take, film_side_by_side
from galley.viz.film.video import FilmOptions, film, viewpoint
from galley.viz.render.view import Occluders, furniture_boxes

# Okabe and Ito's palette for colour-blind readers.
COLORS = {
    "rrt": "#D55E00",
    "rrt-pybullet": "#56B4E9",
    "shortcut": "#E69F00",
    "shortest": "#CC79A7",
    "smooth": "#0072B2",
    "time-optimal": "#009E73",
}
# Line widths in points differ, so that coinciding lines all show.
_WIDTHS = {
    "rrt": 1.2,
    "rrt-pybullet": 1.2,
    "shortcut": 3.2,
    "shortest": 5.0,
    "smooth": 1.6,
    "time-optimal": 2.4,
}
_VIEWS = (("from above", 0, 1, 2), ("from the side", 0, 2, 1), ("from the front", 1, 2, 0))
_AXES = "xyz"
_ROOM = 0.15  # m shown around the hands' paths
_SHOWN = 0.3  # m, largest clearance drawn
_GREY = "#777777"


_Row = tuple[Attempt, Measurements]


# -- one query -------------------------------------------------------------------------------------


def draw_query(path: Path | str, result: QueryResult, scene: Scene, robot: RobotModel) -> None:
    """Draw one query, with every method that has a trajectory, as a PNG file.

    Raises:
        BadInput: ``path`` can't be written.
    """
    every = (result.row(method) for method in _WIDTHS)
    rows = [(attempt, measured) for attempt, measured in every if measured is not None]
    if not rows:
        return
    state, group = result.query.state, robot.group("arm")
    foot = link0_pose(state.q[robot.slice("base")], scene.robot.base)[:3, 3]
    furniture = furniture_boxes(scene, state.scene_q)
    title = f"{result.query.name}: {result.query.about}"
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
            _joint(left, right, j, rows, group, last=j == group.size - 1)
        figure.align_ylabels()
        _hands(figure.add_subplot(side[0]), rows, furniture, foot)
        _clearance(figure.add_subplot(side[1]), rows)
        figure.suptitle(title, x=0.015, y=0.98, ha="left", fontsize=15, fontweight="bold")
        figure.legend(
            *left.get_legend_handles_labels(),
            loc="upper left",
            bbox_to_anchor=(0.01, 0.96),
            ncols=3,
            fontsize=11,
            frameon=False,
        )


def _label(attempt: Attempt, measured: Measurements) -> str:
    hit = measured.verdict.first
    verdict = "free" if hit is None else f"COLLIDES ({hit.pair[0]}, {hit.pair[1]})"
    return (
        f"{method_title(attempt)}: {measured.duration:.2f} s, "
        f"{measured.joint_length:.2f} rad, {verdict}"
    )


def _style(attempt: Attempt) -> dict[str, Any]:
    """Style of a method's lines; wide lines are drawn under narrow ones."""
    width = _WIDTHS[attempt.method]
    return {"color": COLORS[attempt.method], "linewidth": width, "zorder": 3.0 - 0.01 * width}


def _cross(axes: Any, attempt: Attempt, x: float, y: float) -> None:
    """Mark the first collision of a trajectory."""
    axes.plot(x, y, "X", color=COLORS[attempt.method], markersize=13, mec="black", zorder=4)


def _joint(
    left: Any, right: Any, j: int, rows: Sequence[_Row], group: JointGroup, last: bool
) -> None:
    for attempt, measured in rows:
        curve, style = measured.curve, _style(attempt)
        left.plot(curve.time, curve.position[:, j], label=_label(attempt, measured), **style)
        right.plot(curve.time, curve.velocity[:, j], **style)
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


def _hands(axes: Any, rows: Sequence[_Row], furniture: Occluders, foot: Array) -> None:
    points = np.concatenate([measured.curve.hand for _, measured in rows])
    name, a, b, _ = best_view(points)
    shown = np.concatenate([points[:, [a, b]], foot[None, [a, b]]])
    low, high = shown.min(axis=0) - _ROOM, shown.max(axis=0) + _ROOM
    for bottom, top in outlines(furniture, a, b):
        if (bottom < low).all() and (top > high).all():
            continue  # a floor or wall behind everything
        axes.add_patch(_rectangle(bottom, top - bottom))
    for attempt, measured in rows:
        curve, hit = measured.curve, measured.verdict.first
        axes.plot(curve.hand[:, a], curve.hand[:, b], **_style(attempt))
        if hit is not None:
            _cross(axes, attempt, *curve.hand[np.searchsorted(curve.time, hit.time), [a, b]])
    for name_of, p, mark in (("start", points[0], "o"), ("end", points[-1], "s")):
        axes.plot(p[a], p[b], mark, color="black", markersize=8)
        axes.annotate(name_of, (p[a], p[b]), xytext=(8, 6), textcoords="offset points")
    axes.plot(foot[a], foot[b], "P", color=_GREY, markersize=10)
    axes.annotate(
        "the arm's base",
        (foot[a], foot[b]),
        xytext=(0, 10),
        ha="center",
        textcoords="offset points",
        color=_GREY,
    )
    axes.set_xlim(low[0], high[0])
    axes.set_ylim(low[1], high[1])
    axes.set_aspect("equal", adjustable="box")
    axes.set_title(f"the hand's path, {name}; a cross marks a collision", fontsize=12)
    axes.set_xlabel(f"{_AXES[a]}, m")
    axes.set_ylabel(f"{_AXES[b]}, m")
    axes.grid(alpha=0.25)


def _clearance(axes: Any, rows: Sequence[_Row]) -> None:
    for attempt, measured in rows:
        curve, hit = measured.curve, measured.verdict.first
        shown = 1e3 * np.minimum(curve.clearance, _SHOWN)
        axes.plot(curve.clearance_time, shown, **_style(attempt))
        if hit is not None:
            k = min(int(np.searchsorted(curve.clearance_time, hit.time)), len(shown) - 1)
            _cross(axes, attempt, hit.time, shown[k])
    axes.axhline(0.0, color="black", linewidth=1.0)
    axes.set_ylim(min(-5.0, axes.get_ylim()[0]), None)
    axes.set_title(
        f"clearance to everything that does not move, up to {1e3 * _SHOWN:.0f} mm", fontsize=12
    )
    axes.set_xlabel("time, s")
    axes.set_ylabel("mm")
    axes.grid(alpha=0.25)
    axes.margins(x=0.01)


def best_view(points: Array) -> tuple[str, int, int, int]:
    """The view in which points (n, 3) spread most: its name, the axes right, up and away."""
    size = np.ptp(points, axis=0)
    return max(_VIEWS, key=lambda view: size[view[1]] * size[view[2]])


def outlines(boxes: Occluders, a: int, b: int) -> list[tuple[Array, Array]]:
    """Lower and upper corners (2,) of each box, projected along the third axis."""
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


# -- films -----------------------------------------------------------------------------------------


def film_query(
    folder: Path | str,
    world: PyBulletWorld,
    result: QueryResult,
    pair: tuple[Attempt, Attempt],
    *,
    fps: float,
    height: int,
    speed: float,
    progress: Callable[[int, int], None],
) -> None:
    """Film from one viewpoint: a pair as ``rrt``, ``opt`` and ``side_by_side``, and ``qp.mp4``."""
    folder = Path(folder)
    scene, robot, qp = world.scene, world.robot, result.solution("shortest")
    takes = []
    for attempt, name in zip(pair, ("rrt", "opt"), strict=True):
        title, note, warning = _captions(result, attempt)
        color, log = _rgb(COLORS[attempt.method]), executed_log(world, result, attempt)
        takes.append(Take(log, folder / f"{name}.mp4", title, note, color, warning))
    camera = viewpoint(takes[0].log, scene, robot)
    height = height // 2 * 2
    options = FilmOptions(
        fps=fps,
        width=height * 16 // 9 // 4 * 4,
        height=height,
        speed=speed,
        hold=1.5,
        camera=camera,
    )
    film_side_by_side(
        (takes[0], takes[1]),
        scene,
        robot,
        folder / "side_by_side.mp4",
        camera,
        options,
        progress,
    )
    if qp is not None:
        title, note, warning = _captions(result, qp)
        film(
            executed_log(world, result, qp),
            scene,
            robot,
            folder / "qp.mp4",
            replace(options, title=", ".join(p for p in (f"{title}: {note}", warning) if p)),
            progress,
        )


def _captions(result: QueryResult, attempt: Attempt) -> tuple[str, str, str]:
    """Title, note and warning in the film of an attempt."""
    _, measured = result.row(attempt.method)
    assert measured is not None
    warning = "" if measured.verdict.free else "COLLIDES"
    return method_title(attempt), f"path {measured.joint_length:.2f} rad", warning


def executed_log(world: PyBulletWorld, result: QueryResult, attempt: Attempt) -> Log:
    """The log of a kinematic execution, to film."""
    trajectory, state = attempt.trajectory, result.query.state
    assert trajectory is not None
    held = state.held
    riding = () if held is None else (Attachment("item", world.scene.items[held].name),)
    ends = JointPath("arm", trajectory(trajectory.breaks[[0, -1]]))
    motion = Motion(0, attempt.method, "arm", ends, trajectory, riding)
    executor = KinematicExecutor(world, state)
    executor.execute(motion, result.query.about or result.query.name)
    return executor.log()


def method_title(attempt: Attempt) -> str:
    """The method's title, with the fallback method if there was one."""
    title = TITLES[attempt.method]
    if attempt.by in ("", attempt.method):
        return title
    return f"{title} (by {TITLES.get(attempt.by, attempt.by)})"


def _rgb(color: str) -> tuple[int, int, int]:
    """``#rrggbb`` as red, green and blue."""
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)
