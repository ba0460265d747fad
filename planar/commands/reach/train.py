"""``galley reach train``: learn p(Q | H) from a dataset."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from galley.cli.common.arguments import count, need, plural, positive, seed_option
from galley.cli.common.progress import Printer
from galley.domain.errors import BadInput
from galley.domain.files import check_writable
from galley.planar.commands.reach.options import (
    BOUNDS,
    any_sampler_option,
    sampler,
    sampler_options,
)

if TYPE_CHECKING:
    from galley.planar.reach.learned import LearnedModel, Progress

MODEL = Path("model.safetensors")  # where no other is named
NEEDED = ("jax", "equinox", "flowjax", "optax", "safetensors")

EPILOG = """A spline flow gives base and elbow, exact IK the joint angles. It learns a dataset, or
what the options of arm and sampler say. A stopped training leaves the best model so far in --out.

examples:
  galley reach train --data data
  galley reach train --limits -2 0.9 -3 3 --out limits.safetensors
  galley reach train --circle 0.1 0.4 --out circle.safetensors"""


def add_arguments(p: argparse.ArgumentParser) -> None:
    """Add the options of ``galley reach train``."""
    p.add_argument("--data", type=Path, metavar="DIR", help="of galley reach sample")
    p.add_argument(
        "--out",
        type=Path,
        default=MODEL,
        metavar="FILE",
        help=f"the checkpoint (default {MODEL})",
    )
    p.add_argument(
        "--bases", type=count, metavar="N", help="candidate bases, without --data (default 1000000)"
    )
    p.add_argument(
        "--circle",
        type=positive,
        nargs=2,
        metavar=("MIN", "MAX"),
        help="also with one obstacle as context, a circle with a radius between these, m",
    )
    p.add_argument(
        "--steps", type=count, metavar="N", help="training steps (default 1500, with circle 3000)"
    )
    seed_option(p)
    sampler_options(p)


def command(arguments: argparse.Namespace) -> int:
    """Train; exit status 0 once the checkpoint is written."""
    option = any_sampler_option(arguments) or (arguments.bases and "--bases")
    if arguments.data is not None and option:
        raise argparse.ArgumentTypeError(f"{option} does not go with --data, which says it")
    need("planar", *NEEDED)
    check_writable(arguments.out)
    from galley.planar.reach.dataset import DatasetSettings, load, read_settings
    from galley.planar.reach.learned import Settings, Shape, Task, save_checkpoint, train

    if arguments.data is not None:
        need("planar", "pyarrow")
        data = read_settings(arguments.data)
    else:
        bases = arguments.bases or 1_000_000
        bounds = (BOUNDS[:2], BOUNDS[2:])
        data = DatasetSettings(sampler(arguments), bases, bounds=bounds, seed=arguments.seed)
    printer = Printer()

    def each(now: Progress, best: LearnedModel) -> None:
        if now.best:
            save_checkpoint(arguments.out, best)
        printer.console.print(now.line())

    try:
        task = Task(data, tuple(arguments.circle) if arguments.circle else None)
        steps = arguments.steps or (3000 if arguments.circle else 1500)
        how = Settings(steps=steps, seed=arguments.seed)
        samples = task.samples() if arguments.data is None else load(arguments.data, "all")
        printer.stage(f"training on {plural(len(samples), 'row')}")
        best = train(task, samples, Shape(), how, each)
    except BadInput:
        raise
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    printer.stage(f"{arguments.out}: the model after {best.history['step']} steps")
    return 0
