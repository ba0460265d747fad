"""``galley run``: solves and executes a task, prints progress and the result."""

from __future__ import annotations

import argparse
import contextlib
import sys
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from galley.cli.common.arguments import Index, Positive, plural
from galley.cli.common.options import given
from galley.cli.common.shared import Motion, TaskFiles, optimize_option, run_option
from galley.domain.options import group, more, option

if TYPE_CHECKING:
    from galley.cli.common.progress import Printer
    from galley.engine import RecordedRun

EPILOG = """Open report.html in the results' folder first; docs/report.md has its files.

examples:
  galley run --problem my_task.pddl         another task in the same kitchen
  galley run --noise moderate --seed 4      friction, masses and poses differ from the scene file
  galley run --fault topple:spam            the can is knocked over before it is grasped
  galley run --robot my_robot.yaml          your arm (galley new robot writes its file)"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """Of ``galley run``; those without a value here have the default of ``stages.Options``."""

    task: TaskFiles = group(TaskFiles())
    planner: str | None = run_option(
        "planner",
        "Plan free arm motions by RRT-Connect or the baseline RRT. Default: rrt-connect; with "
        "--checker pybullet, rrt, also for the base.",
        default=None,
        more=True,
    )
    checker: str = run_option(
        "checker",
        "Check collisions by the compiled kernel, or by PyBullet with the baseline RRT in Python, "
        "which is many times slower.",
        more=True,
    )
    arrival: str = run_option("arrival", "Test the RRT's goal by box or L1 norm.", more=True)
    optimize: str = optimize_option(
        ": smooth, splines proven free at all times; time-optimal, the planned path with rounded "
        "corners, as fast as possible; shortest, the baseline QP on the arm's paths; none, the "
        "path with a stop at each corner"
    )
    execute: str = run_option(
        "execute",
        "Execute by physics, PyBullet's dynamics with monitoring and recovery; kinematic, joint "
        "states set over time, fast and without forces; files, that and files for a real arm in "
        "OUT/robot; or none, stop after planning.",
    )
    noise: str | None = option(
        None,
        "Add random errors to the simulated world and to observations: low, moderate, high, or "
        "KEY=NUMBER,... with the keys friction and mass (shares), position and observation (m), "
        "turn and observation_turn (rad). Default: none.",
        "HOW",
    )
    fault: str | None = option(
        None,
        "Inject faults, separated by commas: nudge:ITEM, topple:ITEM, slippery:ITEM, stuck:DRAWER, "
        "stuck-for-good:DRAWER, push-base; @2: the second time (docs/disturbances.md).",
        "FAULT",
    )
    recoveries: Index = run_option("recoveries", "Give up after this many recoveries.", more=True)
    view: bool = option(
        False,
        "Show planning and execution live in the browser, at an address that only this machine can "
        "open, until Ctrl-C: base poses and grasps tried, the path found, the robot.",
    )
    html: bool = more(True, "Write report.html. Default: yes; galley report does it later.")
    effort: Positive = run_option(
        "effort", "Search this many times as hard before giving up.", metavar="X", more=True
    )
    motion: Motion = group(Motion(height=540, speed=2.0))


def command(options: Options) -> int:
    """Run the pipeline; exit status 0 only if the goal holds in the executed geometry."""
    implied = "rrt" if options.checker == "pybullet" else "rrt-connect"
    planner = options.planner or implied
    if options.checker == "pybullet" and planner != implied:
        raise argparse.ArgumentTypeError(
            f"--planner {planner} needs --checker kernel; "
            "in PyBullet the baseline RRT plans: --planner rrt"
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
        view.stage(f"{run.report.status}: this stays in the browser until Ctrl-C")
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()
    return status


def _print_result(printer: Printer, run: RecordedRun) -> int:
    from galley.results.run_folder import PAGE, REPORT

    report, console = run.report, printer.console
    verdict = report.validation
    if verdict is not None:
        printer.goal(verdict.goal_facts)
        console.print(
            f"validated {verdict.states_checked} states: deepest undeclared contact "
            f"{1e3 * verdict.max_penetration_m:.2f} mm, {verdict.limit_violations} limits exceeded"
        )
    for fault in report.injected:
        console.print(f"fault: {fault}")
    corrections = sum(each.correction for each in report.recoveries)
    if corrections:
        console.print(f"{plural(corrections, 'correction')} of pushes")
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
