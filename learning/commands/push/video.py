"""``galley push video``: film stored episodes."""

from __future__ import annotations

from dataclasses import dataclass

from galley.domain.options import group
from galley.learning.commands.collecting import StoredOne
from galley.learning.commands.push.options import Film
from galley.learning.commands.push.replay import replayed

EPILOG = """The actions are done again, and filmed with the arm that holds the pusher.

examples:
  galley push video pushes --episode 3 --gif --height 360 --fps 20"""


@dataclass(frozen=True, kw_only=True)
class Options(StoredOne):
    """Of ``galley push video``."""

    film: Film = group(Film(height=640, fps=25))


def command(options: Options) -> int:
    """Replay and film."""
    from galley.cli.common.progress import Printer
    from galley.learning.commands.push.film import MARKER, write_film
    from galley.results.run_folder import run_folder

    printer = Printer()
    rollouts = [rollout for rollout, _ in replayed(options, printer)]
    with run_folder(options.film.out, "push-video", MARKER) as folder:
        filmed = write_film(rollouts, folder, options.folder.name, options.film, printer)
    return 0 if filmed else 1
