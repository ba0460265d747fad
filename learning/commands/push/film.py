"""``galley push film``: film a demonstrator, or a policy."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from galley.cli.common.arguments import Count, plural
from galley.domain.options import group
from galley.learning.commands.push.options import Film, Pusher, episodes_option, episodes_table

if TYPE_CHECKING:
    from galley.cli.common.progress import Printer
    from galley.domain.frames import Array
    from galley.planar.pushing.config import PushConfig
    from galley.planar.pushing.rollout import Rollout

MARKER = "episodes.csv"
EPILOG = """The exit status is 1 if an episode doesn't succeed; it is in the film all the same.
Dots are the targets that a policy predicts, from blue, the next, to red.

examples:
  galley push film --demonstrator planned --episodes 3
  galley push film --policy ready --episodes 5 --gif --height 360 --fps 20"""


@dataclass(frozen=True, kw_only=True)
class Options(Pusher):
    """Of ``galley push film``."""

    episodes: Count = episodes_option(1)
    film: Film = group(Film(height=640, fps=25))


def command(options: Options) -> int:
    """Roll out, film, print the episodes; 1 if one doesn't succeed."""
    from galley.cli.common.progress import Printer
    from galley.results.run_folder import run_folder

    config = options.push_config()
    printer = Printer()
    with run_folder(options.film.out, f"push-{options.name}", MARKER) as folder:
        rollouts, stages = _episodes(options, config, printer)
        title = options.name
        if options.policy is None:
            title += f", {Path(options.shape or options.config or 'T').stem}"
        if not write_film(rollouts, folder, title, options.film, printer, stages):
            return 1
    if failed := sum(not each.success for each in rollouts):
        print(f"{failed} of {plural(len(rollouts), 'episode')} did not succeed", file=sys.stderr)
    return 1 if failed else 0


def write_film(
    rollouts: list[Rollout],
    folder: Path,
    title: str,
    options: Film,
    printer: Printer,
    stages: list[list[Array]] | None = None,
) -> bool:
    """Write ``MARKER`` and the film, and print the episodes.

    Returns:
        Whether there is a film; if not, it says why.
    """
    from galley.domain.files import write_atomically
    from galley.planar.pushing.film import film_rollouts

    rows = [f"{r.seed},{len(r.targets)},{r.coverage[-1]:.6f},{r.success:d}" for r in rollouts]
    write_atomically(folder / MARKER, "\n".join(["seed,steps,coverage,success", *rows]) + "\n")
    path, how = folder / f"push{options.suffix}", (options.fps, options.height, options.speed)
    if not printer.film(film_rollouts, rollouts, path, title, *how, stages=stages):
        return False
    printer.console.print(episodes_table(rollouts))
    printer.console.print(f"results: {folder}")
    return True


def _episodes(
    options: Options, config: PushConfig, printer: Printer
) -> tuple[list[Rollout], list[list[Array]] | None]:
    """The episodes, and of a policy what it predicted in each step."""
    from galley.planar.pushing.rollout import roll_out
    from galley.planar.pushing.simulation import Simulation

    sim, who = Simulation(config), options.driver(config)
    printer.stage("pushing")
    found: list[Rollout] = []
    stages: list[list[Array]] = []
    for k in range(options.episodes):

        def progress(done: int, total: int, before: int = k) -> None:
            printer.fraction("pushing", (before + done / total) / options.episodes)

        try:
            found.append(roll_out(sim, who, options.seed + k, progress=progress))
            stages.append(getattr(who, "stages", []))
        except ValueError as error:  # the arm can't hold the pusher
            raise argparse.ArgumentTypeError(f"seed {options.seed + k}: {error}") from None
    return found, None if options.policy is None else stages
