"""``galley scenarios``: runs scenarios over seeds, prints expected and got."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from galley.commands.progress import Printer
from galley.compiled.jit import pending
from galley.domain.errors import BadInput, InputError, did_you_mean
from galley.domain.files import check_writable, written_whole
from galley.engine import COMPILED
from galley.run_folder import check_destination, new_name
from galley.scenarios.expectation import Expectation
from galley.scenarios.outcome import Job, Outcome, outcome_of
from galley.scenarios.scenario import KITCHEN, Scenario, check, find
from galley.sweeps import Lost, MissingRay, cores, sweep

SUMMARY = "scenarios.json"
SCHEMA_VERSION = 1


def scenarios_command(arguments: argparse.Namespace) -> int:
    """Run them; exit status 0 only if every outcome is the expected one."""
    scenarios = _chosen(find(arguments.path), arguments.only)
    printer = Printer()
    if arguments.list:
        printer.console.print(_listed(scenarios))
        return 0
    faults: list[InputError] = []
    for scenario in scenarios:
        try:
            check(scenario)
        except BadInput as error:
            faults += [fault for fault in error.errors if fault not in faults]
    if faults:
        raise BadInput(faults)
    if arguments.json is not None:
        check_writable(arguments.json)
    with ExitStack() as stack:
        folder = _folder(arguments, stack)
        suite = _Suite(arguments, scenarios, folder, printer)
        try:
            suite.run()
        except MissingRay as error:
            print(f"galley scenarios: error: {error}", file=sys.stderr)
            return 2
        finally:
            suite.tell()
    return suite.status


def _chosen(scenarios: tuple[Scenario, ...], only: list[str] | None) -> tuple[Scenario, ...]:
    if only is None:
        return scenarios
    known = [scenario.name for scenario in scenarios]
    faults = [
        InputError("--only", None, None, f"no scenario '{name}'{did_you_mean(name, known)}")
        for name in only
        if name not in known
    ]
    if faults:
        raise BadInput(faults)
    return tuple(scenario for scenario in scenarios if scenario.name in only)


def _folder(arguments: argparse.Namespace, stack: ExitStack) -> Path:
    """Where the runs go: --out, a new folder in runs/ for pictures, or one that is thrown away."""
    if arguments.out is None and not arguments.pictures:
        return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="galley-scenarios-")))
    folder: Path = arguments.out or new_name("scenarios")
    check_destination(folder, marker=SUMMARY)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput.one(folder, f"can't be made: {error.strerror}") from None
    return folder


@dataclass
class _Suite:
    """The runs of one command, and what is known of them so far."""

    arguments: argparse.Namespace
    scenarios: tuple[Scenario, ...]
    folder: Path
    printer: Printer
    jobs: list[Job] = field(default_factory=list)
    found: dict[int, Outcome | Lost] = field(default_factory=dict)

    def __post_init__(self) -> None:
        arguments = self.arguments
        options = (("optimize", arguments.optimize), ("execute", arguments.execute))
        seeds = range(self.arguments.seed, self.arguments.seed + self.arguments.seeds)
        self.jobs = [
            Job(scenario, seed, self.folder / f"{scenario.name}-{seed}", options)
            for scenario in self.scenarios
            for seed in seeds
        ]
        self.workers = min(self.arguments.jobs or cores(), max(1, len(self.jobs)))

    @property
    def kept(self) -> bool:
        """Whether the runs' folders stay."""
        return self.arguments.out is not None or bool(self.arguments.pictures)

    def run(self) -> None:
        """All runs; ``found`` grows as they end."""
        self._warm_up()
        where = "Ray" if self.arguments.engine == "ray" else "processes"
        how = f" by {self.workers} at a time ({where})" if self.workers > 1 else ""
        runs = f"{len(self.jobs)} run{'s' if len(self.jobs) != 1 else ''}"
        self.printer.stage(f"{runs}{how}")
        self._save()
        sweep(outcome_of, self.jobs, self.workers, self.arguments.engine, self._heard)

    def _warm_up(self) -> None:
        """Compile here what is not yet compiled: workers at the same time would each do it."""
        waiting = pending(*COMPILED)
        if not waiting or self.workers == 1:
            return
        names = ", ".join(waiting)
        self.printer.stage(f"compiling, once on this machine, a minute or two: {names}")
        files = (KITCHEN / "kitchen.yaml", KITCHEN / "kitchen.pddl", KITCHEN / "sugar_only.pddl")
        errand = Scenario("warm-up", "", *files, Expectation("success"), None, Path("warm-up"))
        outcome_of(Job(errand, options=(("execute", "none"),)))

    def _heard(self, index: int, result: Outcome | Lost) -> None:
        self.found[index] = result
        job = self.jobs[index]
        name = f"{job.scenario.name}, seed {job.seed}"
        count = f"{len(self.found):4d}/{len(self.jobs)}"
        if isinstance(result, Lost):
            self.printer.console.print(f"{count}  {name}: lost: {result.why}")
            return
        text = Text.assemble(f"{count}  {name}: ", _verdict(result.right), f", {_got(result)}")
        self.printer.console.print(text)
        if self.arguments.pictures and job.folder is not None and result.status != "bad-input":
            from galley.scenarios.picture import draw_end

            draw_end(job.scenario, job.folder, self.folder / f"{job.folder.name}.png")
        self._save()

    def tell(self) -> None:
        """Print the table and the reasons, write the JSON: of what there is, if interrupted."""
        self.printer.close()
        if not self.found:
            return
        console = self.printer.console
        console.print(self._table())
        for line in _reasons(self._results()):
            console.print(line)
        right = sum(_is_right(result) for _, result in self._results())
        console.print(f"{right} of {len(self.jobs)} as expected")
        self._save()
        if self.kept:
            console.print(f"results: {self.folder}/{SUMMARY}")

    @property
    def status(self) -> int:
        """2 for bad input found late, 1 for anything not as expected, else 0."""
        results = [result for _, result in self._results()]
        if any(isinstance(r, Outcome) and r.status == "bad-input" for r in results):
            return 2
        return 0 if len(results) == len(self.jobs) and all(map(_is_right, results)) else 1

    def _results(self) -> list[tuple[Job, Outcome | Lost]]:
        return [(self.jobs[index], self.found[index]) for index in sorted(self.found)]

    def _table(self) -> Table:
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        for name in ("scenario", "seed", "expected", "got", ""):
            table.add_column(name, no_wrap=name != "expected")
        for name in ("planning s", "plans", "actions", "motion s"):
            table.add_column(name, justify="right", no_wrap=True)
        for job, result in self._results():
            row: list[str | Text] = [job.scenario.name, str(job.seed), str(job.scenario.expect)]
            if isinstance(result, Lost):
                table.add_row(*row, "lost", _verdict(False), "", "", "", "")
                continue
            late = " late" if result.late else ""
            moved = f"{result.motion_s:.1f}" if result.motion_s else ""
            seconds = f"{result.planning_s:.2f}{late}"
            row += [_got(result), _verdict(result.right), seconds]
            table.add_row(*row, str(result.skeletons), str(len(result.plan)), moved)
        return table

    def _save(self) -> None:
        """Write what there is, so that nothing finished is lost whatever comes."""
        text = json.dumps(self.as_json(), indent=1) + "\n"
        targets = [self.arguments.json] if self.arguments.json is not None else []
        if self.kept:
            targets.append(self.folder / SUMMARY)
        for path in targets:
            with written_whole(path) as partial:
                partial.write_text(text)

    def as_json(self) -> dict[str, Any]:
        """The summary: figures of all, then each outcome in order."""
        results = self._results()
        return {
            "schema_version": SCHEMA_VERSION,
            "finished": len(results) == len(self.jobs),
            "runs": len(self.jobs),
            "right": sum(_is_right(result) for _, result in results),
            "engine": self.arguments.engine,
            "workers": self.workers,
            "outcomes": [
                result.as_json()
                if isinstance(result, Outcome)
                else {
                    "scenario": job.scenario.name,
                    "seed": job.seed,
                    "lost": result.why,
                    "trace": result.trace,
                }
                for job, result in results
            ],
        }


def _is_right(result: Outcome | Lost) -> bool:
    return isinstance(result, Outcome) and result.right


def _verdict(right: bool) -> Text:
    return Text("right", "green") if right else Text("wrong", "red")


def _got(outcome: Outcome) -> str:
    return f"{outcome.status} {outcome.kind}" if outcome.status == "refused" else outcome.status


def _reasons(results: list[tuple[Job, Outcome | Lost]]) -> list[Text]:
    """Why runs are not as expected, and the sentences of failures; the same for all seeds once."""
    seeds: dict[tuple[str, str, str], list[int]] = {}
    for job, result in results:
        for text, style in _sentences(result):
            seeds.setdefault((job.scenario.name, text, style), []).append(job.seed)
    lines = []
    for (name, text, style), each in seeds.items():
        which = f"seed{'s' if len(each) > 1 else ''} {', '.join(map(str, each))}"
        lines.append(Text.assemble((f"{name}, {which}: ", "bold"), (text, style)))
    return lines


def _sentences(result: Outcome | Lost) -> list[tuple[str, str]]:
    if isinstance(result, Lost):
        return [(text, "red") for text in (result.why, *_where(result))]
    said = [(result.message, "")] if result.message else []
    return [(why, "red") for why in result.wrong] + said


def _where(lost: Lost) -> list[str]:
    """The innermost line of ours at which a job raised."""
    frames = [line.strip() for line in lost.trace.splitlines() if line.startswith("  File ")]
    return frames[-1:]


def _listed(scenarios: tuple[Scenario, ...]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("scenario", no_wrap=True)
    table.add_column("expected", overflow="fold")
    table.add_column("says", overflow="fold")
    for scenario in scenarios:
        table.add_row(scenario.name, str(scenario.expect), scenario.says)
    return table
