"""``galley reach eval``: a learned model beside the true density."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from galley.cli.common import arguments
from galley.domain.errors import BadInput

EPILOG = """examples:
  galley reach eval model.safetensors
  galley reach eval model.safetensors --json | python -m json.tool"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument("checkpoint", type=Path, help="what galley reach train has written")
    parser.add_argument("--seed", type=arguments.seed, default=1, help="of all samples (1)")
    parser.add_argument(
        "--bases",
        type=arguments.count,
        default=100_000,
        metavar="N",
        help="candidate bases of the truth (100000)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")


def command(options: argparse.Namespace) -> int:
    """Evaluate; returns the exit status."""
    from galley.cli.reach.train import learned

    module = learned()
    model = module.load_checkpoint(options.checkpoint)
    try:
        result = module.evaluate(model, options.seed, options.bases)
    except ValueError as error:
        raise BadInput.one(options.checkpoint, str(error)) from None
    if options.json:
        print(json.dumps(asdict(result), indent=1))
        return 0

    from galley.cli.common.progress import Printer
    from galley.cli.common.tables import plain_table

    table = plain_table()
    for name in ("", "model", "truth"):
        table.add_column(name, justify="right" if name else "left", no_wrap=True)
    kl = f"{result.kl_nats:.4f} +- {result.kl_error:.4f}"
    table.add_row("KL(truth || model), nats", kl, "0")
    nll, entropy = f"{result.nll_nats:.4f}", f"{result.entropy_nats:.4f}"
    table.add_row("negative log likelihood, nats", nll, entropy)
    table.add_row("share of elbow +", f"{result.positive:.4f}", f"{result.positive_true:.4f}")
    spread = f"{result.spread_rad:.4f}", f"{result.spread_true_rad:.4f}"
    table.add_row("spread of heading, rad", *spread)
    table.add_row("bases outside the ring", f"{100 * result.outside_ring:.3f} %", "0")
    table.add_row("reachable after IK", f"{100 * result.reachable:.3f} %", "100 %")
    if model.task.circle is not None:
        table.add_row("clear of the circle", f"{100 * result.free:.3f} %", "100 %")
    table.add_row("samples per second", f"{result.samples_per_second:,.0f}", "")
    printer = Printer()
    printer.console.print(table)
    what = "each for a circle of its own" if model.task.circle is not None else "no obstacle"
    printer.console.print(f"{result.rows} samples of each, {what}; seed {options.seed}")
    return 0
