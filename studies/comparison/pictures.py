"""The figure and the films of one query.

The figure plots joint positions and velocities, the hand's path, and the clearance where it is
small. The films show two methods, alone and side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.domain.frames import Array
from galley.domain.log import Log
from galley.execution.kinematic import KinematicExecutor
from galley.motion.motion import Attachment, Motion
from galley.motion.path import Path as JointPath
from galley.robots.model import JointGroup, RobotModel
from galley.studies.comparison.measures import CLEARANCE_CAP, Measurements
from galley.studies.comparison.methods import DEFAULT, FILES, TITLES, Attempt
from galley.studies.comparison.summary import QueryResult
from galley.viz.figures import figure_file
from galley.viz.film.side_by_side import FilmedRun, film_side_by_side
from galley.viz.film.video import FilmOptions, film, viewpoint

# The colour of each method, from Okabe and Ito's palette for colour-blind readers, and the width of
# its lines in points. The widths differ, so that lines that coincide are all visible.
STYLES = {
    "rrt": ("#D55E00", 1.2),
    "rrt-pybullet": ("#56B4E9", 1.2),
    "shortcut": ("#E69F00", 3.2),
    "shortest": ("#CC79A7", 5.0),
    "smooth": ("#0072B2", 1.6),
    "time-optimal": ("#009E73", 2.4),
}
_VIEWS = (("from above", 0, 1), ("from the side", 0, 2), ("from the front", 1, 2))
_AXES = "xyz"
_ROOM = 0.15  # m shown around the paths of the hand
_GREY = "#777777"


_Row = tuple[Attempt, Measurements]


# -- one query -------------------------------------------------------------------------------------


def draw_query(path: Path | str, result: QueryResult, robot: RobotModel) -> None:
    """Draw one query as a PNG file, with every method that has a trajectory.

    Nothing is written if no method has one.

    Raises:
        BadInput: ``path`` can't be written.
    """
    attempts = (result.row(method) for method in STYLES)
    rows = [(attempt, measured) for attempt, measured in attempts if measured is not None]
    if not rows:
        return
    state, group = result.query.state, robot.group("arm")
    foot = robot.foot_pose(state.q)[:3, 3]
    # If all methods stay beyond the largest clearance that is measured, there is none to draw.
    near = min(measured.clearance for _, measured in rows) < CLEARANCE_CAP
    right = ("hand", "clearance" if near else "hand")
    names = [[f"q{j}", f"v{j}", right[2 * j > group.size]] for j in range(group.size)]
    with figure_file(path, (16.0, 11.0)) as figure:
        axes = figure.subplot_mosaic(names, width_ratios=(1.0, 1.0, 1.35))
        figure.subplots_adjust(0.06, 0.055, 0.985, 0.86, wspace=0.22, hspace=0.45)
        for j in range(group.size):
            _joint(axes[f"q{j}"], axes[f"v{j}"], j, rows, group)
        axes["q0"].set_title("joint positions")
        axes["v0"].set_title("joint velocities, limits dashed")
        _hands(axes["hand"], rows, foot)
        if near:
            _clearance(axes["clearance"], rows)
        for plot in axes.values():
            plot.grid(alpha=0.25)
        figure.align_ylabels()
        title = f"{result.query.name}: {result.query.about}"
        figure.suptitle(title, x=0.015, y=0.98, ha="left", fontsize=15, fontweight="bold")
        layout = {"loc": "upper left", "bbox_to_anchor": (0.01, 0.96), "frameon": False}
        figure.legend(*axes["q0"].get_legend_handles_labels(), **layout, ncols=3, fontsize=11)


def _label(attempt: Attempt, measured: Measurements) -> str:
    """The text in the legend: method, duration, length in joint space, and verdict."""
    hit = measured.verdict.first
    verdict = "free" if hit is None else f"COLLIDES ({hit.pair[0]}, {hit.pair[1]})"
    return (
        f"{method_title(attempt)}: {measured.duration:.2f} s, "
        f"{measured.joint_length:.2f} rad, {verdict}"
    )


def _style(attempt: Attempt) -> dict[str, Any]:
    """The style of a method's lines. Wide lines are drawn under narrow ones."""
    color, width = STYLES[attempt.method]
    return {"color": color, "linewidth": width, "zorder": 3.0 - 0.01 * width}


def _cross(axes: Any, attempt: Attempt, x: float, y: float) -> None:
    """Mark the first collision of a trajectory, at (x, y) in the plot."""
    axes.plot(x, y, "X", color=STYLES[attempt.method][0], markersize=13, mec="black", zorder=4)


def _joint(left: Any, right: Any, j: int, rows: Sequence[_Row], group: JointGroup) -> None:
    """Plot position (left) and velocity (right) of joint ``j`` over time, for every method."""
    for attempt, measured in rows:
        curve, style = measured.curve, _style(attempt)
        left.plot(curve.time, curve.position[:, j], label=_label(attempt, measured), **style)
        right.plot(curve.time, curve.velocity[:, j], **style)
    for sign in (-1.0, 1.0):
        right.axhline(sign * group.velocity[j], color=_GREY, linewidth=1.0, linestyle="--")
    left.set_title(group.joints[j], loc="left", fontsize=9)
    left.set_ylabel(group.units[j])
    right.set_ylabel(f"{group.units[j]}/s")
    for axes in (left, right):
        axes.margins(x=0.01)
        axes.tick_params(labelbottom=j == group.size - 1)
        axes.set_xlabel("time, s" if j == group.size - 1 else "")


def _hands(axes: Any, rows: Sequence[_Row], foot: Array) -> None:
    """Plot the hand's path (m, in the world) of every method, with start, end and the base."""
    points = np.concatenate([measured.curve.hand for _, measured in rows])
    # Project along the axis that leaves the paths the largest area.
    size = np.ptp(points, axis=0)
    name, a, b = max(_VIEWS, key=lambda view: size[view[1]] * size[view[2]])
    shown = np.concatenate([points[:, [a, b]], foot[None, [a, b]]])
    low, high = shown.min(axis=0) - _ROOM, shown.max(axis=0) + _ROOM
    for attempt, measured in rows:
        curve, hit = measured.curve, measured.verdict.first
        axes.plot(curve.hand[:, a], curve.hand[:, b], **_style(attempt))
        if hit is not None:
            _cross(axes, attempt, *curve.hand[np.searchsorted(curve.time, hit.time), [a, b]])
    for text, p, mark in (("start", points[0], "o"), ("end", points[-1], "s"), ("base", foot, "P")):
        axes.plot(p[a], p[b], mark, color="black", markersize=8)
        axes.annotate(text, (p[a], p[b]), xytext=(8, 6), textcoords="offset points")
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    axes.set_aspect("equal", adjustable="box", anchor="N")
    axes.set_title(f"the hand's path, {name}; a cross marks a collision")
    axes.set(xlabel=f"{_AXES[a]}, m", ylabel=f"{_AXES[b]}, m")


def _clearance(axes: Any, rows: Sequence[_Row]) -> None:
    """Plot clearance (mm) over time for every method, with gaps where it reaches the cap."""
    for attempt, measured in rows:
        curve, hit = measured.curve, measured.verdict.first
        within = np.where(curve.clearance < CLEARANCE_CAP, curve.clearance, np.nan)
        axes.plot(curve.clearance_time, 1e3 * within, **_style(attempt))
        if hit is not None:
            k = np.searchsorted(curve.clearance_time[:-1], hit.time)
            _cross(axes, attempt, hit.time, 1e3 * curve.clearance[k])
    axes.axhline(0.0, color="black", linewidth=1.0)
    axes.set(xlabel="time, s", ylabel=f"clearance where below {1e3 * CLEARANCE_CAP:.0f} mm, mm")
    axes.set_xlim(left=0.0)


# -- films -----------------------------------------------------------------------------------------


def film_query(
    folder: Path | str,
    world: PyBulletWorld,
    result: QueryResult,
    *,
    fps: float,
    height: int,
    speed: float,
    progress: Callable[[int, int], None],
) -> None:
    """Film the solutions of one query, all from one viewpoint.

    Writes ``rrt.mp4``, ``opt.mp4``, ``side_by_side.mp4`` with both, and ``qp.mp4`` if that method
    has a trajectory. The RRT and the default method must have one.

    Args:
        folder: the folder for the films.
        world: a PyBullet world of the scene; its state is changed.
        result: the query and its solutions.
        fps: pictures per second of film.
        height: of the pictures, pixels; an odd number is rounded down.
        speed: seconds of the run per second of film.
        progress: called with (pictures drawn, pictures to draw) of each film.
    """
    scene, robot, folder = world.scene, world.robot, Path(folder)
    takes = {}
    for method, name in FILES.items():
        attempt, measured = result.row(method)
        if measured is not None:
            takes[method] = FilmedRun(
                executed_log(world, result, attempt),
                folder / f"{name}.mp4",
                method_title(attempt),
                f"path {measured.joint_length:.2f} rad",
                _rgb(STYLES[method][0]),
                "" if measured.verdict.free else "COLLIDES",
            )
    pair = takes["rrt"], takes[DEFAULT]
    camera = viewpoint(pair[0].log, scene, robot)
    height = height // 2 * 2
    options = FilmOptions(
        fps=fps,
        width=height * 16 // 9 // 4 * 4,
        height=height,
        speed=speed,
        hold=1.5,
        camera=camera,
    )
    film_side_by_side(pair, scene, robot, folder / "side_by_side.mp4", camera, options, progress)
    if (qp := takes.get("shortest")) is not None:
        title = ", ".join(p for p in (f"{qp.title}: {qp.note}", qp.warning) if p)
        film(qp.log, scene, robot, qp.path, replace(options, title=title), progress)


def executed_log(world: PyBulletWorld, result: QueryResult, attempt: Attempt) -> Log:
    """The log of a kinematic execution of an attempt, which must have a trajectory."""
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
    """The method's title, followed by the fallback method if it was used."""
    title = TITLES[attempt.method]
    if attempt.by in ("", attempt.method):
        return title
    return f"{title} (by {TITLES.get(attempt.by, attempt.by)})"


def _rgb(color: str) -> tuple[int, int, int]:
    """The colour ``#rrggbb`` as red, green and blue, 0 to 255."""
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)
