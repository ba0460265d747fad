"""``galley reach plot``: pictures of where a robot can stand to reach a target."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from galley.cli.common.arguments import Count, Seed, need
from galley.cli.common.progress import Printer
from galley.cli.common.shared import out_option, seed_option
from galley.domain.errors import BadInput
from galley.domain.options import option
from galley.planar.commands.reach.options import BOUNDS, Sampler, sampler_group

if TYPE_CHECKING:
    from galley.planar.reach import DonutSampler, Samples

KINDS = ("donut", "joints", "density", "coverage", "keep-rate", "scores")
# Where no limits are given: they cost the two elbows different shares.
EXAMPLE_LIMITS = ((-1.2, 2.0), (-2.4, 2.4))

BASE = ("x − x of H (m)", "y − y of H (m)", "density of the base (per m²)")

EPILOG = """docs/reachability.md says what each kind shows. Drawn are the validation rows of
--data, or samples made with the options below.

examples:
  galley reach plot --kind donut joints --heading-sigma 0.1 --limits -2 2 -2.5 2.5
  galley reach plot --data data --model model.safetensors --out plots"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """Of ``galley reach plot``.

    Raises:
        argparse.ArgumentTypeError: one that none of the pictures would heed.
    """

    kind: tuple[str, ...] = option(
        ("all",), f"{', '.join(KINDS)}, or all", "KIND", choices=(*KINDS, "all")
    )
    data: Path | None = option(None, "a dataset of galley reach sample", "DIR")
    model: Path | None = option(None, "a model of galley reach train", "FILE")
    bases: Count | None = option(None, "candidate bases of samples drawn here (default 100000)")
    sampler: Sampler = sampler_group()
    seed: Seed = seed_option()
    out: Path | None = out_option()

    @property
    def kinds(self) -> list[str]:
        """The pictures to draw."""
        return list(KINDS if "all" in self.kind else dict.fromkeys(self.kind))

    def __post_init__(self) -> None:
        kinds = set(self.kinds)
        if self.model is not None and "density" not in kinds:
            raise argparse.ArgumentTypeError("--model is drawn by --kind density alone")
        of_rows = kinds <= {"donut", "joints", "density"} and self.model is None
        if self.bases is not None and self.data is not None and of_rows:
            raise argparse.ArgumentTypeError("--bases has no effect on rows of --data")


class _Drawing:
    """What the pictures are drawn from; pictures are written into ``folder``."""

    def __init__(self, options: Options, folder: Path) -> None:
        self.folder, self.seed = folder, options.seed
        self.bases = options.bases or 100_000
        self.sampler, self.samples, self.bounds = _data(options, self.bases)
        self.learned: Samples | None = None
        if options.model is not None:
            self.learned = _learned(options.model, self.sampler, self.bases, self.seed)

    def rng(self) -> np.random.Generator:
        """A new one for each picture, so that it does not depend on the others."""
        return np.random.default_rng(self.seed + 1)

    def donut(self) -> None:
        from galley.planar.reach.pictures import draw_donut

        draw_donut(self.folder / "donut.png", self.samples, self.sampler)

    def joints(self) -> None:
        from galley.planar.reach.pictures import draw_joints

        draw_joints(self.folder / "joints.png", self.samples, self.sampler)

    def density(self) -> None:
        from galley.planar.reach.pictures import base_plane, draw_densities, joint_plane

        drawn = {f"{len(self.samples):,} samples": self.samples}
        if self.learned is not None:
            drawn[f"learned model, {len(self.learned):,} samples"] = self.learned
        planes = [base_plane(self.sampler, drawn), joint_plane(self.sampler, drawn)]
        labels = [BASE, ("θ1 (rad)", "θ2 (rad)", "density of the joint angles (per rad²)")]
        draw_densities(self.folder / "density.png", planes, labels)

    def coverage(self) -> None:
        from galley.planar.reach import uniform_targets
        from galley.planar.reach.pictures import coverage, draw_coverage

        rows, arm = self.samples, self.sampler.arm
        if np.ptp(rows.target, axis=0).max() == 0.0:  # one target says nothing of the workspace
            targets = uniform_targets(self.bounds, self.bases, self.rng())
            rows = self.sampler.sample(targets, self.bases, self.rng())
        points = coverage(rows, arm, self.bounds, self.rng())
        draw_coverage(self.folder / "coverage.png", points, self.bounds, arm.outer)

    def keep_rate(self) -> None:
        from galley.planar.reach.pictures import draw_keep_rates, keep_rates

        limits = self.sampler.arm.limits or EXAMPLE_LIMITS
        limited = replace(self.sampler, arm=replace(self.sampler.arm, limits=limits))
        rates = keep_rates(limited, min(self.bases, 4000), self.rng())
        draw_keep_rates(self.folder / "keep-rate.png", rates, limits)

    def scores(self) -> None:
        from galley.planar.reach import Context, circle, scores
        from galley.planar.reach.pictures import draw_densities, scored_plane
        from galley.planar.reach.weighted import Weight

        arm = replace(self.sampler.arm, limits=self.sampler.arm.limits or EXAMPLE_LIMITS)
        reach = arm.outer
        x, y, radius = 0.4 * reach, 0.25 * reach, 0.12 * reach
        around = Context(arm, obstacles=(circle((x, y), radius),))
        scored: dict[str, Weight] = {
            "manipulability": scores.manipulability,
            "joint-limit margin": scores.limit_margin(arm),
            "clearance of the circle": scores.clearance(around),
            "target in view (90°)": scores.visibility(Context(arm)),
            "uniform in area": scores.area(arm),
        }
        scored["sum of these"] = scores.Acceptance(tuple((1.0, s) for s in scored.values()))
        plane, shares = scored_plane(replace(self.sampler, arm=arm), scored, self.bases, self.rng())
        named = [
            (f"{name}\nkeeps {100 * shares[name]:.0f} %", each)
            for name, each in plane.densities.items()
        ]
        planes = [replace(plane, densities=dict(named[k : k + 4])) for k in (0, 4)]
        circles = {name: (x, y, radius) for name, _ in named if name[:5] in ("clear", "sum o")}
        draw_densities(self.folder / "scores.png", planes, [BASE] * 2, circles)


def command(options: Options) -> int:
    """Draw the pictures; exit status 0 once all are written."""
    from galley.domain.files import write_fault
    from galley.results.run_folder import new_names

    folder = options.out or next(new_names("reach-plot"))
    drawing = _Drawing(options, folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise write_fault(folder, error) from None
    printer = Printer()
    for kind in options.kinds:
        getattr(drawing, kind.replace("-", "_"))()
        printer.stage(str(folder / f"{kind}.png"))
    return 0


def _data(
    options: Options, bases: int
) -> tuple[DonutSampler, Samples, tuple[tuple[float, ...], ...]]:
    """The sampler, rows to draw, and bounds of targets."""
    bounds: tuple[tuple[float, ...], ...] = (BOUNDS[:2], BOUNDS[2:])
    if options.data is None:
        made = options.sampler.made()
        rng = np.random.default_rng(options.seed)
        return made, made.sample((0.0, 0.0), bases, rng), bounds
    given = options.sampler.first_given()
    if given is not None:
        raise argparse.ArgumentTypeError(f"{given} is that of the dataset where --data is given")
    need("planar", "pyarrow")
    from galley.planar.reach.dataset import load, read_settings

    settings = read_settings(options.data)
    drawn = ("joints", "donut")
    if settings.filtered and not set(options.kind) <= set(drawn):
        what = f"the rows of {options.data} were filtered: draw --kind {' or '.join(drawn)}"
        raise argparse.ArgumentTypeError(what)
    rows = load(options.data, "validation")
    if not len(rows):
        what = "has no validation rows to draw: sample more bases"
        raise BadInput.one(options.data, what)
    return settings.sampler, rows, settings.bounds or bounds


def _learned(model: Path, truth: DonutSampler, draws: int, start: int) -> Samples:
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
            what = f"{name} {getattr(theirs, name)}, not {getattr(truth, name)}"
            raise argparse.ArgumentTypeError(f"--model was trained with {what}")
    rows: Samples = learned.sample((0.0, 0.0), draws, start)
    return rows
