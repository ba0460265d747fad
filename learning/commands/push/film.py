"""``galley push film``: film a demonstrator, a policy, or stored episodes."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from galley.cli.common.arguments import Count, Index
from galley.cli.common.progress import Printer
from galley.domain.options import argument, group, option
from galley.learning.commands.collecting import OneEpisode
from galley.learning.commands.push.options import (
    PusherOptions,
    PushFilm,
    episodes_table,
    seeds_option,
)
from galley.learning.commands.push.verify import replayed

if TYPE_CHECKING:
    from galley.domain.frames import Array
    from galley.planar.pushing.rollout import Rollout

MARKER = "episodes.csv"
EPILOG = """The actions of stored episodes are replayed, and filmed with the arm that holds the
pusher. Dots are the targets that a policy predicts, from blue, the next, to red. The exit status
is 0 once the film is written, whether the episodes succeed or not.

examples:
  galley push film --demonstrator planned --seeds 3
  galley push film --policy ready --seeds 5 --gif --height 360 --fps 20
  galley push film pushes --episode 3"""


@dataclass(frozen=True, kw_only=True)
class PushFilmOptions(PusherOptions):
    """Options of ``galley push film``.

    Raises:
        argparse.ArgumentTypeError: options exclude each other.
    """

    folder: Path | None = argument(
        "Film an episode of this folder of demonstrations.", "DIR", default=None, either="who"
    )
    episode: Index | None = option(None, "Take episode K of DIR, from 0. Default: 0.", "K")
    seeds: Count = seeds_option(1)
    film: PushFilm = group(PushFilm(height=640, fps=25))

    def __post_init__(self) -> None:
        if self.folder is None and self.episode is not None:
            raise argparse.ArgumentTypeError("argument --episode: belongs to DIR")
        if self.folder is not None and (self.shape or self.config or self.seed or self.seeds > 1):
            reason = "table and seeds are those of the folder, leave them out"
            raise argparse.ArgumentTypeError(f"argument DIR: {reason}")


def command(options: PushFilmOptions) -> int:
    """Roll out or replay, film, and print the episodes; exit status 1 if there is no film."""
    from galley.domain.files import write_atomically
    from galley.planar.pushing.film import film_rollouts
    from galley.results.run_folder import run_folder

    printer, how = Printer(), options.film
    name = options.name if options.folder is None else options.folder.name
    with run_folder(how.out, f"push-{name}", MARKER) as folder:
        stages = None
        if options.folder is not None:
            stored = OneEpisode(folder=options.folder, episode=options.episode or 0)
            rollouts, title = [rollout for rollout, _ in replayed(stored, printer)], name
        else:
            rollouts, stages = _episodes(options, printer)
            table = f", {Path(options.shape or options.config or 'T').stem}"
            title = name + table * (options.policy is None)
        rows = [f"{r.seed},{len(r.targets)},{r.coverage[-1]:.6f},{r.success:d}" for r in rollouts]
        write_atomically(folder / MARKER, "\n".join(["seed,steps,coverage,success", *rows]) + "\n")
        path, size = folder / f"push{how.suffix}", (how.fps, how.height, how.speed)
        if not printer.film(film_rollouts, rollouts, path, title, *size, stages=stages):
            return 1
    printer.console.print(episodes_table(rollouts))
    printer.console.print(f"results: {folder}")
    return 0


def _episodes(
    options: PushFilmOptions, printer: Printer
) -> tuple[list[Rollout], list[list[Array]] | None]:
    """The episodes, and the predictions of a policy in each step; None for a demonstrator."""
    from galley.planar.pushing.rollout import roll_out
    from galley.planar.pushing.simulation import PushSimulation

    config = options.push_config()
    printer.stage("pushing")
    rollouts: list[Rollout] = []
    stages: list[list[Array]] = []
    for k in range(options.seeds):

        def progress(done: int, total: int, before: int = k) -> None:
            printer.fraction("pushing", (before + done / total) / options.seeds)

        try:
            if k == 0 or config.ranges:
                table = config.drawn(options.seed + k)
                sim, who = PushSimulation(table), options.driver(table)
            rollouts.append(roll_out(sim, who, options.seed + k, progress=progress))
            stages.append(getattr(who, "stages", []))
        except ValueError as error:  # the arm can't hold the pusher
            raise argparse.ArgumentTypeError(f"seed {options.seed + k}: {error}") from None
    return rollouts, None if options.policy is None else stages
