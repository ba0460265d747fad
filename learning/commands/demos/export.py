"""``galley demos export``: write collected episodes in a format for learners."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from galley.cli.common.arguments import Index
from galley.cli.common.progress import Printer
from galley.domain.errors import BadInput
from galley.domain.options import REQUIRED, argument, option
from galley.learning.commands.collecting import Format, counts, export, open_demonstrations

EPILOG = """examples:
  galley demos export demos --format zarr --out train.zarr
  galley demos export demos --format lerobot --success --out train"""


@dataclass(frozen=True, kw_only=True)
class DemosExportOptions:
    """Options of ``galley demos export``."""

    folder: Path = argument("Read this folder that a collect wrote.", "DIR")
    format: Format = option(REQUIRED, "Write diffusion_policy's zarr, or LeRobot's v3.0.")
    out: Path = option(REQUIRED, "Write into this folder: it is new, or empty.", "FOLDER")
    success: bool = option(False, "Take only episodes that succeeded.")
    longest: Index | None = option(None, "Take only episodes of at most this many steps.", "STEPS")


def command(options: DemosExportOptions) -> int:
    """Write the export; exit status 0."""
    episodes, collection = open_demonstrations(options.folder)
    if collection is None:
        reason = "is a replay buffer without settings and licence; export a collected folder"
        raise BadInput.one(options.folder, reason)
    chosen = episodes.filter(True if options.success else None, longest=options.longest)
    if not len(chosen):
        raise BadInput.one(options.folder, f"{counts(episodes)}: none passes --success, --longest")
    printer = Printer()
    printer.stage(f"exporting {counts(chosen)}")
    export(chosen, collection, options.format, options.out)
    printer.stage(f"done: {options.out}")
    return 0
