"""``galley verify run``: validates a stored run again."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from galley.cli.common.arguments import check_output, plural, write_json
from galley.cli.common.shared import json_option, scene_option
from galley.domain.options import argument, option

if TYPE_CHECKING:
    from galley.cli.common.progress import Printer
    from galley.results.stored import Stored
    from galley.validation import Verdict

_SILENT_S = 2.0  # before progress is shown
_LISTED = 50  # violations printed

EPILOG = """Every executed state is loaded into PyBullet and judged from states.npz and the scene
alone; docs/validation.md has what is checked, and the tolerances.

examples:
  galley verify run runs/mine --problem other.pddl      the same run against another goal
  galley verify run states.npz --scene my_kitchen.yaml  a log alone: no goal is judged

The exit status is 1 also if the run passes but its goal is not reached."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """Of ``galley verify run``."""

    run: Path = argument("Read this run: its folder, or a states.npz.", "RUN")
    scene: Path | None = scene_option("the run's own")
    domain: Path | None = option(None, "Take this PDDL domain. Default: the run's own.")
    problem: Path | None = option(None, "Judge this problem's goal. Default: the run's own.")
    skills: Path | None = option(None, "Ask this Python file's skills how the goal is judged.")
    json: Path | None = json_option("the verdict")


def command(options: Options) -> int:
    """Validate and print; 0 only without violations, with the goal reached if there is one, and
    with the files unchanged since the run."""
    from galley.cli.common.progress import Printer
    from galley.results.stored import read_run
    from galley.skills.own import load_skills
    from galley.validation import validate_run

    check_output(options.json, ".json", option="--json")
    stored = read_run(options.run, options.scene)
    own = {} if options.skills is None else load_skills(options.skills)
    goal = stored.goal(options.domain, options.problem, [each.judge for each in own.values()])
    log, mixed = stored.executed, stored.mixed()
    for change in stored.changes:
        print(f"warning: {change}", file=sys.stderr)
    printer, began = Printer(), time.perf_counter()

    def progress(share: float) -> None:
        if time.perf_counter() - began > _SILENT_S:
            printer.fraction("checking", share)

    with printer:
        verdict = validate_run(stored.scene, log, goal, progress)
    write_json(options.json, _as_json(stored, verdict))
    _print(printer, stored, verdict)
    faults = (verdict.faults, mixed)
    for some in filter(None, faults):
        more = f" (and {len(some) - 1} more)" if some[1:] else ""
        print(f"failed: {some[0]}{more}", file=sys.stderr)
    return 1 if any(faults) else 0


def _as_json(stored: Stored, verdict: Verdict) -> dict[str, object]:
    log = stored.executed
    return {
        "log": str(stored.file),
        "mode": log.mode,
        "duration_s": log.duration,
        "motions": len(log.motions),
        **verdict.as_json(),
        "goal_given": verdict.goal_given,
        "goal_reached": verdict.goal_reached,
        "changed_inputs": list(stored.changes),
        "changed_files": list(stored.mixed()),
    }


def _print(printer: Printer, stored: Stored, verdict: Verdict) -> None:
    from rich.text import Text

    from galley.validation.verdict import figures

    log, say = stored.executed, printer.console.print
    say(
        f"{_name(stored.file)}: {log.mode}, {log.duration:.1f} s,"
        f" {plural(len(log.motions), 'motion')}, {plural(verdict.states_checked, 'state')} checked"
    )
    for violation in verdict.violations[:_LISTED]:
        kind = (f"{violation.kind:13s}", "red")
        say(Text.assemble(f"{violation.time:8.2f} s  ", kind, f" {violation.what}"))
    if len(verdict.violations) > _LISTED:
        say(f"            and {len(verdict.violations) - _LISTED} more")
    for event in verdict.events:
        say(Text.assemble(f"{event.time:8.2f} s  ", ("noticed", "yellow"), f"       {event.what}"))
    if verdict.states_checked:
        for name, figure in figures(verdict.as_json()):
            say(f"  {name:32s} {figure}")
    printer.goal(verdict.goal_facts)
    if not verdict.goal_given:
        say("no goal was judged: name one with --domain and --problem")
    found = "passed" if verdict.passed else plural(len(verdict.violations), "violation")
    say(found + (", the goal is reached" if verdict.goal_reached else ""))


def _name(file: Path) -> str:
    return str(file.parent if file.name == "states.npz" else file)
