"""``galley push verify``: replay stored episodes, and compare the states."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from galley.cli.common.arguments import need, plural
from galley.cli.common.progress import Printer
from galley.domain.errors import BadInput
from galley.learning.commands.collecting import EpisodeFolder, open_demonstrations

if TYPE_CHECKING:
    from galley.planar.pushing.rollout import Rollout

_SAME = 1e-9  # m or rad: difference that another processor's rounding may make
EPILOG = """The exit status is 1 if a state differs from the stored one by more than 1e-9 m or rad.

examples:
  galley push verify pushes --episode 3"""


def command(options: EpisodeFolder) -> int:
    """Replay the episodes; exit status 1 if one differs."""
    printer = Printer()
    episodes = replayed(options, printer)
    worst = max(apart for _, apart in episodes)
    same = worst <= _SAME
    how = "the same" if worst == 0.0 else f"largest difference of a state {worst:.2g} m or rad"
    printer.console.print(f"{plural(len(episodes), 'episode')} replayed: {how}")
    if not same:
        worse = [str(rollout.seed) for rollout, apart in episodes if apart > _SAME]
        print(f"not what was recorded: seed {', '.join(worse)}", file=sys.stderr)
    return 0 if same else 1


def replayed(options: EpisodeFolder, printer: Printer) -> list[tuple[Rollout, float]]:
    """Replays of the chosen episodes, each with its largest difference from the stored states.

    Raises:
        BadInput: there is no such episode, or the folder isn't of pushing.
    """
    episodes, collection = open_demonstrations(options.folder)
    if collection is None:
        raise BadInput.one(options.folder, "is not of galley push collect: nothing to replay")
    from galley.learning.collection.pushing import replay

    if collection.settings.get("physics") == "upstream":
        need("pusht", "gym_pusht")
    chosen, replays = options.chosen(episodes), []
    with printer:
        for done, k in enumerate(chosen):
            printer.fraction("replaying", done / len(chosen))
            replays.append(replay(episodes[k], collection))
    return replays
