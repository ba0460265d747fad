"""``galley disturb``: the task under physics with noise and faults; how often it succeeds."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.live import Live
from rich.table import Table
from rich.text import Text

from galley.commands.disturb_figure import Count, counted, disturb_figure, wilson
from galley.commands.disturb_trials import (
    FAULTS,
    UNDISTURBED,
    Result,
    Trial,
    carry_out,
    trials,
)
from galley.commands.progress import Printer
from galley.commands.run import kitchen_file
from galley.compiled.jit import pending
from galley.domain.errors import BadInput
from galley.domain.files import written_whole
from galley.domain.pddl_reader import read_domain, read_problem
from galley.domain.scene_file import load_scene
from galley.engine import COMPILED, Options
from galley.run_folder import check_destination, new_name
from galley.simulation.faults import parse_fault
from galley.simulation.noise import MODERATE
from galley.sweeps import Lost, cores, sweep
from galley.tamp.binding import bind

SUMMARY, LINES, FIGURE = "disturb.json", "disturb.jsonl", "disturb.png"
SCHEMA_VERSION = 1


def disturb_command(arguments: argparse.Namespace) -> int:
    """Run the sweep; exit status 0 if all runs were carried out, however they ended."""
    options = Options(
        scene=kitchen_file(arguments.scene, "kitchen.yaml"),
        domain=kitchen_file(arguments.domain, "kitchen.pddl"),
        problem=kitchen_file(arguments.problem, "task.pddl"),
        optimize=arguments.optimize,
        execute="physics",
        video=False,
    )
    faults = list(FAULTS) if arguments.faults == [] else list(arguments.faults or ())
    _check(options, faults)
    seeds = range(arguments.seed, arguments.seed + arguments.seeds)
    todo = trials(options, arguments.kinds, arguments.amounts, faults, seeds)
    folder = arguments.out or new_name("disturb")
    check_destination(folder, marker=SUMMARY)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput.one(folder, f"can't be made: {error.strerror}") from None
    for name in (LINES, FIGURE):
        (folder / name).unlink(missing_ok=True)
    study = _Study(arguments, todo, faults, folder, Printer())
    try:
        study.run()
    finally:
        study.tell()
    lost = any(isinstance(result, Lost) for result in study.found.values())
    return 1 if lost or len(study.found) < len(todo) else 0


def _check(options: Options, faults: list[str]) -> None:
    """Raise BadInput now for what every run would raise it for."""
    scene = load_scene(options.scene)
    domain = read_domain(options.domain)
    bind(scene, domain, read_problem(options.problem, domain))
    for fault in faults:
        parse_fault(fault, scene, 0)


@dataclass
class _Study:
    """The runs of one command, and what is known of them so far."""

    arguments: argparse.Namespace
    trials: list[Trial]
    faults: list[str]
    folder: Path
    printer: Printer
    found: dict[int, Result | Lost] = field(default_factory=dict)
    live: Live | None = None

    def run(self) -> None:
        """All trials; ``found`` grows as they end."""
        workers = min(self.arguments.jobs or cores(), max(1, len(self.trials)))
        waiting = pending(*COMPILED)
        if waiting and workers > 1:  # workers at the same time would each compile it
            names = ", ".join(waiting)
            self.printer.stage(f"compiling, once on this machine, a minute or two: {names}")
            carry_out(self.trials[0])
        self.printer.stage(f"{len(self.trials)} runs under physics, {workers} at a time")
        self._save()
        console = self.printer.console
        if not console.is_terminal:
            sweep(carry_out, self.trials, workers, progress=self._heard)
            return
        with Live(self._table(), console=console, transient=True) as self.live:
            sweep(carry_out, self.trials, workers, progress=self._heard)

    def _heard(self, index: int, result: Result | Lost) -> None:
        """One more run has ended: keep it first of all, then tell."""
        self.found[index] = result
        trial = self.trials[index]
        with open(self.folder / LINES, "a", encoding="utf-8") as stream:
            stream.write(json.dumps(_told(trial, result)) + "\n")
        how = f" {trial.amount:g}" if trial.amount else ""
        console = self.printer.console
        count = f"{len(self.found):4d}/{len(self.trials)}"
        console.print(
            Text.assemble(f"{count}  {trial.series}{how}, seed {trial.seed}: ", *_words(result))
        )
        self._save()
        if self.live is not None:
            self.live.update(self._table())

    def tell(self) -> None:
        """Print the table, write summary and figure: of what there is, if interrupted."""
        self.printer.close()
        if not self.found:
            return
        self.printer.console.print(self._table())
        self._save()
        missing = len(self.trials) - len(self.found)
        title = f"{Path(self.trials[0].options.problem).stem}: {len(self.found)} runs under physics"
        title += f", {missing} missing" if missing else ""
        disturb_figure(self.folder / FIGURE, title, self._noise(), self._struck())
        names = f"{SUMMARY}, {LINES}, {FIGURE}"
        self.printer.console.print(f"results: {self.folder}: {names}")

    # -- figures ---------------------------------------------------------------------------------

    def _count(self, series: str, amount: float) -> Count:
        """Of the runs that have ended, those left out in which the fault did not strike.

        A lost one counts as not succeeded.
        """
        rows = []
        for index, result in self.found.items():
            trial = self.trials[index]
            if isinstance(result, Result) and not result.struck:
                continue
            if (trial.series, trial.amount) == (series, amount):
                good = isinstance(result, Result) and result.success
                rows.append((good, result.recoveries if isinstance(result, Result) else 0))
        return counted(rows)

    def _noise(self) -> dict[str, dict[float, Count]]:
        """For each kind and amount; amount 0 is the same for all."""
        asked = sorted(set(self.arguments.amounts))
        found = {}
        for kind in dict.fromkeys(self.arguments.kinds):
            counts = {a: self._count(kind if a else UNDISTURBED, a) for a in asked}
            found[kind] = {a: count for a, count in counts.items() if count.runs}
        return {kind: counts for kind, counts in found.items() if counts}

    def _struck(self) -> dict[str, Count]:
        """For each fault."""
        counts = {fault: self._count(fault, 0.0) for fault in self.faults}
        return {fault: count for fault, count in counts.items() if count.runs or self._vain(fault)}

    def _vain(self, fault: str) -> int:
        """In how many runs a fault did not strike."""
        return sum(
            isinstance(result, Result) and result.series == fault and not result.struck
            for result in self.found.values()
        )

    def _table(self) -> Table:
        asked = sorted(set(self.arguments.amounts))
        table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
        table.add_column("succeeded of those run", no_wrap=True)
        for amount in asked:
            table.add_column(f"x {amount:g}" if amount else "none", justify="right", no_wrap=True)
        for kind in dict.fromkeys(self.arguments.kinds):
            table.add_row(kind, *(self._cell(kind if a else UNDISTURBED, a) for a in asked))
        for fault in self.faults:
            count = self._count(fault, 0.0)
            again = f", {count.recovered} of them by planning anew" if count.recovered else ""
            vain = self._vain(fault)
            idle = f", {vain} without an occasion" if vain else ""
            table.add_row(f"fault {fault}", f"{self._cell(fault, 0.0)}{again}{idle}")
        return table

    def _cell(self, series: str, amount: float) -> str:
        count = self._count(series, amount)
        return str(count) if count.runs else "-"

    def _save(self) -> None:
        with written_whole(self.folder / SUMMARY) as partial:
            partial.write_text(json.dumps(self.as_json(), indent=1) + "\n")

    def as_json(self) -> dict[str, Any]:
        """The summary: figures for each series, then each run in order."""
        series = [
            _figures(kind, amount, count)
            for kind, counts in self._noise().items()
            for amount, count in counts.items()
        ]
        return {
            "schema_version": SCHEMA_VERSION,
            "finished": len(self.found) == len(self.trials),
            "runs": len(self.trials),
            "moderate": asdict(MODERATE),
            "noise": series,
            "faults": [
                {**_figures(name, None, count), "not_struck": self._vain(name)}
                for name, count in self._struck().items()
            ],
            "trials": [_told(self.trials[k], self.found[k]) for k in sorted(self.found)],
        }


def _figures(series: str, amount: float | None, count: Count) -> Mapping[str, Any]:
    low, high = wilson(count)
    return {
        "series": series,
        "amount": amount,
        "runs": count.runs,
        "success": count.success,
        "recovered": count.recovered,
        "share": count.share,
        "interval_95": [low, high],
    }


def _told(trial: Trial, result: Result | Lost) -> dict[str, Any]:
    if isinstance(result, Result):
        return result.as_json()
    known = {"series": trial.series, "amount": trial.amount, "seed": trial.seed}
    return known | {"status": "lost", "why": result.why}


def _words(result: Result | Lost) -> list[tuple[str, str]]:
    """How a run ended, in coloured words."""
    if isinstance(result, Lost):
        return [("lost", "red"), (f": {result.why}", "")]
    style = "green" if result.success else "red"
    times = "once" if result.recoveries == 1 else f"{result.recoveries} times"
    again = f", planned anew {times}" if result.recoveries else ""
    told = "".join(f"; {text}" for text in result.faults)
    why = f": {result.why}" if result.why else ""
    return [(result.status, style), (f"{again}{told}{why}", "")]
