"""``galley scenarios``: runs scenarios over seeds, prints expected and actual outcomes."""

from __future__ import annotations

import argparse
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rich.text import Text

from galley.cli.common.arguments import plural, sweep_options
from galley.cli.common.study import NamedJob, Study, results_folder
from galley.cli.common.tables import PlainTable
from galley.domain.errors import BadInput, InputError, did_you_mean
from galley.sweeps import LostJob, digest

if TYPE_CHECKING:
    from galley.studies.scenarios import Scenario
    from galley.studies.scenarios.outcome import ScenarioJob, ScenarioResult

SUMMARY, LINES = "scenarios.json", "scenarios.jsonl"
SCHEMA_VERSION = 2

EPILOG = """what is run:
  Each PATH is a scenario file, or a folder of them; without PATH, the suite that comes with Galley.
  A scenario is a YAML file that names a scene, a domain, a problem and the expected outcome:

    galley_scenario: 1
    name: crate_in_the_way
    says: The drawer can't be opened because a crate stands in front of it.
    scene: blocked.yaml          # beside this file, or one of the kitchen's
    domain: drawers.pddl
    problem: blocked.pddl
    expect: {status: refused, kind: blocked, names: [crate]}

  docs/scenarios.md has all keys and the suite as a table.

examples:
  galley scenarios --list                        the scenarios and their expected outcomes
  galley scenarios --only swap --seeds 10        one scenario, seeds 0 to 9
  galley scenarios my_folder --out results       your own; keep each run's folder
  galley scenarios --pictures                    with a picture of each final state
  galley scenarios --seeds 10 --jobs 8           eight runs at a time
  galley scenarios --seeds 10 --engine ray       on Ray (pip install 'galley-tamp[ray]')

results, in --out:
  scenarios.json        all outcomes, rewritten after every run
  scenarios.jsonl       one line per finished run, from which a stopped suite resumes
  NAME-SEED/            each run's folder (docs/report.md)
  NAME-SEED.png         its final state, with --pictures

Outcomes do not depend on --jobs and --engine; times do. The exit status is 0 only if every outcome
is the expected one."""


def add_arguments(p: argparse.ArgumentParser) -> None:
    """Add the options of ``galley scenarios``."""
    p.add_argument("path", type=Path, nargs="*", metavar="PATH", help="scenario file or folder")
    p.add_argument(
        "--only",
        nargs="+",
        action="extend",
        metavar="NAME",
        help="run only these scenarios",
    )
    p.add_argument("--list", action="store_true", help="list the scenarios, run nothing")
    sweep_options(p, seeds=1)
    p.add_argument(
        "--execute",
        choices=("kinematic", "physics"),
        default="kinematic",
        help="kinematic: joint states set over time, fast; physics: as galley run does (default "
        "kinematic)",
    )
    p.add_argument(
        "--out", type=Path, metavar="FOLDER", help="keep the runs' folders and scenarios.json"
    )
    p.add_argument(
        "--pictures",
        action="store_true",
        help="draw each final state (of a refusal, the start) into --out or a new folder in runs/",
    )
    p.add_argument("--json", type=Path, metavar="FILE", help="also write all outcomes to FILE")


def command(arguments: argparse.Namespace) -> int:
    """Run the scenarios; exit status 0 only if every outcome is the expected one."""
    from galley.cli.common.progress import Printer
    from galley.domain.files import check_writable
    from galley.studies.scenarios import check_scenario, find_scenarios
    from galley.studies.scenarios.outcome import ScenarioJob, ScenarioResult, run_scenario

    scenarios = _chosen(find_scenarios(arguments.path), arguments.only)
    printer = Printer()
    if arguments.list:
        printer.console.print(_listed(scenarios))
        return 0
    faults: list[InputError] = []
    options = (("optimize", arguments.optimize), ("execute", arguments.execute))
    settings = {}
    for scenario in scenarios:
        try:
            settings[scenario.name] = digest(check_scenario(scenario), options)
        except BadInput as error:
            faults += [fault for fault in error.errors if fault not in faults]
    if faults:
        raise BadInput(faults)
    if arguments.json is not None:
        check_writable(arguments.json)
    with ExitStack() as stack:
        folder, kept = _folder(arguments, stack)
        seeds = range(arguments.seed, arguments.seed + arguments.seeds)
        jobs = [
            ScenarioJob(scenario, seed, folder / f"{scenario.name}-{seed}", options)
            for scenario in scenarios
            for seed in seeds
        ]
        return _ScenarioSuite(
            printer=printer,
            function=run_scenario,
            result_type=ScenarioResult,
            jobs=[NamedJob(job, _name(job), settings[job.scenario.name]) for job in jobs],
            folder=folder,
            summaries=[arguments.json] * (arguments.json is not None) + [folder / SUMMARY] * kept,
            workers=arguments.jobs,
            engine=arguments.engine,
            kept=kept,
            pictures=arguments.pictures,
        ).run()


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


def _folder(arguments: argparse.Namespace, stack: ExitStack) -> tuple[Path, bool]:
    """The folder for the runs, and whether it is kept or temporary."""
    if arguments.out is None and not arguments.pictures:
        name = stack.enter_context(tempfile.TemporaryDirectory(prefix="galley-scenarios-"))
        return Path(name), False
    return stack.enter_context(results_folder(arguments.out, "scenarios", SUMMARY)), True


@dataclass
class _ScenarioSuite(Study["ScenarioJob", "ScenarioResult"]):
    """The runs of one command.

    Attributes:
        kept: whether to keep the runs' folders. pictures: whether to draw each final state.
    """

    COMMAND: ClassVar[str] = "scenarios"
    JOURNAL: ClassVar[str] = LINES

    kept: bool = False
    pictures: bool = False

    def lost_record(self, job: ScenarioJob, lost: LostJob) -> dict[str, Any]:
        identity = {"scenario": job.scenario.name, "seed": job.seed}
        return identity | {"lost": lost.why, "trace": lost.trace}

    def announcement(self, runs: int, workers: int) -> str:
        where = "Ray" if self.engine == "ray" else "processes"
        parallel = f", {workers} at a time ({where})" if workers > 1 else ""
        return f"{plural(runs, 'run')}{parallel}"

    def result_line(self, job: ScenarioJob, result: ScenarioResult | LostJob) -> Text:
        if isinstance(result, LostJob):
            return Text(f"{_name(job)}: lost: {result.why}")
        return Text.assemble(f"{_name(job)}: ", _verdict(result.right), f", {_got(result)}")

    def on_result(
        self, job: ScenarioJob, result: ScenarioResult | LostJob, resumed: bool = False
    ) -> None:
        """Draw the final state."""
        if not self.pictures or isinstance(result, LostJob) or result.status == "bad-input":
            return
        path = self.folder / f"{job.scenario.name}-{job.seed}.png"
        if job.folder is not None and not (resumed and path.exists()):
            from galley.domain.scene.reader import load_scene
            from galley.results.run_folder import STATES
            from galley.robots.catalog import robot_of
            from galley.viz.render.scene_picture import draw_end

            scene = load_scene(job.scenario.scene)
            draw_end(scene, robot_of(scene.robot), job.folder / STATES, path)

    def conclude(self) -> None:
        """Print the reasons and the number of expected outcomes."""
        console = self.printer.console
        for line in _reasons(self.results()):
            console.print(line)
        console.print(f"{self._right} of {len(self.jobs)} as expected")
        if self.kept:
            console.print(f"results: {self.folder}/{SUMMARY}")

    @property
    def _right(self) -> int:
        return sum(_is_right(result) for _, result in self.results())

    def status(self) -> int:
        """2 if a run found bad input, 1 for an unexpected outcome, else 0."""
        results = [result for _, result in self.results()]
        if any(not isinstance(r, LostJob) and r.status == "bad-input" for r in results):
            return 2
        return 0 if self.finished and all(map(_is_right, results)) else 1

    def table(self) -> PlainTable:
        """One row per run: expected and actual outcome."""
        table = PlainTable(spare=("motion s", "plans", "actions", "seed", "planning s", "expected"))
        for name in ("scenario", "seed", "expected", "got", "verdict"):
            table.add_column(name, fold=name == "expected")
        for name in ("planning s", "plans", "actions", "motion s"):
            table.add_column(name, right=True)
        for job, result in self.results():
            row: list[str | Text] = [job.scenario.name, str(job.seed), str(job.scenario.expect)]
            if isinstance(result, LostJob):
                table.add_row(*row, "lost", _verdict(False), "", "", "", "")
                continue
            late = " late" if result.late else ""
            moved = f"{result.motion_s:.1f}" if result.motion_s else ""
            seconds = f"{result.planning_s:.2f}{late}"
            row += [_got(result), _verdict(result.right), seconds]
            table.add_row(*row, str(result.skeletons), str(len(result.plan)), moved)
        return table

    def as_json(self) -> dict[str, Any]:
        """Counts, then each outcome in order."""
        return {
            "schema_version": SCHEMA_VERSION,
            "finished": self.finished,
            "runs": len(self.jobs),
            "right": self._right,
            "outcomes": [self.record(job, result) for job, result in self.results()],
        }


def _name(job: ScenarioJob) -> str:
    return f"{job.scenario.name}, seed {job.seed}"


def _is_right(result: ScenarioResult | LostJob) -> bool:
    return not isinstance(result, LostJob) and result.right


def _verdict(right: bool) -> Text:
    return Text("right", "green") if right else Text("wrong", "red")


def _got(outcome: ScenarioResult) -> str:
    return f"{outcome.status} {outcome.kind}" if outcome.status == "refused" else outcome.status


def _reasons(results: list[tuple[ScenarioJob, ScenarioResult | LostJob]]) -> list[Text]:
    """Reasons of unexpected outcomes, and failures' messages; equal ones of several seeds once."""
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
    if isinstance(result, LostJob):
        return [(text, "red") for text in (result.why, *_where(result))]
    message = [(result.message, "")] if result.message else []
    return [(why, "red") for why in result.wrong] + message


def _where(lost: LostJob) -> list[str]:
    """The innermost frame of a lost job's traceback."""
    frames = [line.strip() for line in lost.trace.splitlines() if line.startswith("  File ")]
    return frames[-1:]


def _listed(scenarios: tuple[Scenario, ...]) -> PlainTable:
    table = PlainTable(spare=("expected",))
    table.add_column("scenario")
    table.add_column("expected", fold=True)
    table.add_column("description", fold=True)
    for scenario in scenarios:
        table.add_row(scenario.name, str(scenario.expect), scenario.says)
    return table
