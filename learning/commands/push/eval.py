"""``galley push eval``: measure how often a policy succeeds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from galley.cli.common.arguments import Count, check_output, write_json
from galley.cli.common.progress import Printer
from galley.cli.common.shared import Sweep, json_option
from galley.domain.options import argument, group, option
from galley.learning.commands.collecting import evaluation_table
from galley.learning.commands.push.options import Table, checked_policy, policy_file, seeds_option
from galley.planar.pushing.demonstrators import DEMONSTRATORS

if TYPE_CHECKING:
    from galley.learning.evaluation import PolicyEvaluation

EPILOG = """Each episode is that of galley push film with the same seed.

examples:
  galley push eval policy.safetensors --seeds 50
  galley push eval ready --demonstrator planned     the demonstrator beside it, on the same seeds
  galley push eval ready --config slippery.yaml     another friction, mass, outline or start"""


@dataclass(frozen=True, kw_only=True)
class PushEvalOptions(Table):
    """Options of ``galley push eval``."""

    checkpoint: Path = argument("Read this checkpoint of galley push train, or ready.")
    seeds: Count = seeds_option(50)
    demonstrator: str | None = option(
        None, "Also measure this one, on the same table and seeds.", choices=tuple(DEMONSTRATORS)
    )
    sweep: Sweep = group(Sweep())
    json: Path | None = json_option("the figures")


def command(options: PushEvalOptions) -> int:
    """Evaluate; exit status 0, or 1 if an episode was lost."""
    check_output(options.json, ".json", option="--json")
    from galley.learning.evaluation import evaluate
    from galley.learning.policy.evaluation import PolicyRunner

    config = options.push_config(options.checkpoint)
    checked_policy(options.checkpoint, config)  # reports a bad one once, instead of in each worker

    printer, sweep = Printer(), options.sweep
    seeds = range(options.seed, options.seed + options.seeds)
    names: dict[str, str | None] = {options.checkpoint.name: None}
    if options.demonstrator is not None:
        names[options.demonstrator] = options.demonstrator
    evaluations: dict[str, PolicyEvaluation] = {}
    for name, who in names.items():

        def progress(done: int, good: int, name: str = name) -> None:
            printer.fraction(name, done / len(seeds), f"{done}/{len(seeds)}, {good} succeeded")

        run = PolicyRunner(policy_file(options.checkpoint), who, config)
        with printer:
            evaluations[name] = evaluate(run, seeds, sweep.jobs, sweep.engine, progress)
    write_json(options.json, {name: result.record() for name, result in evaluations.items()})
    return evaluation_table(evaluations, printer)
