"""``galley push collect``: episodes of a demonstrator as data that learners read."""

from __future__ import annotations

import argparse
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from galley.cli.common.arguments import count, need, plural
from galley.cli.common.progress import Printer
from galley.learning.commands.collecting import (
    FILES_EPILOG,
    collect_command,
    collect_options,
    collecting_into,
    conclude,
    licensed,
)
from galley.learning.commands.push.options import (
    checked_policy,
    config_of,
    demonstrator_of,
    demonstrator_options,
    in_window,
    policy_file,
    table_options,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from galley.learning.collection.pushing import PushDemonstrator
    from galley.learning.demonstrations import Collection
    from galley.planar.pushing.rollout import Rollout

MOUSE = "mouse"
EPILOG = f"""Each episode is of one seed, from --seed on. A step has the state, the outline's
vertices, the arm's joints, the coverage, pictures if --pixels says so, and the pusher's target. An
episode that doesn't cover the goal is kept as a failure.

With the mouse, each episode that ends by itself is kept at once; R throws one away and starts the
next seed, escape ends.

{FILES_EPILOG}

examples:
  galley push collect --demonstrator planned --episodes 500 --out pushes
  galley push collect --demonstrator scripted --episodes 200 --pixels 96 --format zarr --out seen
  galley push collect --demonstrator mouse --episodes 10 --shape L --out mine

The exit status is 0 if all episodes are there."""


def add_arguments(p: argparse.ArgumentParser) -> None:
    """Add the options of ``galley push collect``."""
    table_options(p)
    demonstrator_options(p, 100, MOUSE)
    p.add_argument(
        "--pixels",
        type=count,
        metavar="PIXELS",
        help="pictures of so many pixels a side, 96 to 480 (default: none)",
    )
    p.add_argument(
        "--after",
        type=Path,
        metavar="FILE",
        help="a checkpoint of galley push train: that policy acts first, for 0 to 120 steps, then "
        "the demonstrator corrects what it has done",
    )
    collect_options(p)


def command(arguments: argparse.Namespace) -> int:
    """Collect; exit status 0 if there is an episode of every seed, 1 if some have none."""
    need("learn", "pyarrow", "zarr")
    from galley.learning.collection.pushing import PushDemonstrator

    config = config_of(arguments)
    by_hand = arguments.demonstrator == MOUSE
    if not by_hand:
        demonstrator_of(arguments, config)  # a bad config is said once, not by each worker
    if arguments.after is not None:
        if by_hand:
            raise argparse.ArgumentTypeError("--after does not go with the mouse")
        checked_policy(arguments.after, config)
    after = None if arguments.after is None else policy_file(arguments.after)
    run = PushDemonstrator(config, arguments.demonstrator, arguments.pixels, after)
    collection = licensed(run.collection, arguments)
    if by_hand:
        return _by_hand(run, collection, arguments)
    printer = Printer()
    printer.stage(f"{arguments.demonstrator}, {plural(arguments.episodes, 'episode')}")
    seeds = range(arguments.seed, arguments.seed + arguments.episodes)
    return collect_command(run, seeds, collection, arguments, printer)


def _by_hand(run: PushDemonstrator, collection: Collection, arguments: argparse.Namespace) -> int:
    """As ``collect_command``, by mouse: each episode is written when it has ended."""
    need("planar", "pygame")
    from galley.learning.demonstrations import read_folder, write_episode
    from galley.planar.pushing.play import watch
    from galley.planar.pushing.rollout import STEPS

    kept = 0
    with collecting_into(arguments, collection) as out:
        there = [info.seed + 1 for info in read_folder(out).infos if info.seed is not None]
        first = max([arguments.seed, *there])

        def finished() -> Iterator[Rollout]:
            nonlocal kept
            for rollout in watch(run.config, seed=first):
                if rollout.success or len(rollout.targets) == STEPS:
                    write_episode(out, collection, run.episode(rollout))
                    kept += 1
                    yield rollout

        in_window(lambda: islice(finished(), arguments.episodes))
        conclude(out, collection, arguments, Printer(), "")
    return 0 if kept == arguments.episodes else 1
