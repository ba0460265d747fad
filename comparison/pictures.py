"""Figures and films of a comparison: hands its results to ``viz``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from galley.comparison.measures import Measured
from galley.comparison.methods import TITLES, Attempt
from galley.comparison.summary import FIGURES, Result, figures, is_good, summarize
from galley.domain.log import Log
from galley.domain.scene.model import Scene
from galley.execution.kinematic import KinematicExecutor
from galley.motion.motion import Attachment, Motion
from galley.motion.path import Path as JointPath
from galley.robots.model import RobotModel
from galley.robots.panda.mobile import link0_pose
from galley.viz.figures.comparison import Line, Panel, Sample, compare_figure, distribution_figure
from galley.viz.film.side_by_side import Take, film_side_by_side
from galley.viz.film.video import film, viewpoint
from galley.viz.render.sightlines import furniture_boxes
from galley.worlds.engines.pybullet_world import PyBulletWorld

# Okabe and Ito's colours, which colour-blind readers can tell apart.
COLORS = {
    "rrt": "#D55E00",
    "rrt-pybullet": "#56B4E9",
    "shortcut": "#E69F00",
    "shortest": "#CC79A7",
    "smooth": "#0072B2",
    "time-optimal": "#009E73",
}
# How broad lines are: where they coincide all can be seen.
_WIDTHS = {
    "rrt": 1.2,
    "rrt-pybullet": 1.2,
    "shortcut": 3.2,
    "shortest": 5.0,
    "smooth": 1.6,
    "time-optimal": 2.4,
}
_PANELS = (
    Panel("duration_s", "duration, s"),
    Panel("joint_length_rad", "joint path length, rad"),
    Panel("hand_length_m", "hand path length, m"),
    Panel("min_clearance_m", "least clearance, mm", 1e3),
    Panel("acceleration_ratio", "peak acceleration / limit", limit=1.0),
    Panel("jerk_ratio", "peak jerk / limit", limit=1.0),
    Panel("solve_ms", "solve time, ms", logarithmic=True),
)


def draw_query(path: Path, result: Result, scene: Scene, robot: RobotModel) -> None:
    """The figure of one query: every method that has a trajectory."""
    lines = []
    for method, width in _WIDTHS.items():
        attempt, measured = result.row(method)
        if measured is not None:
            lines.append(_line(attempt, measured, width))
    if not lines:
        return
    state, group = result.query.state, robot.group("arm")
    foot = link0_pose(state.q[robot.slice("base")], scene.robot.base)[:3, 3]
    furniture = furniture_boxes(scene, state.scene_q)
    title = f"{result.query.name}: {result.query.about}"
    compare_figure(path, title, lines, group, furniture, foot)


def _line(attempt: Attempt, measured: Measured, width: float) -> Line:
    curve, hit = measured.curve, measured.verdict.first
    verdict = "free" if hit is None else f"COLLIDES ({hit.pair[0]}, {hit.pair[1]})"
    told = f"{measured.duration:.2f} s, {measured.joint_length:.2f} rad"
    return Line(
        f"{title_of(attempt)}: {told}, {verdict}",
        COLORS[attempt.method],
        curve.time,
        curve.position,
        curve.velocity,
        curve.hand,
        curve.clearance_time,
        curve.clearance,
        None if hit is None else hit.time,
        width,
    )


def draw_distributions(path: Path, results: Sequence[Result]) -> None:
    """The figure of many queries: for each method its spread over those where it is good."""
    samples = []
    for summary in summarize(results):
        rows = [r.row(summary.method) for r in results]
        table = [figures(a, m) for a, m in rows if m is not None and is_good(m)]
        values = {name: [row[name] for row in table] for name in FIGURES}
        share = summary.good / summary.queries
        samples.append(Sample(TITLES[summary.method], COLORS[summary.method], share, values))
    distribution_figure(path, f"{len(results)} queries", samples, _PANELS)


def film_query(
    folder: Path,
    world: PyBulletWorld,
    result: Result,
    pair: tuple[Attempt, Attempt],
    qp: Attempt | None,
    *,
    fps: float,
    height: int,
    speed: float,
    progress: Callable[[int, int], None],
) -> None:
    """Films from one place: ``rrt``, ``opt`` and ``side_by_side`` of a pair, and ``qp.mp4``."""
    scene, robot = world.scene, world.robot
    takes = []
    for attempt, name in zip(pair, ("rrt", "opt"), strict=True):
        title, note, warning = _words(result, attempt)
        color, log = _rgb(COLORS[attempt.method]), record(world, result, attempt)
        takes.append(Take(log, folder / f"{name}.mp4", title, note, color, warning))
    camera = viewpoint(takes[0].log, scene, robot)
    height = height // 2 * 2
    film_side_by_side(
        (takes[0], takes[1]),
        scene,
        robot,
        folder / "side_by_side.mp4",
        camera,
        fps=fps,
        height=height,
        speed=speed,
        progress=progress,
    )
    if qp is not None:
        title, note, warning = _words(result, qp)
        film(
            record(world, result, qp),
            scene,
            robot,
            folder / "qp.mp4",
            fps=fps,
            width=height * 16 // 9 // 4 * 4,
            height=height,
            speed=speed,
            title=", ".join(part for part in (f"{title}: {note}", warning) if part),
            hold=1.5,
            camera=camera,
            progress=progress,
        )


def _words(result: Result, attempt: Attempt) -> tuple[str, str, str]:
    """What a film says of an attempt: title, note and warning."""
    _, measured = result.row(attempt.method)
    assert measured is not None
    warning = "" if measured.verdict.free else "COLLIDES"
    return title_of(attempt), f"path {measured.joint_length:.2f} rad", warning


def record(world: PyBulletWorld, result: Result, attempt: Attempt) -> Log:
    """Run a trajectory kinematically and keep the log, for its film."""
    trajectory, state = attempt.trajectory, result.query.state
    assert trajectory is not None
    held = state.held
    riding = () if held is None else (Attachment("item", world.scene.items[held].name),)
    ends = JointPath("arm", trajectory(trajectory.breaks[[0, -1]]))
    motion = Motion(0, attempt.method, "arm", ends, trajectory, riding)
    executor = KinematicExecutor(world, state)
    executor.execute(motion, result.query.about or result.query.name)
    return executor.log()


def title_of(attempt: Attempt) -> str:
    """The method's name, and who stood in for it."""
    title = TITLES[attempt.method]
    if attempt.by in ("", attempt.method):
        return title
    return f"{title} (by {TITLES.get(attempt.by, attempt.by)})"


def _rgb(color: str) -> tuple[int, int, int]:
    """Red, green and blue of ``#rrggbb``."""
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)
