"""``galley push film``: film a demonstrator, or a policy."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from galley.cli.common.arguments import check_gif, plural
from galley.learning.commands.push.options import (
    config_of,
    demonstrator_of,
    demonstrator_options,
    episodes_table,
    film_options,
    pusher_name,
    table_options,
)

if TYPE_CHECKING:
    from galley.cli.common.progress import Printer
    from galley.domain.frames import Array
    from galley.planar.pushing.config import PushConfig
    from galley.planar.pushing.rollout import Rollout

MARKER = "episodes.csv"
EPILOG = """Writes push.mp4 (or .gif) and episodes.csv. The exit status is 1 if an episode doesn't
succeed; it is in the film all the same. Of a policy the targets that it predicts are drawn: dots
from blue, the next, to red, and pale ones for the last stages of the denoising before them.

examples:
  galley push film --demonstrator planned --episodes 3
  galley push film --demonstrator scripted --shape L --seed 5 --gif --height 360 --fps 20
  galley push film --policy ready --episodes 5"""


def add_arguments(p: argparse.ArgumentParser) -> None:
    """Add the options of ``galley push film``."""
    table_options(p)
    demonstrator_options(p, 1, policies=True)
    film_options(p)


def command(arguments: argparse.Namespace) -> int:
    """Roll out, film, print the episodes; 1 if one doesn't succeed."""
    from galley.cli.common.progress import Printer
    from galley.results.run_folder import run_folder

    check_gif(arguments)
    config = config_of(arguments)
    printer = Printer()
    with run_folder(arguments.out, f"push-{pusher_name(arguments)}", MARKER) as folder:
        rollouts, stages = _episodes(arguments, config, printer)
        title = pusher_name(arguments)
        if arguments.policy is None:
            title += f", {_body(arguments)}"
        if not write_film(rollouts, folder, title, arguments, printer, stages):
            return 1
    if failed := sum(not each.success for each in rollouts):
        print(f"{failed} of {plural(len(rollouts), 'episode')} did not succeed", file=sys.stderr)
    return 1 if failed else 0


def write_film(
    rollouts: list[Rollout],
    folder: Path,
    title: str,
    arguments: argparse.Namespace,
    printer: Printer,
    stages: list[list[Array]] | None = None,
) -> bool:
    """Write ``MARKER`` and the film, with the options of ``film_options``, and print the episodes.

    Returns:
        Whether there is a film; if not, it says why.
    """
    from galley.domain.files import write_atomically
    from galley.planar.pushing.film import film_rollouts

    rows = [f"{r.seed},{len(r.targets)},{r.coverage[-1]:.6f},{r.success:d}" for r in rollouts]
    write_atomically(folder / MARKER, "\n".join(["seed,steps,coverage,success", *rows]) + "\n")
    printer.stage("filming")
    try:
        film_rollouts(
            rollouts,
            folder / ("push.gif" if arguments.gif else "push.mp4"),
            title,
            arguments.fps,
            arguments.height,
            arguments.speed,
            lambda done, total: printer.fraction("filming", done / total),
            stages,
        )
    except RuntimeError as error:
        print(f"no film: {error}", file=sys.stderr)
        return False
    finally:
        printer.close()
    printer.console.print(episodes_table(rollouts))
    printer.console.print(f"results: {folder}")
    return True


def _body(arguments: argparse.Namespace) -> str:
    """The body's name: of a shape, or of the file that it is from."""
    return Path(arguments.shape or arguments.config or "T").stem


def _episodes(
    arguments: argparse.Namespace, config: PushConfig, printer: Printer
) -> tuple[list[Rollout], list[list[Array]] | None]:
    """The episodes, and of a policy what it predicted in each step."""
    from galley.planar.pushing.rollout import roll_out
    from galley.planar.pushing.simulation import Simulation

    sim, who = Simulation(config), demonstrator_of(arguments, config)
    printer.stage("pushing")
    found: list[Rollout] = []
    stages: list[list[Array]] = []
    for k in range(arguments.episodes):

        def progress(done: int, total: int, before: int = k) -> None:
            printer.fraction("pushing", (before + done / total) / arguments.episodes)

        try:
            found.append(roll_out(sim, who, arguments.seed + k, progress=progress))
            stages.append(getattr(who, "stages", []))
        except ValueError as error:  # the arm can't hold the pusher
            raise argparse.ArgumentTypeError(f"seed {arguments.seed + k}: {error}") from None
    return found, None if arguments.policy is None else stages
