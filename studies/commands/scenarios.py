"""``galley scenarios``: runs scenarios over seeds and compares outcomes with the expected ones."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from rich.text import Text

from galley.cli.common.arguments import plural
from galley.cli.common.shared import Seeds, Sweep, optimize_option
from galley.cli.common.study import NamedJob, Study, results_folder
from galley.cli.common.tables import PlainTable
from galley.domain.errors import BadInput, InputError, did_you_mean
from galley.domain.options import argument, group, more, option
from galley.sweeps import LostJob, digest

if TYPE_CHECKING:
    from galley.studies.scenarios import Scenario
    from galley.studies.scenarios.outcome import ScenarioJob, ScenarioResult

SUMMARY, LINES = "scenarios.json", "scenarios.jsonl"
SCHEMA_VERSION = 3

EPILOG = """Without PATH, the suite that comes with Galley is run. A scenario is a YAML file that
names a scene, a domain, a problem and the expected outcome; docs/scenarios.md has all keys.

examples:
  galley scenarios --list                        the scenarios and their expected outcomes
  galley scenarios --only swap --seeds 10        one scenario, seeds 0 to 9
  galley scenarios my_folder --out results       your own; keeps each run's folder

results, in --out:
  scenarios.json        all outcomes, rewritten after every run
  scenarios.jsonl       one line per finished run, from which a stopped suite resumes
  NAME-SEED/            each run's folder (docs/report.md)
  NAME-SEED.png         its final state, with --pictures

Outcomes do not depend on --jobs and --engine; times do."""


@dataclass(frozen=True, kw_only=True)
class ScenariosOptions:
    """Options of ``galley scenarios``."""

    path: tuple[Path, ...] = argument(
        "Scenario file, or a folder of scenario files.", "PATH", default=(), nargs="*"
    )
    only: tuple[str, ...] | None = option(None, "Run only these.", "NAME", action="extend")
    list: bool = option(False, "List the scenarios and run none.")
    seeds: Seeds = group(Seeds())
    sweep: Sweep = group(Sweep())
    optimize: str = optimize_option()
    execute: Literal["kinematic", "physics"] = option(
        "kinematic",
        "Executor: kinematic, which is fast and sufficient where planning decides the outcome, or "
        "physics, as in galley run.",
    )
    out: Path | None = option(None, "Folder for the runs and scenarios.json.", "FOLDER")
    pictures: bool = more(
        False,
        "Draw each final state, or the start if refused, into --out or a new folder in runs/.",
    )


def command(options: ScenariosOptions) -> int:
    """Run the scenarios; the exit status is 0 only if every outcome is the expected one."""
    from galley.cli.common.progress import Printer
    from galley.studies.scenarios import check_scenario, find_scenarios
    from galley.studies.scenarios.outcome import ScenarioJob, ScenarioResult, run_scenario

    scenarios = _chosen(find_scenarios(options.path), options.only)
    printer = Printer()
    if options.list:
        printer.console.print(_listed(scenarios))
        return 0
    faults: list[InputError] = []
    how = (("optimize", options.optimize), ("execute", options.execute))
    settings = {}
    for scenario in scenarios:
        try:
            settings[scenario.name] = digest(check_scenario(scenario), (how, options.pictures))
        except BadInput as error:
            faults += [fault for fault in error.errors if fault not in faults]
    if faults:
        raise BadInput(faults)
    with ExitStack() as stack:
        folder, permanent = _folder(options, stack)
        jobs = [
            ScenarioJob(scenario, seed, folder / f"{scenario.name}-{seed}", options.pictures, how)
            for scenario in scenarios
            for seed in options.seeds.all
        ]
        return _ScenarioSuite(
            printer=printer,
            function=run_scenario,
            result_type=ScenarioResult,
            jobs=[NamedJob(job, _name(job), settings[job.scenario.name]) for job in jobs],
            folder=folder,
            summaries=[folder / SUMMARY] * permanent,
            sweep=options.sweep,
            kept=permanent,
        ).run()


def _chosen(scenarios: tuple[Scenario, ...], only: tuple[str, ...] | None) -> tuple[Scenario, ...]:
    """The scenarios that ``--only`` names; all without it.

    Raises:
        BadInput: a name is unknown.
    """
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


def _folder(options: ScenariosOptions, stack: ExitStack) -> tuple[Path, bool]:
    """The folder for the runs, and whether it is kept or temporary."""
    if options.out is None and not options.pictures:
        name = stack.enter_context(tempfile.TemporaryDirectory(prefix="galley-scenarios-"))
        return Path(name), False
    return stack.enter_context(results_folder(options.out, "scenarios", SUMMARY)), True


@dataclass
class _ScenarioSuite(Study["ScenarioJob", "ScenarioResult"]):
    """The runs of one command.

    Attributes:
        kept: whether the folders of the runs and the summary are kept.
    """

    JOURNAL: ClassVar[str] = LINES

    kept: bool = False

    def lost_record(self, job: ScenarioJob, lost: LostJob) -> dict[str, Any]:
        identity = {"scenario": job.scenario.name, "seed": job.seed}
        return identity | {"lost": lost.why, "trace": lost.trace}

    def announcement(self, runs: int, workers: int) -> str:
        engine = "Ray" if self.sweep.engine == "ray" else "processes"
        parallel = f", {workers} at a time ({engine})" if workers > 1 else ""
        return f"{plural(runs, 'run')}{parallel}"

    def result_line(self, job: ScenarioJob, result: ScenarioResult | LostJob) -> Text:
        if isinstance(result, LostJob):
            return Text(f"{_name(job)}: lost: {result.why}")
        return Text.assemble(f"{_name(job)}: ", _verdict(result.right), f", {_got(result)}")

    def conclude(self) -> None:
        """Print reasons of unexpected outcomes and failures, and the number of expected ones."""
        console = self.printer.console
        for line in _reasons(self.results()):
            console.print(line)
        console.print(f"{self._right} of {len(self.jobs)} as expected")
        if self.kept:
            console.print(f"results: {self.folder}/{SUMMARY}")

    @property
    def _right(self) -> int:
        """The number of runs with the expected outcome."""
        return sum(_is_right(result) for _, result in self.results())

    def status(self) -> int:
        """2 if a run found bad input, 1 for an unexpected outcome, else 0."""
        results = [result for _, result in self.results()]
        if any(not isinstance(r, LostJob) and r.status == "bad-input" for r in results):
            return 2
        return 0 if self.finished and all(map(_is_right, results)) else 1

    def table(self) -> PlainTable:
        """The table of expected and actual outcomes, one row per run."""
        names = ("scenario", "seed", "~expected", "got", "verdict")
        figures = (">planning s", ">plans", ">actions", ">motion s")
        spare = ("motion s", "plans", "actions", "seed", "planning s", "expected")
        table = PlainTable(*names, *figures, spare=spare)
        for job, result in self.results():
            row: list[str | Text] = [job.scenario.name, str(job.seed), str(job.scenario.expect)]
            if isinstance(result, LostJob):
                table.add_row(*row, "lost", _verdict(False), "", "", "", "")
                continue
            moved = f"{result.motion_s:.1f}" if result.motion_s else ""
            row += [_got(result), _verdict(result.right), f"{result.planning_s:.2f}"]
            table.add_row(*row, str(result.skeletons), str(len(result.plan)), moved)
        return table

    def as_json(self) -> dict[str, Any]:
        """The counts, then all outcomes so far in the order of the jobs."""
        return {
            "schema_version": SCHEMA_VERSION,
            "finished": self.finished,
            "runs": len(self.jobs),
            "right": self._right,
            "outcomes": [self.record(job, result) for job, result in self.results()],
        }


def _name(job: ScenarioJob) -> str:
    """The name of a run in messages."""
    return f"{job.scenario.name}, seed {job.seed}"


def _is_right(result: ScenarioResult | LostJob) -> bool:
    """Whether the outcome is the expected one; a lost run never is."""
    return not isinstance(result, LostJob) and result.right


def _verdict(right: bool) -> Text:
    """The verdict in the table, in colour."""
    return Text("right", "green") if right else Text("wrong", "red")


def _got(outcome: ScenarioResult) -> str:
    """The status of a run; after a refusal, also the kind of the failure."""
    return f"{outcome.status} {outcome.kind}" if outcome.status == "refused" else outcome.status


def _reasons(results: list[tuple[ScenarioJob, ScenarioResult | LostJob]]) -> list[Text]:
    """Unexpected outcomes and messages of failures; seeds with the same text share a line."""
    seeds: dict[tuple[str, str, str], list[int]] = {}
    for job, result in results:
        for text, style in _sentences(result):
            seeds.setdefault((job.scenario.name, text, style), []).append(job.seed)
    lines = []
    for (name, text, style), numbers in seeds.items():
        which = f"seed{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"
        lines.append(Text.assemble((f"{name}, {which}: ", "bold"), (text, style)))
    return lines


def _sentences(result: ScenarioResult | LostJob) -> list[tuple[str, str]]:
    """The sentences about a run, with their styles: differences in red, then the failure."""
    if isinstance(result, LostJob):
        return [(result.why, "red")]
    message = [(result.message, "")] if result.message else []
    return [(why, "red") for why in result.wrong] + message


def _listed(scenarios: tuple[Scenario, ...]) -> PlainTable:
    """The table for ``--list``: name, expected outcome and description of each scenario."""
    table = PlainTable("scenario", "~expected", "~description", spare=("expected",))
    for scenario in scenarios:
        table.add_row(scenario.name, str(scenario.expect), scenario.says)
    return table
