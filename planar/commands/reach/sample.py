"""``galley reach sample``: a dataset of base poses and joint angles that reach targets."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from galley.cli.common.arguments import (
    Count,
    Multiple,
    Positive,
    Seed,
    multiple,
    need,
    number,
    plural,
    usage,
)
from galley.cli.common.options import given
from galley.cli.common.progress import Printer
from galley.cli.common.shared import Sweep, out_option, seed_option
from galley.domain.options import group, more, option
from galley.planar.commands.reach.options import BOUNDS, Sampler, sampler_group

_SHAPES = ("circle", "box", "polygon")
EPILOG = """Angles are in radians, lengths in metres (docs/reachability.md). The files depend on
the options alone, not on --jobs. The same command again resumes a stopped one; a folder with a
dataset of other options is refused.

examples:
  galley reach sample --limits -2 2 -2.5 2.5 --out data    joint limits: theta1, then theta2
  galley reach sample --circle 0.5 0 0.2 --score manipulability=1 --out preferred"""


def _score(text: str) -> tuple[str, float]:
    """A score's name and weight, from ``name=weight``; without a weight it is 1."""
    name, _, weight = text.partition("=")
    return name, multiple(weight) if weight else 1.0


def _obstacle_option(numbers: str) -> Any:
    """The option for obstacles of a shape with these numbers."""
    return option(
        (),
        f"Add an obstacle for links and base: {numbers}, m and rad. May be repeated.",
        "NUMBER",
    )


@dataclass(frozen=True, kw_only=True)
class Filters:
    """Options that filter rows; fields of ``DatasetSettings`` have the same names there."""

    circle: tuple[tuple[float, ...], ...] = _obstacle_option("X Y RADIUS")
    box: tuple[tuple[float, ...], ...] = _obstacle_option("X Y WIDTH HEIGHT [ANGLE]")
    polygon: tuple[tuple[float, ...], ...] = _obstacle_option("X Y X Y X Y ...")
    forbid: tuple[tuple[str, ...], ...] = option(
        (),
        "Keep the base's centre out of a circle, box or polygon with its numbers. May be repeated.",
        ("SHAPE", "NUMBER"),
    )
    margin: Multiple = option(0.0, "Keep this distance from obstacles.", "M")
    view: Positive | None = option(
        None, "Keep the target in this field of view of the camera.", "RAD", flag="--field-of-view"
    )
    scores: tuple[Annotated[Any, _score], ...] = option(
        (),
        "Weigh manipulability, margin, clearance, visibility, area; rows are kept with probability "
        "(weighted sum) / (sum of weights).",
        "NAME=WEIGHT",
        flag="--score",
    )
    threshold: Multiple | None = option(None, "Keep rows with at least this sum instead.", "S")

    @property
    def obstacles(self) -> tuple[tuple[str, tuple[float, ...]], ...]:
        """Kind and numbers of each obstacle."""
        return tuple((kind, numbers) for kind in _SHAPES for numbers in getattr(self, kind))


@dataclass(frozen=True, kw_only=True)
class ReachSampleOptions:
    """Options of ``galley reach sample``; like ``Filters``, with names of ``DatasetSettings``."""

    target: tuple[float, float] | None = option(
        None, "Take this target for all rows, m.", ("X", "Y"), either="targets"
    )
    bounds: tuple[float, float, float, float] | None = option(
        None,
        f"Draw targets uniformly within, m. Default: {' '.join(f'{x:g}' for x in BOUNDS)}.",
        ("X_LO", "X_HI", "Y_LO", "Y_HI"),
        either="targets",
    )
    bases: Count = option(100_000, "Sample this many candidate bases, up to two rows each.")
    sampler: Sampler = sampler_group()
    filters: Filters = group(Filters(), "filters of rows")
    every: Count = more(10, "Keep one base in N for validation.", flag="--validation")
    shard_bases: Count = more(50_000, "Put this many bases into a file.", flag="--shard")
    seed: Seed = seed_option()
    sweep: Sweep = group(Sweep())
    out: Path | None = out_option()


def command(options: ReachSampleOptions) -> int:
    """Write the dataset; exit status 1 if files are missing or it is empty, else 0."""
    need("planar", "pyarrow")
    from galley.cli.common.study import results_folder
    from galley.learning.shards import INFO
    from galley.planar.reach import dataset

    edges, filters = options.bounds or BOUNDS, options.filters
    with usage():
        own = {
            "sampler": options.sampler.made(),
            "bounds": None if options.target else (edges[:2], edges[2:]),
            "obstacles": filters.obstacles,
            "forbidden": tuple(
                (kind, tuple(map(number, numbers))) for kind, *numbers in filters.forbid
            ),
        }
        settings = dataset.DatasetSettings(**given(options, dataset.DatasetSettings) | own)
    printer = Printer()
    with results_folder(options.out, "reach", INFO) as folder:
        printer.stage(f"{plural(settings.bases, 'candidate base')} to {folder}")

        def show(done: int, total: int) -> None:
            printer.fraction(f"{total} files", done / total)

        with printer:
            sweep = options.sweep
            lost = dataset.write_dataset(settings, folder, sweep.jobs, sweep.engine, show)
        if lost:
            what = f"{len(lost)} of {plural(settings.shards, 'file')} can't be written"
            print(f"{what}: {lost[0].why}", file=sys.stderr)
            return 1
        rows = dataset.row_count(folder)
        share = f"{rows / settings.bases:.3f} a base"
        printer.stage(f"{plural(rows, 'row')}, {share}, in {plural(settings.shards, 'file')}")
        if not rows:
            print("the dataset is empty: no candidate base passes the filters", file=sys.stderr)
            return 1
    return 0
