"""``galley reach plot``: pictures of where a robot can stand to reach a target."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from galley.cli.common.arguments import Count, Seed, need
from galley.cli.common.progress import Printer
from galley.cli.common.shared import out_option, seed_option
from galley.domain.errors import BadInput
from galley.domain.options import option
from galley.planar.commands.reach.options import Sampler, sampler_group

if TYPE_CHECKING:
    from galley.planar.reach import BaseSamples, DonutSampler

KINDS = ("donut", "density")

EPILOG = """Drawn are the validation rows of --data, or samples (docs/reachability.md).

examples:
  galley reach plot --kinds donut --heading-sigma 0.1 --limits -2 2 -2.5 2.5
  galley reach plot --data data --model model.safetensors --out plots"""


@dataclass(frozen=True, kw_only=True)
class ReachPlotOptions:
    """Options of ``galley reach plot``.

    Raises:
        argparse.ArgumentTypeError: an option has no effect on the chosen pictures.
    """

    kinds: tuple[str, ...] = option(
        KINDS, f"Draw {', '.join(KINDS)}. Default: each of these.", "KIND", choices=KINDS
    )
    data: Path | None = option(None, "Draw this dataset of galley reach sample.", "DIR")
    model: Path | None = option(None, "Also draw this model of galley reach train.")
    bases: Count | None = option(None, "Sample this many candidate bases. Default: 100000.")
    sampler: Sampler = sampler_group()
    seed: Seed = seed_option()
    out: Path | None = out_option()

    def __post_init__(self) -> None:
        if self.model is not None and "density" not in self.kinds:
            raise argparse.ArgumentTypeError("--model is drawn by --kinds density alone")
        if self.bases is not None and self.data is not None and self.model is None:
            raise argparse.ArgumentTypeError("--bases has no effect on rows of --data")


def command(options: ReachPlotOptions) -> int:
    """Draw the pictures; exit status 0 once all are written."""
    from galley.domain.files import write_fault
    from galley.planar.reach import pictures
    from galley.results.run_folder import new_names

    folder, bases = options.out or next(new_names("reach-plot")), options.bases or 100_000
    sampler, samples = _data(options, bases)
    drawn = {f"{len(samples):,} samples": samples}
    if options.model is not None:
        learned = _learned(options.model, sampler, bases, options.seed)
        drawn[f"learned model, {len(learned):,} samples"] = learned
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise write_fault(folder, error) from None
    printer = Printer()
    for kind in dict.fromkeys(options.kinds):
        path = folder / f"{kind}.png"
        if kind == "donut":
            pictures.draw_donut(path, samples, sampler)
        else:
            planes = [pictures.base_plane(sampler, drawn), pictures.joint_plane(sampler, drawn)]
            pictures.draw_densities(path, planes)
        printer.stage(str(path))
    return 0


def _data(options: ReachPlotOptions, bases: int) -> tuple[DonutSampler, BaseSamples]:
    """The sampler, and the rows to draw."""
    if options.data is None:
        made = options.sampler.made()
        rng = np.random.default_rng(options.seed)
        return made, made.sample((0.0, 0.0), bases, rng)
    options.sampler.check_unused()
    need("planar", "pyarrow")
    from galley.planar.reach.dataset import load, read_settings

    settings = read_settings(options.data)
    if settings.filtered and "density" in options.kinds:
        reason = f"the rows of {options.data} were filtered: draw --kinds donut"
        raise argparse.ArgumentTypeError(reason)
    rows = load(options.data, "validation")
    if not len(rows):
        reason = "has no validation rows to draw: sample more bases"
        raise BadInput.one(options.data, reason)
    return settings.sampler, rows


def _learned(model: Path, truth: DonutSampler, draws: int, start: int) -> BaseSamples:
    """Samples of a learned model for H = (0, 0).

    Raises:
        argparse.ArgumentTypeError: JAX is missing, or it has learned another distribution.
    """
    need("planar", "jax", "equinox", "flowjax", "safetensors")
    from galley.planar.reach.learned import load_checkpoint

    learned = load_checkpoint(model)
    if learned.task.circle is not None:
        raise argparse.ArgumentTypeError("--model has an obstacle as context, this picture none")
    theirs = learned.task.sampler
    for name in ("arm", "epsilon", "heading_sigma"):
        if getattr(theirs, name) != getattr(truth, name):
            reason = f"{name} {getattr(theirs, name)}, not {getattr(truth, name)}"
            raise argparse.ArgumentTypeError(f"--model was trained with {reason}")
    rows: BaseSamples = learned.sample((0.0, 0.0), draws, start)
    return rows
