"""``galley push collect``: collect episodes of a demonstrator as demonstrations."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Literal

from galley.cli.common.arguments import Count, need, plural, usage
from galley.cli.common.progress import Printer
from galley.domain.options import group, option
from galley.learning.commands.collecting import (
    FILES_EPILOG,
    Collecting,
    collect_command,
    collecting_into,
    conclude,
)
from galley.learning.commands.push.options import (
    Table,
    checked_demonstrator,
    demonstrator_option,
    in_window,
    seeds_option,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from galley.learning.collection.pushing import PushDemonstrator
    from galley.learning.demonstrations import Collection
    from galley.planar.pushing.rollout import Rollout

MOUSE = "mouse"
EPILOG = f"""With the mouse, each episode that ends by itself is kept at once; R discards one and
starts the next seed, escape ends.
{FILES_EPILOG}

examples:
  galley push collect --demonstrator planned --seeds 500 --out pushes
  galley push collect --demonstrator scripted --seeds 200 --size 96 --format zarr --out seen
  galley push collect --demonstrator mouse --seeds 10 --shape L --out mine"""


@dataclass(frozen=True, kw_only=True)
class PushCollectOptions(Table):
    """Options of ``galley push collect``."""

    demonstrator: str = demonstrator_option(**{MOUSE: "you, in a window"})
    seeds: Count = seeds_option(100)
    size: Count | None = option(
        None,
        "Add pictures of this width and height, 96 to 480. Default: none.",
        "PIXELS",
    )
    compat: Literal["gym-pusht"] | None = option(
        None, "Start as gym-pusht does, in its pixels; LeRobot gets the names of its PushT data."
    )
    physics: Literal["galley", "upstream"] = option(
        "galley", "With --compat: push in Galley's physics, or in those of gym-pusht itself."
    )
    collecting: Collecting = group(Collecting())


def command(options: PushCollectOptions) -> int:
    """Collect; exit status 0 if there is an episode of every seed, 1 if some have none."""
    need("learn", "pyarrow", "zarr")
    from galley.learning.collection.pushing import PushDemonstrator

    config = options.push_config()
    by_hand, upstream = options.demonstrator == MOUSE, options.physics == "upstream"
    if by_hand and (options.compat or config.ranges):
        raise argparse.ArgumentTypeError("the mouse goes without --compat and without ranges")
    if upstream and (options.config or not options.compat):
        raise argparse.ArgumentTypeError("--physics upstream needs --compat and no --config")
    if upstream:
        need("pusht", "gym_pusht")
    if not by_hand:
        # Reports a bad config once, instead of in each worker.
        checked_demonstrator(options.demonstrator, config.drawn(options.seed))
    physics = options.physics if options.compat else None
    with usage():
        run = PushDemonstrator(config, options.demonstrator, options.size, physics)
    collection = options.collecting.licensed(run.collection)
    if by_hand:
        return _by_hand(run, collection, options)
    printer = Printer()
    printer.stage(f"{options.demonstrator}, {plural(options.seeds, 'episode')}")
    seeds = range(options.seed, options.seed + options.seeds)
    return collect_command(run, seeds, collection, options.collecting, printer)


def _by_hand(run: PushDemonstrator, collection: Collection, options: PushCollectOptions) -> int:
    """Collect by mouse: each episode is written at its end; returns the exit status."""
    need("planar", "pygame")
    from galley.learning.demonstrations import read_folder, write_episode
    from galley.planar.pushing.play import watch
    from galley.planar.pushing.rollout import STEPS

    kept = 0
    with collecting_into(options.collecting, collection) as out:
        there = [info.seed + 1 for info in read_folder(out).infos if info.seed is not None]
        first = max([options.seed, *there])

        def finished() -> Iterator[Rollout]:
            nonlocal kept
            for rollout in watch(run.config, seed=first):
                if rollout.success or len(rollout.targets) == STEPS:
                    write_episode(out, collection, run.episode(rollout))
                    kept += 1
                    yield rollout

        in_window(lambda: islice(finished(), options.seeds))
        conclude(out, collection, options.collecting, Printer())
    return 0 if kept == options.seeds else 1
