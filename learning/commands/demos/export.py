"""``galley demos export``: collected episodes as learners read them."""

from __future__ import annotations

import argparse
from pathlib import Path

from galley.cli.common.arguments import index
from galley.cli.common.progress import Printer
from galley.domain.errors import BadInput
from galley.learning.commands.collecting import FORMATS, counts, export, open_demonstrations

EPILOG = """formats (docs/demonstrations.md has them key by key):
  zarr     diffusion_policy's replay buffer
  lerobot  LeRobot v3.0, pictures as PNG
  parquet  two plain tables: steps and episodes

examples:
  galley demos export demos --format zarr --out train.zarr
  galley demos export demos --format lerobot --success --out train"""


def add_arguments(p: argparse.ArgumentParser) -> None:
    """Add the options of ``galley demos export``."""
    p.add_argument("folder", type=Path, metavar="DIR", help="that a collect wrote")
    p.add_argument("--format", choices=FORMATS, required=True)
    p.add_argument("--out", type=Path, metavar="FOLDER", required=True, help="new, or empty")
    p.add_argument("--success", action="store_true", help="only episodes that succeeded")
    p.add_argument(
        "--longest", type=index, metavar="STEPS", help="only episodes with at most so many steps"
    )


def command(arguments: argparse.Namespace) -> int:
    """Write the export."""
    found, collection = open_demonstrations(arguments.folder)
    if collection is None:
        what = "is a replay buffer without settings and licence; collected folders can be exported"
        raise BadInput.one(arguments.folder, what)
    chosen = found.filter(True if arguments.success else None, longest=arguments.longest)
    if not len(chosen):
        raise BadInput.one(arguments.folder, f"{counts(found)}: none of them is asked for")
    printer = Printer()
    printer.stage(f"exporting {counts(chosen)}")
    export(chosen, collection, arguments.format, arguments.out)
    printer.stage(f"done: {arguments.out}")
    return 0
