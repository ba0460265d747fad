"""``galley demos stats``: print statistics of a folder of demonstrations."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from statistics import median

from galley.cli.common.progress import Printer
from galley.domain.options import argument
from galley.learning.commands.collecting import array_table, counts, open_demonstrations

EPILOG = """DIR is what a collect wrote, or any replay buffer (zarr).

examples:
  galley demos stats pusht_cchi_v7_replay.zarr"""


@dataclass(frozen=True, kw_only=True)
class DemosStatsOptions:
    """Options of ``galley demos stats``."""

    folder: Path = argument("Read this folder of demonstrations.", "DIR")


def command(options: DemosStatsOptions) -> int:
    """Print counts and the table of arrays; exit status 0."""
    episodes, collection = open_demonstrations(options.folder)
    console = Printer().console
    if collection is not None:
        console.print(f"{collection.title} ({collection.licence})")
    lengths = sorted(info.length for info in episodes.infos)
    console.print(counts(episodes))
    if not lengths:
        return 0
    seconds = sum(info.duration for info in episodes.infos)
    middle = f"{median(lengths):g}"
    console.print(f"{lengths[0]} to {lengths[-1]} steps, median {middle}; {seconds:.1f} s in all")
    size = sum(path.stat().st_size for path in options.folder.rglob("*") if path.is_file())
    console.print(f"{size / 2**20:.2f} MiB, {size / sum(lengths):.0f} bytes a step")
    console.print(array_table(episodes, collection))
    return 0
