"""``galley run``: prints how it goes and what came of it."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from rich.text import Text

from galley.commands.progress import Printer
from galley.engine import KITCHEN, Options, Outcome
from galley.engine import run as run_engine
from galley.simulation.noise import parse_noise


def run_command(arguments: argparse.Namespace) -> int:
    """Run the pipeline; exit status 0 only if the goal holds in the executed geometry."""
    options = Options(
        scene=kitchen_file(arguments.scene, "kitchen.yaml"),
        domain=kitchen_file(arguments.domain, "kitchen.pddl"),
        problem=kitchen_file(arguments.problem, "task.pddl"),
        skills=arguments.skills,
        seed=arguments.seed,
        out=arguments.out,
        planner=arguments.planner,
        checker=arguments.checker,
        optimize=arguments.optimize,
        arrival=arguments.arrival,
        execute=arguments.execute,
        noise=None if arguments.noise is None else parse_noise(arguments.noise),
        fault=arguments.fault,
        video=arguments.video,
        height=arguments.height,
        fps=arguments.fps,
        speed=arguments.speed,
        node_limit=arguments.node_limit,
    )
    if arguments.recoveries is not None:
        options = replace(options, recoveries=arguments.recoveries)
    printer = Printer()
    try:
        outcome = run_engine(options, printer)
    finally:
        printer.close()
    return _tell(printer, outcome)


def kitchen_file(given: Path | None, default: str) -> Path:
    """The file named; one of the kitchen's by its bare name, where there is none here."""
    if given is None:
        return KITCHEN / default
    ours = KITCHEN / given
    return ours if given.name == str(given) and not given.exists() and ours.exists() else given


def _tell(printer: Printer, outcome: Outcome) -> int:
    report, console = outcome.report, printer.console
    found = report.validation
    if found is not None:
        for fact in found.goal_facts:
            mark = ("holds", "green") if fact.holds else ("does not hold", "red")
            console.print(Text.assemble(f"{fact.fact}  ", mark, f": {fact.why}"))
        console.print(
            f"validated {found.states_checked} states: deepest undeclared contact "
            f"{1e3 * found.max_penetration_m:.2f} mm, {found.limit_violations} limits exceeded"
        )
    for told in report.injected:
        console.print(f"fault: {told}")
    if report.recoveries:
        console.print(f"planned anew {len(report.recoveries)} times")
    timing = report.as_json()["timing_s"]
    spent = ", ".join(f"{stage} {s:.1f} s" for stage, s in timing.items())
    console.print(f"time: {spent}")
    if report.video is not None and "error" in report.video:
        print(f"no film: {report.video['error']}", file=sys.stderr)
    elif report.video is not None:
        console.print(
            f"filmed: {report.video['frames']} pictures in {report.video['seconds']:.1f} s"
        )
    console.print(f"{report.status}: {outcome.folder}/report.json", soft_wrap=True)
    if report.failure is not None:
        print(f"{report.status}: {report.failure}", file=sys.stderr)
    return 0 if report.status == "success" else 1
