"""``galley push eval``: how often a policy succeeds."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from galley.cli.common.arguments import count, need, seed_option, worker_options
from galley.cli.common.progress import Printer
from galley.cli.common.tables import PlainTable
from galley.learning.commands.push.options import LEARNED, policy_file

if TYPE_CHECKING:
    from galley.learning.policy.evaluation import Evaluation

EPILOG = """Each episode is that of galley push film with the same seed. "ready" is the policy that
comes with Galley. A seed's episode is the same whatever --workers is; the latency isn't.

examples:
  galley push eval policy.safetensors --episodes 50
  galley push eval ready --demonstrator planned     the demonstrator beside it, on the same seeds
  galley push eval ready --json > figures.json

The exit status is 0 once all episodes are done, whether they succeed or not."""


def add_arguments(p: argparse.ArgumentParser) -> None:
    """Add the options of ``galley push eval``."""
    from galley.planar.pushing.demonstrators import DEMONSTRATORS

    p.add_argument("checkpoint", type=Path, metavar="FILE", help="of galley push train, or ready")
    p.add_argument(
        "--episodes",
        type=count,
        default=50,
        metavar="N",
        help="how many, with seeds one after the other (default 50)",
    )
    p.add_argument(
        "--demonstrator",
        choices=tuple(DEMONSTRATORS),
        help="also this one, on the same table and seeds",
    )
    seed_option(p)
    worker_options(p, "--workers")
    p.add_argument("--json", action="store_true", help="print JSON")


def command(arguments: argparse.Namespace) -> int:
    """Evaluate; exit status 0, or 1 if an episode was lost."""
    need("learn", *LEARNED)
    from galley.learning.policy.evaluation import PolicyRunner, evaluate
    from galley.learning.policy.policy import load_policy
    from galley.sweeps import MissingRay

    path = policy_file(arguments.checkpoint)
    load_policy(path)  # a bad one is said once, not by each worker
    printer = Printer()
    seeds = range(arguments.seed, arguments.seed + arguments.episodes)
    names = {arguments.checkpoint.name: None}
    if arguments.demonstrator is not None:
        names[arguments.demonstrator] = arguments.demonstrator
    found: dict[str, Evaluation] = {}
    for name, who in names.items():

        def progress(done: int, good: int, name: str = name) -> None:
            if not arguments.json:
                note = f"{done}/{len(seeds)}, {good} succeeded"
                printer.fraction(name, done / len(seeds), note)

        run = PolicyRunner(path, who)
        try:
            found[name] = evaluate(run, seeds, arguments.jobs, arguments.engine, progress)
        except MissingRay as error:
            raise argparse.ArgumentTypeError(str(error)) from None
        finally:
            printer.close()
    if arguments.json:
        print(json.dumps({name: each.record() for name, each in found.items()}, indent=1))
    else:
        _table(found, printer)
    lost = {seed: each for result in found.values() for seed, each in result.lost.items()}
    for seed, each in lost.items():
        printer.console.print(f"no episode of seed {seed}: {each.why}")
    return 1 if lost else 0


def _table(found: dict[str, Evaluation], printer: Printer) -> None:
    table = PlainTable()
    table.add_column("")
    for name in ("success", "95 %", "steps", "coverage", "largest", "latency ms", "95th"):
        table.add_column(name, right=True)
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
