"""``galley reach train``: learn p(Q | H) from a dataset."""

from __future__ import annotations

import argparse
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from galley.cli.common import arguments
from galley.domain.errors import BadInput
from galley.domain.files import check_writable

if TYPE_CHECKING:
    from galley.reachability.learned import LearnedModel, Progress

EPILOG = """examples:
  galley reach train --data data --out model.safetensors
  galley reach train --data data --circle 0.1 0.4 --out clutter.safetensors

While it trains, the best model so far is kept in the file; a stopped training leaves it there."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument(
        "--data", type=Path, required=True, metavar="DIR", help="of galley reach sample"
    )
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FILE", help="the checkpoint, safetensors"
    )
    parser.add_argument(
        "--circle",
        type=arguments.positive,
        nargs=2,
        metavar=("MIN", "MAX"),
        help="add one obstacle as context, a circle of such a radius (m) beside each target",
    )
    parser.add_argument(
        "--steps",
        type=arguments.count,
        metavar="N",
        help="of the optimiser (3000; with circle 8000)",
    )
    parser.add_argument("--seed", type=arguments.seed, default=0, help="of the training (0)")


def command(options: argparse.Namespace) -> int:
    """Train; returns the exit status."""
    from galley.cli.common.progress import Printer
    from galley.reachability.planar.dataset import load, read_settings

    check_writable(options.out)
    module = learned()
    data = read_settings(options.data)
    printer = Printer()
    steps = options.steps or (8000 if options.circle else 3000)

    def each(progress: Progress, best: LearnedModel) -> None:
        if progress.best:
            module.save_checkpoint(options.out, best)
        printer.console.print(
            f"step {progress.step:6d}/{progress.steps}  loss {progress.training:8.4f}  "
            f"validation {progress.validation:8.4f}  {'best' if progress.best else '    '}  "
            f"{progress.left:4.0f} s left"
        )

    try:
        task = module.Task(data, tuple(options.circle) if options.circle else None)
        samples = load(options.data, "all")
        printer.stage(f"training on {len(samples)} rows of {options.data}")
        settings = module.Settings(steps=steps, seed=options.seed)
        best = module.train(task, samples, module.Shape(), settings, each)
    except BadInput:
        raise
    except ValueError as error:
        raise BadInput.one(options.data, str(error)) from None
    history = best.history
    printer.stage(
        f"{options.out}: step {history['step']}, validation {history['validation_nats']:.4f} nats"
    )
    return 0


def learned() -> ModuleType:
    """``galley.reachability.learned``, if its libraries are there."""
    try:
        from galley.reachability import learned
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("galley"):
            raise
        what = f"learned models need {error.name}: pip install 'galley-tamp[learn]'"
        raise argparse.ArgumentTypeError(what) from None
    return learned
