"""``galley run``: plans and executes a task, prints progress and the result."""

from __future__ import annotations

import argparse
import contextlib
import sys
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from galley.cli.common.arguments import Index, Positive, plural
from galley.cli.common.options import given
from galley.cli.common.shared import MotionOptions, TaskFiles, optimize_option, run_option
from galley.domain.options import group, more, option

if TYPE_CHECKING:
    from galley.cli.common.progress import Printer
    from galley.engine import RecordedRun

EPILOG = """Open report.html in the results folder first; docs/report.md describes the files.

examples:
  galley run --problem my_task.pddl         another task in the same kitchen
  galley run --noise moderate --seed 4      friction, masses and poses differ from the scene file
  galley run --fault topple:spam            the can is knocked over before it is grasped
  galley run --robot my_robot.yaml          your own arm (galley new robot writes its file)"""


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Options of ``galley run``; ``stages.Options`` has the defaults that are not set here."""

    task: TaskFiles = group(TaskFiles())
    planner: str | None = run_option(
        "planner",
        "Planner of free arm motions: RRT-Connect or the baseline RRT. Default: rrt-connect; with "
        "--checker pybullet, rrt, which then plans base motions too.",
        default=None,
        more=True,
    )
    checker: str = run_option(
        "checker",
        "Collision checker: the compiled kernel, or PyBullet with the baseline RRT in Python, "
        "which is many times slower.",
        more=True,
    )
    arrival: str = run_option("arrival", "Goal region of the baseline RRT: box or L1.", more=True)
    optimize: str = optimize_option(
        ": smooth (splines proven free of collision at all times), time-optimal (the planned path "
        "with rounded corners, as fast as possible), shortest (the baseline QP on arm paths) or "
        "none (the path with a stop at each corner)"
    )
    execute: str = run_option(
        "execute",
        "Executor: physics (PyBullet's dynamics, with monitoring and recovery), kinematic (joint "
        "states set over time, fast, without forces), files (kinematic, plus files for a real arm "
        "in OUT/robot) or none (stop after planning).",
    )
    noise: str | None = option(
        None,
        "Random errors of the simulated world and of observations: low, moderate, high, or "
        "KEY=NUMBER,... with the keys friction and mass (fractions), position and observation (m), "
        "turn and observation_turn (rad). Default: none.",
        "HOW",
    )
    fault: str | None = option(
        None,
        "Faults to inject, separated by commas: nudge:ITEM, topple:ITEM, slippery:ITEM, "
        "stuck:DRAWER, stuck-for-good:DRAWER, push-base; @2: second time (docs/disturbances.md).",
        "FAULT",
    )
    recoveries: Index = run_option("recoveries", "Maximum number of recoveries.", more=True)
    view: bool = option(
        False,
        "Show planning and execution live in the browser until Ctrl-C: the base poses and grasps "
        "tried, the path found, the robot. Only this machine can open the address.",
    )
    html: bool = more(True, "Write report.html; galley report can do it later.")
    effort: Positive = run_option(
        "effort", "Multiplier of the search effort before giving up.", metavar="X", more=True
    )
    motion: MotionOptions = group(MotionOptions(height=540, speed=2.0))


def command(options: RunOptions) -> int:
    """Run the pipeline; the exit status is 0 only if the goal holds in the executed geometry."""
    implied = "rrt" if options.checker == "pybullet" else "rrt-connect"
    planner = options.planner or implied
    if options.checker == "pybullet" and planner != implied:
        raise argparse.ArgumentTypeError(
            f"--planner {planner} needs --checker kernel; --checker pybullet needs --planner rrt"
        )
    from galley.cli.common.progress import Printer
    from galley.execution.disturbance.noise import parse_noise
    from galley.stages import Options as RunOptions

    chosen = given(options, RunOptions) | options.task.paths() | {"planner": planner}
    if options.noise is not None:
        chosen["noise"] = parse_noise(options.noise)
    with Printer() as printer:
        view = None
        if options.view:
            from galley.viz.replay.live import LiveView

            view = LiveView(printer)
            printer.stage(f"in the browser: {view.address}")
        from galley.engine import record_run

        run = record_run(RunOptions(**chosen), view or printer)
    status = _print_result(printer, run)
    if view is not None:
        view.stage(f"{run.report.status}: shown in the browser until Ctrl-C")
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()
    return status


def _print_result(printer: Printer, run: RecordedRun) -> int:
    """Print verdict, faults, recoveries, times and the results' place; returns the exit status."""
    from galley.results.run_folder import PAGE, REPORT

    report, console = run.report, printer.console
    verdict = report.validation
    if verdict is not None:
        printer.goal(verdict.goal_facts)
        console.print(
            f"validated {verdict.states_checked} states: deepest unexpected contact "
            f"{1e3 * verdict.max_penetration_m:.2f} mm, {verdict.limit_violations} limits exceeded"
        )
    for fault in report.injected:
        console.print(f"fault: {fault}")
    corrections = sum(recovery.correction for recovery in report.recoveries)
    if corrections:
        console.print(plural(corrections, "push correction"))
    if recovered := len(report.recoveries) - corrections:
        console.print(plural(recovered, "recovery"))
    timing = report.as_json()["timing_s"]
    spent = ", ".join(f"{stage} {s:.1f} s" for stage, s in timing.items())
    console.print(f"time: {spent}")
    if report.video is not None and "error" in report.video:
        print(f"no film: {report.video['error']}", file=sys.stderr)
    elif report.video is not None:
        console.print(
            f"filmed: {report.video['frames']} pictures in {report.video['seconds']:.1f} s"
        )
    if report.failure is not None:
        print(f"{report.status}: {report.failure}", file=sys.stderr)
    made = run.folder / PAGE
    left = f"open {made}" if made.is_file() else f"{run.folder}/{REPORT}"
    console.print(f"{report.status}: {left}", soft_wrap=True)
    return 0 if report.status == "success" else 1
