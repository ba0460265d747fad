"""``galley trajectory``: compares a run's trajectories with the limits; exports and films them."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from galley.cli.common.arguments import Index, SampleRate, check_output
from galley.cli.common.shared import scene_option
from galley.cli.common.tables import PlainTable
from galley.domain.errors import BadInput
from galley.domain.options import argument, more, option
from galley.results.run_folder import REPORT, STORE

if TYPE_CHECKING:
    from galley.cli.common.progress import Printer
    from galley.optimization.torques import TorqueCheck
    from galley.results.stored_run import StoredRun

_SLACK = 1e-3  # fraction of a limit by which rounding may exceed it
_MOST = 5e6  # samples of one motion, 80 minutes at 1 kHz
INERTIALS = "identified"  # the default masses for torques
_OUTPUTS = (("csv", ".csv"), ("ros", ".json"), ("mp4", ".mp4"))

EPILOG = """examples:
  galley trajectory runs/NAME --motion 5 --csv m.csv --ros m.json   export for a real arm
  galley trajectory runs/NAME --motion 4 --mp4 lift.mp4    film it

The exit status is also 1 if a trajectory exceeds a limit of the robot."""


@dataclass(frozen=True, kw_only=True)
class TrajectoryOptions:
    """Options of ``galley trajectory``."""

    run: Path = argument("Folder of a run, or a trajectory's .npz file.", "RUN")
    motion: Index | None = option(None, "Only motion K, counted from 0.", "K")
    scene: Path | None = scene_option("the run's scene, or the kitchen")
    csv: Path | None = option(None, "Export one motion as CSV.")
    ros: Path | None = option(None, "Export one motion as a ROS JointTrajectory in JSON.")
    rate: SampleRate | None = more(None, "Samples per second. Default: CSV 1000, ROS 100.")
    mp4: Path | None = option(None, "Film the motions as MP4.")
    torques: bool = more(True, "Compute joint torques with Drake.")
    inertials: Literal["identified", "urdf"] | None = more(
        None,
        "Masses and inertias of the arm: published identified values, or the URDF's. Default: "
        "identified.",
    )


def command(options: TrajectoryOptions) -> int:
    """Print the table and write the outputs; the exit status is 1 if a motion exceeds a limit."""
    from galley.cli.common.progress import Printer
    from galley.motion.trajectory.export import CSV_RATE
    from galley.results.stored_run import read_run

    if options.rate is not None and not (options.csv or options.ros):
        raise argparse.ArgumentTypeError("argument --rate: needs --csv or --ros")
    if options.inertials is not None and not options.torques:
        raise argparse.ArgumentTypeError("argument --inertials: not allowed with --no-torques")
    _check_outputs(options)
    stored = read_run(options.run, options.scene, STORE)
    chosen = _chosen(stored, options.motion)
    if (options.csv or options.ros) and len(chosen) != 1:
        what = f"holds {len(chosen)} motions, but --csv and --ros write one: add --motion"
        raise BadInput.one(stored.file, what)
    if options.mp4 and len(chosen) > 1 and not stored.complete:
        raise BadInput.one(stored.file, "has only motions, no run: choose one with --motion")
    for k in chosen:
        seconds = stored.planned[k].trajectory.duration
        if seconds * max(options.rate or 0.0, CSV_RATE) > _MOST:
            raise BadInput.one(stored.file, f"motion {k} lasts {seconds:.3g} s, too long to sample")
    inertials = (options.inertials or INERTIALS) if options.torques else None
    rows = {k: _row(stored, k, inertials) for k in chosen}
    printer = Printer()
    printer.console.print(_table(stored, rows))
    if options.torques:
        printer.console.print(_about_torques(stored, rows))
    _export(options, stored, chosen[0], printer)
    for k, row in rows.items():
        for fault in row.faults:
            print(f"motion {k}: {fault}", file=sys.stderr)
    status = int(any(row.faults for row in rows.values()))
    if options.mp4:
        status = max(status, _film(stored, chosen, options.mp4, printer))
    return status


@dataclass(frozen=True)
class MotionRow:
    """The figures of one motion in the table.

    Attributes:
        duration: seconds.
        length: path length in joint space.
        ratios: highest velocity, acceleration and jerk, as fractions of their limits.
        torque: the joint torques, or None if they are not computed.
        faults: one sentence per limit that the motion exceeds.
    """

    duration: float
    length: float
    ratios: tuple[float, float, float]
    torque: TorqueCheck | None
    faults: tuple[str, ...]


def _check_outputs(options: TrajectoryOptions) -> None:
    """Refuse outputs that can't be written, before any is written."""
    for name, suffix in _OUTPUTS:
        path: Path | None = getattr(options, name)
        if path is not None and path.name == REPORT:
            raise BadInput.one(path, "is a run's report: choose another name")
        check_output(path, suffix, option=f"--{name}")


def _chosen(stored: StoredRun, motion: int | None) -> tuple[int, ...]:
    count = len(stored.planned)
    if motion is None:
        return tuple(range(count))
    if motion >= count:
        raise BadInput.one(stored.file, f"has no motion {motion}: its motions are 0 to {count - 1}")
    return (motion,)


def _row(stored: StoredRun, k: int, inertials: str | None) -> MotionRow:
    """The figures of motion k; with torques unless ``inertials`` is None."""
    import numpy as np

    from galley.motion.trajectory.trajectory import limit_ratios

    motion = stored.planned[k]
    robot, state = stored.robot.acting(motion.hand), stored.states[k]
    trajectory = motion.trajectory
    group = robot.group(trajectory.group)
    faults = []
    low, high = trajectory.extremes()
    beyond = np.maximum(group.lower - low, high - group.upper)
    j = int(beyond.argmax())
    if not beyond[j] <= 1e-6:
        faults.append(f"{group.joints[j]} goes {beyond[j]:.2g} {group.units[j]} beyond its limit")
    ratios = limit_ratios(trajectory, group)
    for name, ratio in zip(("velocity", "acceleration", "jerk"), ratios, strict=True):
        if not ratio <= 1.0 + _SLACK:  # true for NaN, too
            faults.append(f"uses {100 * ratio:.1f} % of the {name} limit")
    torque = None
    if inertials is not None:
        from galley.optimization.torques import HeldItem, TorqueModel

        item = state.held
        held = None if item is None else HeldItem(stored.scene.items[item], state.items[item].X_PI)
        torque = TorqueModel(robot, held, inertials).check(trajectory, state.q)
        if not torque.passed:
            faults.append(str(torque))
    return MotionRow(trajectory.duration, trajectory.length(), ratios, torque, tuple(faults))


def _table(stored: StoredRun, rows: dict[int, MotionRow]) -> PlainTable:
    figures = (">s", ">length", ">vel %", ">acc %", ">jerk %", ">torque %")
    names = (">motion", "action", "phase", "group", *figures, "of joint")
    table = PlainTable(*names, spare=("of joint", "length", "group", "jerk %", "acc %"))
    last = ""
    for k, row in rows.items():
        action, _, phase = stored.lines[k].partition(" | ")
        action = action.strip("()")
        table.add_row(
            str(k),
            action if action != last else "",
            phase,
            f"{stored.planned[k].hand} {stored.planned[k].group}".strip(),
            f"{row.duration:.2f}",
            f"{row.length:.3f}",
            *(f"{100 * ratio:.0f}" for ratio in row.ratios),
            "" if row.torque is None else f"{100 * row.torque.ratio.max():.0f}",
            "" if row.torque is None else row.torque.joints[row.torque.worst],
        )
        last = action
    return table


def _about_torques(stored: StoredRun, rows: dict[int, MotionRow]) -> str:
    """A sentence about the highest torque, the source of the masses, and what it leaves out."""
    checks = {k: row.torque for k, row in rows.items() if row.torque is not None}
    k = max(checks, key=lambda k: float(checks[k].ratio.max()))
    source = "published identified" if checks[k].inertials == "identified" else "the URDF's"
    load = (
        ""
        if stored.complete
        else "; the hand is assumed empty, as the file does not record what it holds"
    )
    where = f"motion {k}: " if len(rows) > 1 else ""
    return f"torques: {where}{checks[k]}; {source} masses and inertias, no friction{load}"


def _export(options: TrajectoryOptions, stored: StoredRun, k: int, printer: Printer) -> None:
    from galley.motion.trajectory.export import CSV_RATE, ROS_RATE, write_csv, write_ros

    trajectory = stored.planned[k].trajectory
    group = stored.robot.acting(stored.planned[k].hand).group(trajectory.group)
    if options.csv:
        count = write_csv(options.csv, trajectory, group, options.rate or CSV_RATE)
        printer.console.print(f"{options.csv}: {count} rows")
    if options.ros:
        count = write_ros(options.ros, trajectory, group, options.rate or ROS_RATE)
        printer.console.print(f"{options.ros}: {count} points")


def _film(stored: StoredRun, chosen: tuple[int, ...], path: Path, printer: Printer) -> int:
    """Film the chosen motions, executed kinematically from the start of the first."""
    from galley.collision.backends.pybullet_world import PyBulletWorld
    from galley.execution.kinematic import KinematicExecutor, execute_all
    from galley.viz.film.video import FilmOptions, film

    motions = tuple(stored.planned[k] for k in chosen)
    lines = tuple(stored.lines[k] or f"trajectory {k} | " for k in chosen)
    with PyBulletWorld(stored.scene, stored.robot) as world:
        log = execute_all(KinematicExecutor(world, stored.states[chosen[0]]), motions, lines)
    info = printer.film(film, log, stored.scene, stored.robot, path, FilmOptions(fps=20.0))
    if info is None:
        return 1
    printer.console.print(f"{path}: {info.duration_s:.1f} s")
    return 0
