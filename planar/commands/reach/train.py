"""``galley reach train``: learn p(Q | H) from a dataset."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from galley.cli.common.arguments import Count, Positive, Seed, need, plural, usage
from galley.cli.common.progress import Printer
from galley.cli.common.shared import seed_option
from galley.domain.files import check_writable
from galley.domain.options import more, option
from galley.planar.commands.reach.options import BOUNDS, Sampler, sampler_group

if TYPE_CHECKING:
    from galley.planar.reach.learned import FitProgress, LearnedModel

MODEL = Path("model.safetensors")  # the default of --out
NEEDED = ("jax", "equinox", "flowjax", "optax", "safetensors")

EPILOG = """A stopped training leaves the best model so far in --out.

examples:
  galley reach train --radii 0.1 0.4 --out circle.safetensors"""


@dataclass(frozen=True, kw_only=True)
class ReachTrainOptions:
    """Options of ``galley reach train``."""

    data: Path | None = option(None, "Learn from this dataset of galley reach sample.", "DIR")
    out: Path = option(MODEL, "Write this checkpoint.")
    bases: Count | None = option(None, "Without --data, sample this many bases. Default: 1000000.")
    radii: tuple[Positive, Positive] | None = option(
        None, "Take one circle as context, its radius between these, m.", ("MIN", "MAX")
    )
    steps: Count | None = more(None, "Train for this many steps. Default: 1500, with --radii 3000.")
    seed: Seed = seed_option()
    sampler: Sampler = sampler_group()


def command(options: ReachTrainOptions) -> int:
    """Train; exit status 0 once the checkpoint is written."""
    if options.data is not None:
        options.sampler.check_unused()
        if options.bases is not None:
            raise argparse.ArgumentTypeError("argument --data: has its own number of --bases")
    need("planar", *NEEDED)
    check_writable(options.out)
    from galley.planar.reach.dataset import DatasetSettings, load, read_settings
    from galley.planar.reach.learned import (
        FitSettings,
        FlowArchitecture,
        ReachTask,
        save_checkpoint,
        train,
    )

    if options.data is not None:
        need("planar", "pyarrow")
        data = read_settings(options.data)
    else:
        bases = options.bases or 1_000_000
        bounds = (BOUNDS[:2], BOUNDS[2:])
        data = DatasetSettings(options.sampler.made(), bases, bounds=bounds, seed=options.seed)
    printer = Printer()

    def each(now: FitProgress, best: LearnedModel) -> None:
        if now.best:
            save_checkpoint(options.out, best)
        printer.console.print(now.line())

    with usage():
        task = ReachTask(data, options.radii)
        steps = options.steps or (3000 if options.radii else 1500)
        how = FitSettings(steps=steps, seed=options.seed)
        samples = task.samples() if options.data is None else load(options.data, "all")
        printer.stage(f"training on {plural(len(samples), 'row')}")
        best = train(task, samples, FlowArchitecture(), how, each)
    printer.stage(f"{options.out}: the model after {best.history['step']} steps")
    return 0
