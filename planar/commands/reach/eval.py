"""``galley reach eval``: compare a learned model with the true density."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from galley.cli.common.arguments import Count, Seed, check_output, need, write_json
from galley.cli.common.progress import Printer
from galley.cli.common.shared import json_option, seed_option
from galley.cli.common.tables import PlainTable
from galley.domain.errors import BadInput
from galley.domain.options import argument, option
from galley.planar.commands.reach.train import MODEL, NEEDED

EPILOG = """examples:
  galley reach eval model.safetensors --json figures.json"""


@dataclass(frozen=True, kw_only=True)
class ReachEvalOptions:
    """Options of ``galley reach eval``."""

    checkpoint: Path = argument("Read this model of galley reach train.", default=MODEL)
    bases: Count = option(100_000, "Sample this many candidate bases of the true distribution.")
    seed: Seed = seed_option(1)
    json: Path | None = json_option("the figures")


def command(options: ReachEvalOptions) -> int:
    """Compare model and truth; exit status 0."""
    need("planar", *NEEDED)
    check_output(options.json, ".json", option="--json")
    from galley.planar.reach.learned import evaluate, load_checkpoint

    model = load_checkpoint(options.checkpoint)
    try:
        result = evaluate(model, options.seed, options.bases)
    except ValueError as error:
        raise BadInput.one(options.checkpoint, str(error)) from None
    write_json(options.json, asdict(result))
    table = PlainTable("", ">model", ">truth")
    kl = f"{result.kl_nats:.4f} +- {result.kl_error:.4f}"
    table.add_row("KL(truth || model), nats", kl, "0")
    nll, entropy = f"{result.nll_nats:.4f}", f"{result.entropy_nats:.4f}"
    table.add_row("negative log likelihood, nats", nll, entropy)
    table.add_row("share of elbow +", f"{result.positive:.4f}", f"{result.positive_true:.4f}")
    spread = f"{result.spread_rad:.4f}", f"{result.spread_true_rad:.4f}"
    table.add_row("spread of heading, rad", *spread)
    if model.task.circle is not None:
        table.add_row("clear of the circle", f"{100 * result.free:.3f} %", "100 %")
    table.add_row("samples per second", f"{result.samples_per_second:,.0f}", "")
    printer = Printer()
    printer.console.print(table)
    context = "each for a circle of its own" if model.task.circle is not None else "no obstacle"
    printer.console.print(f"{result.rows} samples of each, {context}; seed {options.seed}")
    return 0
