"""``galley disturb``: measures success rates in physics simulation, with noise and faults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from rich.text import Text

from galley.cli.common.arguments import Multiple, plural
from galley.cli.common.progress import Printer
from galley.cli.common.shared import Seeds, Sweep, TaskFiles, optimize_option, out_option
from galley.cli.common.study import NamedJob, Study, results_folder
from galley.cli.common.tables import PlainTable
from galley.domain.options import group, option
from galley.studies.disturbances.trials import (
    FAULTS,
    KINDS,
    UNDISTURBED,
    SuccessCount,
    Trial,
    TrialResult,
    count_successes,
    make_trials,
    run_trial,
)
from galley.studies.disturbances.trials_figure import draw_success_rates
from galley.sweeps import LostJob, digest

SUMMARY, LINES, FIGURE = "disturb.json", "disturb.jsonl", "disturb.png"
SCHEMA_VERSION = 1

EPILOG = """The task runs in physics simulation, once per seed in each setting: without noise; with
each kind of noise alone and all kinds together, at each amount; and with --faults, with each fault
and no noise. An amount is a multiple of --noise moderate (docs/disturbances.md).

examples:
  galley disturb --kinds friction --amounts 1 3  one kind, up to three times moderate
  galley disturb --faults --amounts 0            only the faults
  galley disturb --faults topple:spam stuck@2    these faults, @2: at the second occasion
  galley disturb --seeds 10 --out sweep          if stopped, the same command resumes it

results, in --out:
  disturb.json    all figures
  disturb.jsonl   one line per finished run, from which a stopped sweep resumes
  disturb.png     success rates, with counts

The exit status is 0 once every run has ended, successfully or not."""


@dataclass(frozen=True, kw_only=True)
class DisturbOptions:
    """Options of ``galley disturb``."""

    task: TaskFiles = group(TaskFiles())
    kinds: tuple[str, ...] = option(
        tuple(KINDS),
        f"Kinds of noise: {', '.join(KINDS)}. Default: each of these.",
        "KIND",
        choices=tuple(KINDS),
    )
    amounts: tuple[Multiple, ...] = option(
        (0.0, 0.5, 1.0, 2.0), "Amounts of noise, as multiples of moderate noise.", "X"
    )
    faults: tuple[str, ...] | None = option(
        None,
        "Also run with each of these faults; without a name, with one of each kind.",
        "FAULT",
        nargs="*",
    )
    seeds: Seeds = group(Seeds(seeds=5))
    sweep: Sweep = group(Sweep())
    optimize: str = optimize_option()
    out: Path | None = out_option()


def command(options: DisturbOptions) -> int:
    """Run the sweep; the exit status is 0 if every run has ended, successfully or not."""
    from galley import engine
    from galley.execution.disturbance.faults import parse_fault
    from galley.stages import Options as RunOptions

    run = RunOptions(
        **options.task.paths(), optimize=options.optimize, execute="physics", video=False
    )
    faults = FAULTS if options.faults == () else options.faults or ()
    # Input that every run would refuse is refused here, before the sweep.
    task = engine.load(**options.task.paths())
    for fault in faults:
        parse_fault(fault, task.scene, 0)
    trials = make_trials(run, options.kinds, options.amounts, faults, options.seeds.all)
    settings = digest(task.files, run.optimize)
    with results_folder(options.out, "disturb", SUMMARY) as folder:
        (folder / FIGURE).unlink(missing_ok=True)
        return _DisturbanceSweep(
            printer=Printer(),
            function=run_trial,
            result_type=TrialResult,
            jobs=[NamedJob(t, f"{t.series} {t.amount}, seed {t.seed}", settings) for t in trials],
            folder=folder,
            summaries=[folder / SUMMARY],
            sweep=options.sweep,
            kinds=tuple(dict.fromkeys(options.kinds)),
            amounts=tuple(sorted(set(options.amounts))),
            faults=faults,
        ).run()


@dataclass
class _DisturbanceSweep(Study[Trial, TrialResult]):
    """The trials of one command.

    Attributes:
        kinds: the kinds of noise, in the order of the table.
        amounts: the amounts of noise, ascending.
        faults: the faults, in the order of the table.
    """

    JOURNAL: ClassVar[str] = LINES

    kinds: Sequence[str] = ()
    amounts: Sequence[float] = ()
    faults: Sequence[str] = ()

    def lost_record(self, job: Trial, lost: LostJob) -> dict[str, Any]:
        identity = {"series": job.series, "amount": job.amount, "seed": job.seed}
        return identity | {"status": "lost", "why": lost.why}

    def announcement(self, runs: int, workers: int) -> str:
        return f"{plural(runs, 'run')} in physics simulation, {workers} at a time"

    def result_line(self, job: Trial, result: TrialResult | LostJob) -> Text:
        amount = f" {job.amount:g}" if job.amount else ""
        return Text.assemble(f"{job.series}{amount}, seed {job.seed}: ", *_ending(result))

    def status(self) -> int:
        """1 if a run was lost or has not run, else 0."""
        lost = any(isinstance(result, LostJob) for _, result in self.results())
        return 1 if lost or not self.finished else 0

    def conclude(self) -> None:
        """Draw the figure and print the names of the files."""
        trials = [job for job, _ in self.results()]
        missing = len(self.jobs) - len(trials)
        title = f"{Path(trials[0].options.problem).stem}: {len(trials)} runs in physics simulation"
        title += f", {missing} missing" if missing else ""
        rows = {
            f"{kind} x {amount:g}" if amount else UNDISTURBED: count
            for (kind, amount), count in self._noise().items()
        }
        rows |= {f"fault {name}": count for name, count in self._faults().items()}
        draw_success_rates(self.folder / FIGURE, title, rows)
        names = f"{SUMMARY}, {LINES}, {FIGURE}"
        self.printer.console.print(f"results: {self.folder}: {names}")

    def _counts(self) -> dict[tuple[str, float], SuccessCount]:
        """The successes of each series and amount with at least one result."""
        groups: dict[tuple[str, float], list[TrialResult | LostJob]] = {}
        for job, result in self.results():
            groups.setdefault((job.series, job.amount), []).append(result)
        return {key: count_successes(results) for key, results in groups.items()}

    def _noise(self) -> dict[tuple[str, float], SuccessCount]:
        """Successes by kind and amount; amount 0 is shared by all kinds."""
        counts = self._counts()
        keys = {(k, a): (k if a else UNDISTURBED, a) for k in self.kinds for a in self.amounts}
        return {shown: counts[key] for shown, key in keys.items() if key in counts}

    def _faults(self) -> dict[str, SuccessCount]:
        """Successes by fault, for the faults with at least one result."""
        counts = self._counts()
        return {fault: counts[fault, 0.0] for fault in self.faults if (fault, 0.0) in counts}

    def table(self) -> PlainTable:
        """One row per kind of noise with one column per amount; then one row per fault."""
        amounts = [f">x {amount:g}" if amount else ">none" for amount in self.amounts]
        table = PlainTable("succeeded of those run", *amounts, "~remarks", gap=3)
        noise, faults = self._noise(), self._faults()
        for kind in self.kinds:
            table.add_row(kind, *(_cell(noise.get((kind, a))) for a in self.amounts))
        for fault in self.faults:
            count = faults.get(fault, SuccessCount(0, 0))
            recovered = [f"{count.recovered} by recovering"] if count.recovered else []
            missed = [f"{count.not_struck} without an occasion"] if count.not_struck else []
            rest = [""] * (len(self.amounts) - 1)
            table.add_row(f"fault {fault}", _cell(count), *rest, ", ".join(recovered + missed))
        return table

    def as_json(self) -> dict[str, Any]:
        """Counts for each series, then each run in order."""
        from galley.execution.disturbance.noise import MODERATE

        return {
            "schema_version": SCHEMA_VERSION,
            "finished": self.finished,
            "runs": len(self.jobs),
            "moderate": asdict(MODERATE),
            "noise": [_count_record(*key, count) for key, count in self._noise().items()],
            "faults": [
                {**_count_record(name, None, count), "not_struck": count.not_struck}
                for name, count in self._faults().items()
            ],
            "trials": [self.record(job, result) for job, result in self.results()],
        }


def _cell(count: SuccessCount | None) -> str:
    """The text of a table's cell; a dash without runs."""
    return str(count) if count is not None and count.runs else "-"


def _count_record(series: str, amount: float | None, count: SuccessCount) -> dict[str, Any]:
    """The successes of one series as plain data."""
    return {
        "series": series,
        "amount": amount,
        "runs": count.runs,
        "success": count.success,
        "recovered": count.recovered,
        "share": count.rate,
        "interval_95": list(count.interval()),
    }


def _ending(result: TrialResult | LostJob) -> list[tuple[str, str]]:
    """The outcome of a run as styled text."""
    if isinstance(result, LostJob):
        return [("lost", "red"), (f": {result.why}", "")]
    style = "green" if result.success else "red"
    times = "once" if result.recoveries == 1 else f"{result.recoveries} times"
    recovered = f", recovered {times}" if result.recoveries else ""
    faults = "".join(f"; {sentence}" for sentence in result.faults)
    why = f": {result.why}" if result.why else ""
    return [(result.status, style), (f"{recovered}{faults}{why}", "")]
