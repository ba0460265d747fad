"""``galley verify run``: validates the executed states of a stored run."""

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
    from galley.results.stored_run import StoredRun
    from galley.validation import Verdict

_SILENT_S = 2.0  # before the progress line appears
_LISTED = 50  # violations that are printed

EPILOG = """Every executed state is loaded into PyBullet and checked, from states.npz and the scene
alone; docs/validation.md has the checks and tolerances.

examples:
  galley verify run runs/mine --problem other.pddl      the same run against another goal
  galley verify run states.npz --scene my_kitchen.yaml  only a log: no goal is checked

The exit status is also 1 if the run passes but its goal is not reached."""


@dataclass(frozen=True, kw_only=True)
class VerifyRunOptions:
    """Options of ``galley verify run``."""

    run: Path = argument("Folder of a run, or its states.npz.", "RUN")
    scene: Path | None = scene_option("the run's scene")
    domain: Path | None = option(None, "PDDL domain file. Default: the run's.")
    problem: Path | None = option(None, "PDDL problem file with the goal. Default: the run's.")
    skills: Path | None = option(None, "Python file with skills that judge goal facts.")
    json: Path | None = json_option("the verdict")


def command(options: VerifyRunOptions) -> int:
    """Validate the run and print the verdict.

    The exit status is 0 only if there are no violations, the goal (if any) is reached, and the
    run's files are those that its report describes.
    """
    from galley.cli.common.progress import Printer
    from galley.results.stored_run import read_run
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


def _as_json(stored: StoredRun, verdict: Verdict) -> dict[str, object]:
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


def _print(printer: Printer, stored: StoredRun, verdict: Verdict) -> None:
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
        say("no goal was checked: give one with --domain and --problem")
    found = "passed" if verdict.passed else plural(len(verdict.violations), "violation")
    say(found + (", the goal is reached" if verdict.goal_reached else ""))


def _name(file: Path) -> str:
    return str(file.parent if file.name == "states.npz" else file)
