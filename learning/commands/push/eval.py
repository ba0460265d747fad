"""``galley push eval``: how often a policy succeeds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from galley.cli.common.arguments import Count, check_output, write_json
from galley.cli.common.progress import Printer
from galley.cli.common.shared import Sweep, json_option
from galley.cli.common.tables import PlainTable
from galley.domain.options import argument, group, option
from galley.learning.commands.push.options import Table, checked_policy, policy_file, seeds_option
from galley.planar.pushing.demonstrators import DEMONSTRATORS

if TYPE_CHECKING:
    from galley.learning.policy.evaluation import Evaluation

EPILOG = """Each episode is that of galley push film with the same seed.

examples:
  galley push eval policy.safetensors --seeds 50
  galley push eval ready --demonstrator planned     the demonstrator beside it, on the same seeds
  galley push eval ready --config slippery.yaml     another friction, mass, outline or start"""


@dataclass(frozen=True, kw_only=True)
class Options(Table):
    """Of ``galley push eval``."""

    checkpoint: Path = argument("Read this checkpoint of galley push train, or ready.")
    seeds: Count = seeds_option(50)
    demonstrator: str | None = option(
        None, "Also measure this one, on the same table and seeds.", choices=tuple(DEMONSTRATORS)
    )
    sweep: Sweep = group(Sweep())
    json: Path | None = json_option("the figures")


def command(options: Options) -> int:
    """Evaluate; exit status 0, or 1 if an episode was lost."""
    check_output(options.json, ".json", option="--json")
    config = options.push_config(options.checkpoint)
    checked_policy(options.checkpoint, config)  # a bad one is said once, not by each worker
    from galley.learning.policy.evaluation import PolicyRunner, evaluate

    printer, sweep = Printer(), options.sweep
    seeds = range(options.seed, options.seed + options.seeds)
    names: dict[str, str | None] = {options.checkpoint.name: None}
    if options.demonstrator is not None:
        names[options.demonstrator] = options.demonstrator
    found: dict[str, Evaluation] = {}
    for name, who in names.items():

        def progress(done: int, good: int, name: str = name) -> None:
            printer.fraction(name, done / len(seeds), f"{done}/{len(seeds)}, {good} succeeded")

        run = PolicyRunner(policy_file(options.checkpoint), who, config)
        with printer:
            found[name] = evaluate(run, seeds, sweep.jobs, sweep.engine, progress)
    write_json(options.json, {name: each.record() for name, each in found.items()})
    _table(found, printer)
    lost = {seed: each for result in found.values() for seed, each in result.lost.items()}
    for seed, each in lost.items():
        printer.console.print(f"no episode of seed {seed}: {each.why}")
    return 1 if lost else 0


def _table(found: dict[str, Evaluation], printer: Printer) -> None:
    names = ("success", "95 %", "steps", "coverage", "largest", "latency ms", "95th")
    table = PlainTable("", *(f">{name}" for name in names))
    for name, each in found.items():
        record = each.record()
        low, high = record["interval"]
        steps, latency = record["steps"], record["latency_ms"]
        table.add_row(
            name,
            f"{each.successes}/{record['episodes']}",
            f"{100 * low:.0f} to {100 * high:.0f} %",
            "-" if steps is None else f"{steps:.0f}",
            f"{100 * record['coverage']:.1f} %",
            f"{100 * record['largest_coverage']:.1f} %",
            f"{latency:.1f}" if latency else "-",
            f"{record['latency_95_ms']:.1f}" if latency else "-",
        )
    printer.console.print(table)
    printer.console.print("steps: of successes; coverage: at the end, and the largest, in the mean")
