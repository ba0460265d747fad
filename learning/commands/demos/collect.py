"""``galley demos collect``: collect runs of a kitchen task as demonstrations."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Literal

from galley.cli.common.arguments import need, plural
from galley.cli.common.progress import Printer
from galley.cli.common.shared import Seeds, TaskFiles, optimize_option
from galley.domain.options import group, option
from galley.learning.collection.recording import Recording
from galley.learning.commands.collecting import FILES_EPILOG, Collecting, collect_command

EPILOG = f"""A seed without a plan has no episode; the command prints such seeds.
{FILES_EPILOG}

examples:
  galley demos collect --seeds 100 --execute kinematic --out demos   no physics: fast
  galley demos collect --seeds 20 --noise moderate --out noisy       with physics and noise
  galley demos collect --seeds 10 --cameras front hand --size 128 --out seen"""


@dataclass(frozen=True, kw_only=True)
class DemosCollectOptions:
    """Options of ``galley demos collect``."""

    task: TaskFiles = group(TaskFiles())
    seeds: Seeds = group(Seeds(seeds=10))
    execute: Literal["physics", "kinematic"] = option("physics", "Execute as galley run does.")
    noise: str | None = option(None, "Add random errors, as galley run does. Default: none.", "HOW")
    optimize: str = optimize_option()
    kept: Recording = group(Recording(), "recording")
    collecting: Collecting = group(Collecting())


def command(options: DemosCollectOptions) -> int:
    """Collect; exit status 0 if there is an episode of every seed, 1 if some have none."""
    need("learn", "pyarrow", "zarr")
    if options.noise is not None and options.execute != "physics":
        raise argparse.ArgumentTypeError("--noise needs --execute physics")
    from galley import engine
    from galley.compiled.build import RENDERER, ensure
    from galley.execution.disturbance.noise import parse_noise
    from galley.learning.collection.kitchen import KitchenDemonstrator

    noise = None if options.noise is None else parse_noise(options.noise)
    printer = Printer()
    task = engine.load(**options.task.paths())
    run = KitchenDemonstrator(task, options.execute, noise, options.optimize, options.kept)
    collection = options.collecting.licensed(run.collection)
    # Compile once here instead of in each worker.
    parts = (*engine.COMPILED, RENDERER) if options.kept.cameras else engine.COMPILED
    ensure(*parts, listener=printer)
    printer.stage(f"{task.problem.name}, {plural(options.seeds.seeds, 'seed')}, {options.execute}")
    return collect_command(run, options.seeds.all, collection, options.collecting, printer)
