"""``galley disturb``: the task under physics with noise and faults; how often it succeeds."""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rich.table import Table
from rich.text import Text

from galley.cli.arguments import multiple, sweep_options, task_files, task_options
from galley.cli.progress import Printer
from galley.cli.study import Study, results_folder
from galley.domain.errors import BadInput
from galley.sweeps import Lost, digest
from galley.viz.figures import figure_file

if TYPE_CHECKING:  # what runs is imported when it runs
    from galley.execution.disturbance.noise import Noise
    from galley.results.recorded_run import Options

SUMMARY, LINES, FIGURE = "disturb.json", "disturb.jsonl", "disturb.png"
SCHEMA_VERSION = 1

KINDS: dict[str, tuple[str, ...]] = {
    "friction": ("friction",),
    "mass": ("mass",),
    "position": ("position", "turn"),
    "observation": ("observation", "observation_turn"),
    "all": ("friction", "mass", "position", "turn", "observation", "observation_turn"),
}
"""What each kind of noise is made of, in ``Noise``'s words."""

FAULTS = ("nudge", "topple", "slippery", "stuck", "push-base:drive", "push-base:arm")
"""Those of ``--faults`` without names."""

UNDISTURBED = "none"


EPILOG = """what is run:
  The task under physics, again and again. For each kind of noise alone, and for all together, with
  each amount, which is a multiple of what --noise moderate means (docs/disturbances.md), and with
  --faults for each fault without noise: a run for every seed. Amount 0 is run once for all kinds.

examples:
  galley disturb --seeds 10 --jobs 4             all kinds, amounts 0, 0.5, 1 and 2
  galley disturb --kinds friction --amounts 1 3  one kind, up to three times as much
  galley disturb --faults --amounts 0            the faults alone
  galley disturb --faults topple:spam stuck@2    faults of your choice (galley run --help)
  galley disturb --seeds 10 --out sweep          goes on where it was stopped, if called again

results, in --out:
  disturb.json    all figures
  disturb.jsonl   a line a run, as they end: what a sweep that was killed goes on from
  disturb.png     share of successful runs against the amount, with counts

Exit status 0 says that all runs were carried out, however they ended."""


def add_arguments(p: argparse.ArgumentParser) -> None:
    """The options of ``galley disturb``."""
    task_options(p)
    p.add_argument(
        "--kinds",
        nargs="+",
        choices=tuple(KINDS),
        default=list(KINDS),
        metavar="KIND",
        help="of noise: friction, mass, position, observation, all (default: every one)",
    )
    p.add_argument(
        "--amounts",
        nargs="+",
        type=multiple,
        default=[0.0, 0.5, 1.0, 2.0],
        metavar="X",
        help="multiples of the moderate noise (default 0 0.5 1 2)",
    )
    p.add_argument(
        "--faults",
        nargs="*",
        metavar="FAULT",
        help="also inject faults, one a run: these, or without any one of each kind",
    )
    sweep_options(p, seeds=5)
    p.add_argument("--out", type=Path, help="folder for the results (default: a new one in runs/)")


def command(arguments: argparse.Namespace) -> int:
    """Run the sweep; exit status 0 if all runs were carried out, however they ended."""
    from galley.domain.pddl.reader import read_domain, read_problem
    from galley.domain.scene.reader import load_scene
    from galley.execution.disturbance.faults import parse_fault
    from galley.results.recorded_run import Options
    from galley.tamp.binding import bind

    options = Options(
        **task_files(arguments), optimize=arguments.optimize, execute="physics", video=False
    )
    faults = list(FAULTS) if arguments.faults == [] else list(arguments.faults or ())
    # What every run would refuse is refused now.
    scene = load_scene(options.scene)
    domain = read_domain(options.domain)
    bind(scene, domain, read_problem(options.problem, domain))
    for fault in faults:
        parse_fault(fault, scene, 0)
    seeds = range(arguments.seed, arguments.seed + arguments.seeds)
    todo = trials(options, arguments.kinds, arguments.amounts, faults, seeds)
    read = {scene.source, *(file for file, _ in scene.places.values())}
    settings = digest({*read, options.domain, options.problem}, options.optimize)
    with results_folder(arguments.out, "disturb", SUMMARY) as folder:
        (folder / FIGURE).unlink(missing_ok=True)
        return _Disturbed(
            command="disturb",
            printer=Printer(),
            function=carry_out,
            outcome=TrialResult,
            jobs=todo,
            names=[f"{t.series} {t.amount}, seed {t.seed}" for t in todo],
            settings=[settings] * len(todo),
            folder=folder,
            summaries=[folder / SUMMARY],
            jobs_at_a_time=arguments.jobs,
            engine=arguments.engine,
            kinds=tuple(dict.fromkeys(arguments.kinds)),
            amounts=tuple(sorted(set(arguments.amounts))),
            faults=faults,
        ).run()


# -- which runs there are, and how one goes --------------------------------------------------------


@dataclass(frozen=True)
class Trial:
    """One run to be carried out.

    Attributes:
        series: the kind of noise, ``none`` or the fault. amount: multiple of moderate noise.
        seed: of planning, noise and fault. options: the engine's, but for the folder.
    """

    series: str
    amount: float
    seed: int
    options: Options


@dataclass(frozen=True)
class TrialResult:
    """How a trial ended. Plain data: it can be pickled and written as JSON.

    Attributes:
        series, amount, seed: the trial's.
        status: the report's: ``success`` means that the goal holds and validation found nothing.
        recoveries: how often it planned anew. why: the failure's sentence, or empty.
        faults: a sentence for each fault that was asked for: what it did.
        motion_s: seconds of simulated motion. wall_s: seconds that it all took.
    """

    series: str
    amount: float
    seed: int
    status: str
    recoveries: int = 0
    why: str = ""
    faults: tuple[str, ...] = ()
    motion_s: float = 0.0
    wall_s: float = 0.0

    @property
    def struck(self) -> bool:
        """Whether every fault that was asked for had its occasion."""
        from galley.execution.disturbance.fault import IN_VAIN

        return not any(IN_VAIN in told for told in self.faults)

    @property
    def success(self) -> bool:
        """Whether the task was done, and validated."""
        return self.status == "success"


def noise_of(kind: str, amount: float) -> Noise:
    """``amount`` times as much noise of a kind as is moderate.

    Raises:
        BadInput: that is more than there can be.
    """
    from galley.execution.disturbance.noise import MODERATE

    try:
        return MODERATE.only(*KINDS[kind]).scaled(amount)
    except BadInput as error:
        what = f"{amount:g} times the moderate noise is too much: {error.errors[0].what}"
        raise BadInput.one("--amounts", what) from None


def trials(
    options: Options,
    kinds: Sequence[str],
    amounts: Sequence[float],
    faults: Sequence[str],
    seeds: Sequence[int],
) -> list[Trial]:
    """Every trial: without noise once a seed, whatever the kind; then kinds, amounts and faults.

    Seeds change fastest, so that a sweep that is interrupted knows something of what it began with.
    """
    found = []
    if 0.0 in amounts or faults:
        found += [Trial(UNDISTURBED, 0.0, s, replace(options, seed=s)) for s in seeds]
    for amount in sorted(set(amounts) - {0.0}):
        for kind in kinds:
            noise = noise_of(kind, amount)
            found += [Trial(kind, amount, s, replace(options, seed=s, noise=noise)) for s in seeds]
    for fault in faults:
        found += [Trial(fault, 0.0, s, replace(options, seed=s, fault=fault)) for s in seeds]
    return found


def carry_out(trial: Trial) -> TrialResult:
    """Run a trial in a folder that is thrown away."""
    from galley.results.recorded_run import record_run

    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="galley-disturb-") as folder:
        options = replace(trial.options, out=Path(folder) / "run")
        report = record_run(options).report
    return TrialResult(
        trial.series,
        trial.amount,
        trial.seed,
        status=report.status,
        recoveries=len(report.recoveries),
        why="" if report.failure is None else str(report.failure),
        faults=report.injected,
        motion_s=float(sum(motion.trajectory.duration for motion in report.motions)),
        wall_s=time.perf_counter() - began,
    )


# -- what is counted -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Count:
    """How many of some runs succeeded, and how many of these after planning anew.

    ``idle`` is the number of runs, not counted, in which the fault had no occasion.
    """

    runs: int
    success: int
    recovered: int = 0
    idle: int = 0

    @property
    def share(self) -> float:
        """In [0, 1]; 0 without runs."""
        return self.success / self.runs if self.runs else 0.0

    def __str__(self) -> str:
        return f"{self.success}/{self.runs}"


def wilson(count: Count, z: float = 1.96) -> tuple[float, float]:
    """The interval in which the true share lies with 95 % confidence (Wilson, 1927)."""
    n, p = count.runs, count.share
    if n == 0:
        return 0.0, 1.0
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)


def counted(results: Sequence[TrialResult | Lost]) -> Count:
    """Of these runs, without those in which the fault did not strike; a lost one is no success."""
    struck = [result for result in results if isinstance(result, Lost) or result.struck]
    good = [result for result in struck if isinstance(result, TrialResult) and result.success]
    recovered = sum(result.recoveries > 0 for result in good)
    return Count(len(struck), len(good), recovered, len(results) - len(struck))


# -- what all come to -----------------------------------------------------------------------------


@dataclass
class _Disturbed(Study[Trial, TrialResult]):
    """The runs of one command.

    Attributes:
        kinds, amounts, faults: what was asked for, in the order of the table.
    """

    JOURNAL: ClassVar[str] = LINES
    LIVE: ClassVar[bool] = True

    kinds: Sequence[str] = ()
    amounts: Sequence[float] = ()
    faults: Sequence[str] = ()

    def lost(self, job: Trial, result: Lost) -> dict[str, Any]:
        """See ``cli.study``."""
        known = {"series": job.series, "amount": job.amount, "seed": job.seed}
        return known | {"status": "lost", "why": result.why}

    def about(self, runs: int, workers: int) -> str:
        """See ``cli.study``."""
        return f"{runs} runs under physics, {workers} at a time"

    def line(self, job: Trial, result: TrialResult | Lost) -> Text:
        """See ``cli.study``."""
        how = f" {job.amount:g}" if job.amount else ""
        return Text.assemble(f"{job.series}{how}, seed {job.seed}: ", *_words(result))

    def status(self) -> int:
        """0 if all runs were carried out, however they ended."""
        lost = any(isinstance(result, Lost) for result in self.found.values())
        return 1 if lost or not self.finished else 0

    def conclude(self) -> None:
        """Draw the figure."""
        missing = len(self.jobs) - len(self.found)
        title = f"{Path(self.jobs[0].options.problem).stem}: {len(self.found)} runs under physics"
        title += f", {missing} missing" if missing else ""
        disturb_figure(self.folder / FIGURE, title, self._noise(), self._faults())
        names = f"{SUMMARY}, {LINES}, {FIGURE}"
        self.printer.console.print(f"results: {self.folder}: {names}")

    def _counts(self) -> dict[tuple[str, float], Count]:
        """For each series and amount of which a run has ended."""
        found: dict[tuple[str, float], list[TrialResult | Lost]] = {}
        for job, result in self.results():
            found.setdefault((job.series, job.amount), []).append(result)
        return {series: counted(results) for series, results in found.items()}

    def _noise(self) -> dict[str, dict[float, Count]]:
        """For each kind and amount; amount 0 is the same for all."""
        counts, found = self._counts(), {}
        for kind in self.kinds:
            known = {a: counts.get((kind if a else UNDISTURBED, a)) for a in self.amounts}
            found[kind] = {a: count for a, count in known.items() if count is not None}
        return {kind: known for kind, known in found.items() if known}

    def _faults(self) -> dict[str, Count]:
        """For each fault."""
        counts = self._counts()
        return {fault: counts[fault, 0.0] for fault in self.faults if (fault, 0.0) in counts}

    def table(self) -> Table:
        """Successes: a row a kind of noise, a column an amount; then a row a fault."""
        table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
        table.add_column("succeeded of those run", no_wrap=True)
        for amount in self.amounts:
            table.add_column(f"x {amount:g}" if amount else "none", justify="right", no_wrap=True)
        noise, faults = self._noise(), self._faults()
        for kind in self.kinds:
            table.add_row(kind, *(_cell(noise.get(kind, {}).get(a)) for a in self.amounts))
        for fault in self.faults:
            count = faults.get(fault, Count(0, 0))
            again = f", {count.recovered} of them by planning anew" if count.recovered else ""
            idle = f", {count.idle} without an occasion" if count.idle else ""
            table.add_row(f"fault {fault}", f"{_cell(count)}{again}{idle}")
        return table

    def as_json(self) -> dict[str, Any]:
        """The summary: figures for each series, then each run in order."""
        from galley.execution.disturbance.noise import MODERATE

        series = [
            _figures(kind, amount, count)
            for kind, counts in self._noise().items()
            for amount, count in counts.items()
        ]
        return {
            "schema_version": SCHEMA_VERSION,
            "finished": self.finished,
            "runs": len(self.jobs),
            "moderate": asdict(MODERATE),
            "noise": series,
            "faults": [
                {**_figures(name, None, count), "not_struck": count.idle}
                for name, count in self._faults().items()
            ],
            "trials": [self.plain(job, result) for job, result in self.results()],
        }


def _cell(count: Count | None) -> str:
    return str(count) if count is not None and count.runs else "-"


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


def _words(result: TrialResult | Lost) -> list[tuple[str, str]]:
    """How a run ended, in coloured words."""
    if isinstance(result, Lost):
        return [("lost", "red"), (f": {result.why}", "")]
    style = "green" if result.success else "red"
    times = "once" if result.recoveries == 1 else f"{result.recoveries} times"
    again = f", planned anew {times}" if result.recoveries else ""
    told = "".join(f"; {text}" for text in result.faults)
    why = f": {result.why}" if result.why else ""
    return [(result.status, style), (f"{again}{told}{why}", "")]


# -- the figure ------------------------------------------------------------------------------------

_COLORS = {
    "friction": "#c8553d",
    "mass": "#7a6c5d",
    "position": "#2a7f9e",
    "observation": "#8a5aa8",
    "all": "#1d3c34",
}
_MARKS = {"friction": "o", "mass": "s", "position": "^", "observation": "D", "all": "o"}
_AGAIN, _AT_ONCE = "#5b8f86", "#9db4bc"  # succeeded after planning anew, or without


def disturb_figure(
    path: Path,
    title: str,
    noise: Mapping[str, Mapping[float, Count]],
    faults: Mapping[str, Count],
) -> None:
    """Draw it into a PNG file; counts stand at the points, bars show Wilson's 95 % intervals.

    Args:
        title: of the whole.
        noise: for each kind and amount, how many succeeded.
        faults: for each fault.

    Raises:
        BadInput: ``path`` can't be written.
    """
    wide = [1.6] * bool(noise) + [1.0] * bool(faults)
    with figure_file(path, (1.6 + 5.2 * sum(wide), 5.8)) as figure:
        axes = figure.subplots(1, max(1, len(wide)), squeeze=False, width_ratios=wide or [1])[0]
        if noise:
            _lines(axes[0], noise)
        if faults:
            _bars(axes[-1], faults)
        figure.suptitle(title, x=0.02, ha="left", fontsize=13, fontweight="bold")
        figure.subplots_adjust(left=0.1, right=0.985, top=0.86, bottom=0.33, wspace=0.17)


def _lines(axes: Any, noise: Mapping[str, Mapping[float, Count]]) -> None:
    amounts = sorted({amount for counts in noise.values() for amount in counts})
    at = {amount: k for k, amount in enumerate(amounts)}
    for k, (kind, counts) in enumerate(noise.items()):
        aside = 0.09 * (k - (len(noise) - 1) / 2)  # so that lines on top of each other can be seen
        color = _COLORS.get(kind, "#333333")
        known = [amount for amount in amounts if amount in counts]
        x = [at[amount] + aside for amount in known]
        y = [100 * counts[amount].share for amount in known]
        ends = [wilson(counts[amount]) for amount in known]
        below = [max(0.0, value - 100 * low) for value, (low, _) in zip(y, ends, strict=True)]
        above = [max(0.0, 100 * high - value) for value, (_, high) in zip(y, ends, strict=True)]
        axes.errorbar(
            x,
            y,
            yerr=[below, above],
            color=color,
            marker=_MARKS.get(kind, "o"),
            markersize=6,
            linewidth=2.4 if kind == "all" else 1.4,
            elinewidth=0.8,
            capsize=2,
        )
        # The counts in rows below the axis, where nothing hides them; their names are the legend.
        row, style = -0.21 - 0.062 * k, {"color": color, "fontsize": 9.5, "va": "center"}
        axes.text(-0.045, row, kind, transform=axes.transAxes, ha="right", **style)
        for amount in known:
            place = axes.get_xaxis_transform()
            axes.text(at[amount], row, str(counts[amount]), transform=place, ha="center", **style)
    axes.set_xticks(range(len(amounts)), [f"{amount:g}" for amount in amounts])
    axes.set_xlim(-0.5, len(amounts) - 0.5)
    axes.set_xlabel("noise, as a multiple of moderate")
    axes.set_ylabel("runs that succeeded, validated, %")
    _percent(axes)


def _bars(axes: Any, faults: Mapping[str, Count]) -> None:
    for k, count in enumerate(faults.values()):
        low, high = wilson(count)
        error = [
            [max(0.0, 100 * (count.share - low))],
            [max(0.0, 100 * (high - count.share))],
        ]
        axes.bar(k, 100 * count.share, color=_AT_ONCE, width=0.62)
        again = 100 * count.recovered / max(1, count.runs)
        axes.bar(k, again, color=_AGAIN, width=0.62)
        axes.errorbar(k, 100 * count.share, yerr=error, color="#333333", elinewidth=0.8, capsize=2)
        top = 100 * high if count.runs else 0.0
        axes.text(k, top + 2.0, str(count), ha="center", fontsize=9)
    axes.set_xticks(range(len(faults)), list(faults), rotation=30, ha="right")
    axes.set_xlabel("fault injected")
    axes.set_ylabel("runs that succeeded, validated, %")
    for k, (words, color) in enumerate((("planned anew", _AGAIN), ("did not have to", _AT_ONCE))):
        axes.text(0.02 + 0.42 * k, 1.01, words, transform=axes.transAxes, color=color, fontsize=10)
    _percent(axes)


def _percent(axes: Any) -> None:
    axes.set_ylim(0, 110)
    axes.set_yticks(range(0, 101, 20))
    axes.grid(axis="y", alpha=0.25)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
