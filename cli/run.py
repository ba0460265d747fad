"""``galley run``: solves and executes a task, and prints progress and result."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from galley.cli.arguments import (
    count,
    given,
    index,
    motion_options,
    optimize_option,
    task_files,
    task_options,
)

if TYPE_CHECKING:
    from galley.cli.progress import Printer
    from galley.results.recorded_run import RecordedRun

EPILOG = """results, in --out:
  report.json       what happened and why (docs/report.md)
  plan.txt          the symbolic plan, an action a line
  trajectories.npz  every motion's trajectory
  states.npz        every executed state, with contacts and forces
  simulation.mp4    the film
  robot/            with --execute files: a file for each motion (docs/disturbances.md)

examples:
  galley run --noise moderate --seed 4      friction, masses and poses are not as the scene says
  galley run --fault topple:spam            the can is knocked over before it is grasped
  galley run --execute kinematic            no physics: what is planned is what happens"""


def add_arguments(p: argparse.ArgumentParser) -> None:
    """The options of ``galley run``."""
    task_options(p)
    p.add_argument(
        "--skills", type=Path, help="Python file with skills of your own for the domain's actions"
    )
    p.add_argument(
        "--planner",
        choices=("rrt-connect", "rrt", "anytime"),
        help="for free arm motions: RRT-Connect, the baseline RRT, or RRT-Connect that goes on "
        "searching for shorter paths (default rrt-connect; with --checker pybullet rrt, for the "
        "base too)",
    )
    p.add_argument(
        "--checker",
        choices=("kernel", "pybullet"),
        default="kernel",
        help="collision checker of the planners: the compiled kernel, or PyBullet, many times "
        "slower, with the baseline RRT in Python (default kernel)",
    )
    p.add_argument(
        "--arrival",
        choices=("box", "l1"),
        default="box",
        help="how the baseline RRT tests for arrival: a box, or the L1 norm (default box)",
    )
    optimize_option(
        p,
        ": splines within all limits, proven to keep their distance; the planned path, corners "
        "rounded, as fast as possible; the baseline QP on the arm's paths; or the path with a stop "
        "at each corner",
    )
    p.add_argument(
        "--execute",
        choices=("physics", "kinematic", "files", "none"),
        default="physics",
        help="under PyBullet's dynamics, observing after each motion and replanning where the "
        "world is not as planned; or joint states set over time, quick and without forces; or "
        "that and files for a real arm, in OUT/robot; or stop after planning (default physics)",
    )
    p.add_argument(
        "--noise",
        metavar="HOW",
        help="perturb the simulated world and its observation, from the seed: low, "
        "moderate, high, or some of friction=SHARE,mass=SHARE,position=M,turn=RAD,observation=M,"
        "observation_turn=RAD (default: none)",
    )
    p.add_argument(
        "--fault",
        metavar="FAULT",
        help="let something go wrong on purpose: nudge:ITEM, topple:ITEM, slippery:ITEM, "
        "stuck:DRAWER, stuck-for-good:DRAWER or push-base; several with commas between "
        "(docs/disturbances.md)",
    )
    p.add_argument(
        "--recoveries",
        type=index,
        metavar="N",
        help="how often a run may replan before it gives up (default 8)",
    )
    p.add_argument("--node-limit", type=count, help="states the task planner may expand")
    motion_options(p)


def command(arguments: argparse.Namespace) -> int:
    """Run the pipeline; exit status 0 only if the goal holds in the executed geometry."""
    implied = "rrt" if arguments.checker == "pybullet" else "rrt-connect"
    arguments.planner = arguments.planner or implied
    if arguments.checker == "pybullet" and arguments.planner != implied:
        raise argparse.ArgumentTypeError(
            f"--planner {arguments.planner} needs --checker kernel; "
            "in PyBullet the baseline RRT plans: --planner rrt"
        )
    if arguments.execute != "physics" and (arguments.noise or arguments.fault):
        named = "--noise" if arguments.noise else "--fault"
        raise argparse.ArgumentTypeError(f"{named} needs --execute physics")
    from galley.cli.progress import Printer
    from galley.execution.disturbance.noise import parse_noise
    from galley.results.recorded_run import Options, record_run

    options = given(arguments, Options) | task_files(arguments)
    if arguments.noise is not None:
        options["noise"] = parse_noise(arguments.noise)
    printer = Printer()
    try:
        run = record_run(Options(**options), printer)
    finally:
        printer.close()
    return _print_result(printer, run)


def _print_result(printer: Printer, run: RecordedRun) -> int:
    from rich.text import Text

    report, console = run.report, printer.console
    verdict = report.validation
    if verdict is not None:
        for fact in verdict.goal_facts:
            mark = ("holds", "green") if fact.holds else ("does not hold", "red")
            console.print(Text.assemble(f"{fact.fact}  ", mark, f": {fact.why}"))
        console.print(
            f"validated {verdict.states_checked} states: deepest undeclared contact "
            f"{1e3 * verdict.max_penetration_m:.2f} mm, {verdict.limit_violations} limits exceeded"
        )
    for fault in report.injected:
        console.print(f"fault: {fault}")
    if report.recoveries:
        console.print(f"replanned {len(report.recoveries)} times")
    timing = report.as_json()["timing_s"]
    spent = ", ".join(f"{stage} {s:.1f} s" for stage, s in timing.items())
    console.print(f"time: {spent}")
    if report.video is not None and "error" in report.video:
        print(f"no film: {report.video['error']}", file=sys.stderr)
    elif report.video is not None:
        console.print(
            f"filmed: {report.video['frames']} pictures in {report.video['seconds']:.1f} s"
        )
    console.print(f"{report.status}: {run.folder}/report.json", soft_wrap=True)
    if report.failure is not None:
        print(f"{report.status}: {report.failure}", file=sys.stderr)
    return 0 if report.status == "success" else 1
