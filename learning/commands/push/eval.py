"""``galley push eval``: how often a policy succeeds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from galley.cli.common.arguments import check_output, need, write_json
from galley.cli.common.progress import Printer
from galley.cli.common.shared import Seeds, Sweep, json_option
from galley.domain.options import argument, group, option
from galley.learning.commands.collecting import evaluation_table
from galley.learning.commands.push.options import LEARNED, policy_file
from galley.planar.pushing.demonstrators import DEMONSTRATORS

if TYPE_CHECKING:
    from galley.learning.evaluation import Evaluation

EPILOG = """Each episode is that of galley push film with the same seed.

examples:
  galley push eval policy.safetensors --seeds 50
  galley push eval ready --demonstrator planned     the demonstrator beside it, on the same seeds"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """Of ``galley push eval``."""

    checkpoint: Path = argument("Read this checkpoint of galley push train, or ready.")
    seeds: Seeds = group(Seeds(seeds=50))
    demonstrator: str | None = option(
        None, "Also measure this one, on the same table and seeds.", choices=tuple(DEMONSTRATORS)
    )
    sweep: Sweep = group(Sweep())
    json: Path | None = json_option("the figures")


def command(options: Options) -> int:
    """Evaluate; exit status 0, or 1 if an episode was lost."""
    need("learn", *LEARNED)
    check_output(options.json, ".json", option="--json")
    from galley.learning.evaluation import evaluate
    from galley.learning.policy.evaluation import PolicyRunner
    from galley.learning.policy.policy import load_policy

    path = policy_file(options.checkpoint)
    load_policy(path)  # a bad one is said once, not by each worker
    printer, sweep = Printer(), options.sweep
    seeds = options.seeds.all
    names: dict[str, str | None] = {options.checkpoint.name: None}
    if options.demonstrator is not None:
        names[options.demonstrator] = options.demonstrator
    found: dict[str, Evaluation] = {}
    for name, who in names.items():

        def progress(done: int, good: int, name: str = name) -> None:
            printer.fraction(name, done / len(seeds), f"{done}/{len(seeds)}, {good} succeeded")

        run = PolicyRunner(path, who)
        with printer:
            found[name] = evaluate(run, seeds, sweep.jobs, sweep.engine, progress)
    write_json(options.json, {name: each.record() for name, each in found.items()})
    return evaluation_table(found, printer)
