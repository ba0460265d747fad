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
from galley.planar.commands.reach.options import BOUNDS, sampler, sampler_options

_SHAPES = {
    "circle": "X Y RADIUS",
    "box": "X Y WIDTH HEIGHT [ANGLE]",
    "polygon": "X Y X Y X Y ...",
}
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
  galley reach sample --box 1 0 0.4 0.2 0.5 --forbid circle 0 0 0.5 --out cluttered
  galley reach sample --random 3 0.1 0.3 --bases-per-target 100 --out contexts
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
    p.add_argument(
        "--bases-per-target",
        type=count,
        default=1,
        metavar="N",
        help="candidate bases in turn with one target and its random obstacles (default 1)",
    )
    sampler_options(p)
    filters = p.add_argument_group("filters of rows")
    for kind, numbers in _SHAPES.items():
        filters.add_argument(
            f"--{kind}",
            type=number,
            nargs="+",
            action="append",
            default=[],
            metavar="NUMBER",
            help=f"{numbers} of an obstacle that neither links nor base touch, m and rad; may be "
            "repeated",
        )
    filters.add_argument(
        "--forbid",
        nargs="+",
        action="append",
        default=[],
        metavar=("SHAPE", "NUMBER"),
        help="where the base's centre may not be: circle, box or polygon with its numbers; may be "
        "repeated",
    )
    filters.add_argument(
        "--random",
        type=number,
        nargs=3,
        metavar=("N", "LEAST", "GREATEST"),
        help="N obstacles of random shape, place and radius, anew for each target; the column "
        "'obstacles' has them",
    )
    filters.add_argument(
        "--margin",
        type=multiple,
        default=0.0,
        metavar="M",
        help="to be kept from obstacles (default 0)",
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
        help="one target in N, and its bases, is for validation (default 10)",
    )
    p.add_argument(
        "--shard",
        type=count,
        metavar="N",
        help="candidate bases in a file (default 50000, with --random 2000)",
    )
    seed_option(p)
    worker_options(p)
    out_option(p)


def _random(values: list[float] | None) -> tuple[int, float, float] | None:
    """Number and sizes of random obstacles."""
    if values is None:
        return None
    if values[0] < 1 or values[0] % 1:
        raise ValueError(f"--random needs a number of obstacles from 1, got {values[0]:g}")
    return int(values[0]), values[1], values[2]


def _score(text: str) -> tuple[str, float]:
    """A score's name and weight; 1 if there is only a name."""
    name, _, weight = text.partition("=")
    return name, multiple(weight) if weight else 1.0


def command(arguments: argparse.Namespace) -> int:
    """Write the dataset; exit status 0 once all of it is there, 1 if files or all rows lack."""
    need("planar", "pyarrow")
    from galley.cli.common.study import results_folder
    from galley.planar.reach import dataset
    from galley.sweeps import MissingRay

    chosen = arguments.bounds or BOUNDS
    bounds = None if arguments.target else ((chosen[0], chosen[1]), (chosen[2], chosen[3]))
    try:
        settings = dataset.DatasetSettings(
            sampler(arguments),
            arguments.bases,
            target=tuple(arguments.target) if arguments.target else None,
            bounds=bounds,
            bases_per_target=arguments.bases_per_target,
            obstacles=tuple(
                (kind, tuple(each)) for kind in _SHAPES for each in getattr(arguments, kind)
            ),
            forbidden=tuple(
                (kind, tuple(map(number, numbers))) for kind, *numbers in arguments.forbid
            ),
            margin=arguments.margin,
            random=_random(arguments.random),
            view=arguments.view,
            scores=tuple(arguments.score),
            threshold=arguments.threshold,
            seed=arguments.seed,
            every=arguments.validation,
            shard_bases=arguments.shard or (2_000 if arguments.random else 50_000),
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
