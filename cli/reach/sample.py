"""``galley reach sample``: a dataset of base poses and joint angles that reach targets."""

from __future__ import annotations

import argparse
import sys

from galley.cli.common.arguments import (
    count,
    multiple,
    need,
    number,
    out_option,
    plural,
    positive,
    seed_option,
    worker_options,
)
from galley.cli.common.progress import Printer
from galley.cli.reach.options import BOUNDS, sampler, sampler_options

EPILOG = """A target is drawn for each candidate base, or --target is the same for all; then a base
in the ring about it, a heading, and the joint angles of both elbows. What is out of limits is
dropped.
Angles are in radians, lengths in metres (docs/reachability.md).

results, in --out:
  shard-00000.parquet ...  columns x, y, psi, theta1, theta2, target_x, target_y, elbow, base
  dataset.json             settings, units, density, number of rows, the rule of the split

The files depend on the options alone, not on --jobs. The same command again resumes a stopped one;
a folder with a dataset of other options is refused.

examples:
  galley reach sample --out data                         targets everywhere in the workspace
  galley reach sample --target 0 0 --out at_origin       one target
  galley reach sample --limits -2 2 -2.5 2.5 --out data  joint limits: theta1, then theta2
  galley reach sample --circle 0.5 0 0.2 --score manipulability=1 --out preferred
  galley reach sample --bases 10000000 --jobs 2 --out large"""


def add_arguments(p: argparse.ArgumentParser) -> None:
    """Add the options of ``galley reach sample``."""
    targets = p.add_mutually_exclusive_group()
    targets.add_argument(
        "--target", type=number, nargs=2, metavar=("X", "Y"), help="the same for all rows, m"
    )
    targets.add_argument(
        "--bounds",
        type=number,
        nargs=4,
        metavar=("X_LO", "X_HI", "Y_LO", "Y_HI"),
        help=f"of targets, uniform within, m (default {' '.join(f'{x:g}' for x in BOUNDS)})",
    )
    p.add_argument(
        "--bases",
        type=count,
        default=100_000,
        metavar="N",
        help="candidate bases, up to two rows each (default 100000)",
    )
    sampler_options(p)
    filters = p.add_argument_group("filters of rows")
    filters.add_argument(
        "--circle",
        type=number,
        nargs=3,
        action="append",
        default=[],
        metavar=("X", "Y", "RADIUS"),
        help="an obstacle that neither links nor base touch, m; may be repeated",
    )
    filters.add_argument(
        "--view", type=positive, metavar="RAD", help="the camera's field of view with the target"
    )
    filters.add_argument(
        "--score",
        nargs="+",
        type=_score,
        default=[],
        metavar="NAME=WEIGHT",
        help="of manipulability, margin, clearance, visibility; rows are kept with probability "
        "(weighted sum) / (sum of weights)",
    )
    filters.add_argument(
        "--threshold", type=multiple, metavar="S", help="keep rows with at least this sum instead"
    )
    p.add_argument(
        "--validation",
        type=count,
        default=10,
        metavar="N",
        help="one base in N is for validation (default 10)",
    )
    p.add_argument(
        "--shard",
        type=count,
        default=50_000,
        metavar="N",
        help="candidate bases in a file (default 50000)",
    )
    seed_option(p)
    worker_options(p)
    out_option(p)


def _score(text: str) -> tuple[str, float]:
    """A score's name and weight; 1 if there is only a name."""
    name, _, weight = text.partition("=")
    return name, multiple(weight) if weight else 1.0


def command(arguments: argparse.Namespace) -> int:
    """Write the dataset; exit status 0 once all of it is there, 1 if files or all rows lack."""
    need("data", "pyarrow")
    from galley.cli.common.study import results_folder
    from galley.reachability.planar import dataset
    from galley.sweeps import MissingRay

    chosen = arguments.bounds or BOUNDS
    bounds = None if arguments.target else ((chosen[0], chosen[1]), (chosen[2], chosen[3]))
    try:
        settings = dataset.DatasetSettings(
            sampler(arguments),
            arguments.bases,
            target=tuple(arguments.target) if arguments.target else None,
            bounds=bounds,
            circles=tuple(map(tuple, arguments.circle)),
            view=arguments.view,
            scores=tuple(arguments.score),
            threshold=arguments.threshold,
            seed=arguments.seed,
            every=arguments.validation,
            shard_bases=arguments.shard,
        )
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    printer = Printer()
    with results_folder(arguments.out, "reach", dataset.INFO) as folder:
        printer.stage(f"{plural(settings.bases, 'candidate base')} to {folder}")

        def show(done: int, total: int) -> None:
            printer.fraction(f"{total} files", done / total)

        try:
            lost = dataset.write_dataset(settings, folder, arguments.jobs, arguments.engine, show)
        except MissingRay as error:
            raise argparse.ArgumentTypeError(str(error)) from None
        finally:
            printer.close()
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
