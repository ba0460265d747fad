"""``galley push video``: film stored episodes."""

from __future__ import annotations

import argparse
from pathlib import Path

from galley.cli.common.arguments import check_gif
from galley.learning.commands.collecting import episode_option
from galley.learning.commands.push.options import film_options
from galley.learning.commands.push.replay import replayed

EPILOG = """The actions are done again, and filmed with the arm that holds the pusher.

examples:
  galley push video pushes                     the first episode
  galley push video pushes --episode 3 --gif --height 360 --fps 20"""


def add_arguments(p: argparse.ArgumentParser) -> None:
    """Add the options of ``galley push video``."""
    p.add_argument("folder", type=Path, metavar="DIR", help="of galley push collect")
    episode_option(p, 0)
    film_options(p)


def command(arguments: argparse.Namespace) -> int:
    """Replay and film."""
    from galley.cli.common.progress import Printer
    from galley.learning.commands.push.film import MARKER, write_film
    from galley.results.run_folder import run_folder

    check_gif(arguments)
    printer = Printer()
    rollouts = [rollout for rollout, _ in replayed(arguments, printer)]
    with run_folder(arguments.out, "push-video", MARKER) as folder:
        filmed = write_film(rollouts, folder, arguments.folder.name, arguments, printer)
    return 0 if filmed else 1
