"""``galley demos collect``: runs of a kitchen task as demonstrations."""

from __future__ import annotations

import argparse

from galley.cli.common.arguments import (
    count,
    need,
    optimize_option,
    plural,
    seeds_options,
    task_files,
    task_options,
)
from galley.cli.common.progress import Printer
from galley.learning.commands.collecting import (
    FILES_EPILOG,
    collect_command,
    collect_options,
    licensed,
)

EPILOG = f"""At each step an episode has the robot's base, joints and gripper with their velocities,
the pose of each item, drawers and doors, the symbolic action under way, and what is commanded next;
pictures if --cameras says so. Success is what validation says of the executed states. A run that
failed is kept as a failure; where there is no plan, there is no episode, and the seed is named.

{FILES_EPILOG}

examples:
  galley demos collect --seeds 100 --execute kinematic --out demos   no physics: fast
  galley demos collect --seeds 20 --noise moderate --out noisy       with physics and noise
  galley demos collect --problem my_task.pddl --seeds 10 --out mine
  galley demos collect --seeds 10 --cameras front hand --size 128 --out seen
  galley demos collect --seeds 50 --format lerobot --workers 2 --out train

The exit status is 0 if there is an episode of every seed."""


def add_arguments(p: argparse.ArgumentParser) -> None:
    """Add the options of ``galley demos collect``."""
    task_options(p)
    seeds_options(p, 10)
    p.add_argument(
        "--execute",
        choices=("physics", "kinematic"),
        default="physics",
        help="as for galley run (default physics)",
    )
    p.add_argument(
        "--noise",
        metavar="HOW",
        help="random errors of the simulated world, as for galley run (default: none)",
    )
    optimize_option(p, ", as for galley run")
    recorded = p.add_argument_group("what is kept")
    recorded.add_argument(
        "--rate",
        type=count,
        default=20,
        metavar="HZ",
        help="steps a second; must divide 120 (default 20)",
    )
    recorded.add_argument(
        "--cameras",
        nargs="+",
        default=[],
        metavar="NAME",
        help="pictures: front, the room; top, from above; hand, beside the palm (default: none)",
    )
    recorded.add_argument(
        "--size",
        type=count,
        default=96,
        metavar="PIXELS",
        help="width and height of the pictures, 96 to 480 (default 96)",
    )
    collect_options(p)


def command(arguments: argparse.Namespace) -> int:
    """Collect; exit status 0 if there is an episode of every seed, 1 if some have none."""
    need("learn", "pyarrow", "zarr")
    if arguments.noise is not None and arguments.execute != "physics":
        raise argparse.ArgumentTypeError("--noise needs --execute physics")
    from galley import engine
    from galley.compiled.build import RENDERER, ensure
    from galley.execution.disturbance.noise import parse_noise
    from galley.learning.collection.kitchen import Demonstrator, Recording

    recording = Recording(arguments.rate, tuple(arguments.cameras), arguments.size)
    noise = None if arguments.noise is None else parse_noise(arguments.noise)
    printer = Printer()
    task = engine.load(**task_files(arguments))
    run = Demonstrator(task, arguments.execute, noise, arguments.optimize, recording)
    collection = licensed(run.collection, arguments)
    # Once, not in each worker.
    parts = (*engine.COMPILED, RENDERER) if recording.cameras else engine.COMPILED
    ensure(*parts, listener=printer)
    printer.stage(f"{task.problem.name}, {plural(arguments.seeds, 'seed')}, {arguments.execute}")
    seeds = range(arguments.seed, arguments.seed + arguments.seeds)
    return collect_command(run, seeds, collection, arguments, printer)
