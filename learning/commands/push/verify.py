"""``galley push verify``: do a stored episode's actions again, and compare."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from galley.cli.common.arguments import need, plural
from galley.cli.common.progress import Printer
from galley.domain.errors import BadInput
from galley.learning.commands.collecting import Stored, open_demonstrations

if TYPE_CHECKING:
    from galley.planar.pushing.rollout import Rollout

_SAME = 1e-9  # m or rad: what other processors round otherwise
EPILOG = """The exit status is 1 if a state differs from the stored one by more than 1e-9 m or rad.

examples:
  galley push verify pushes --episode 3"""


def command(options: Stored) -> int:
    """Replay; 1 if an episode differs."""
    printer = Printer()
    found = replayed(options, printer)
    worst = max(apart for _, apart in found)
    same = worst <= _SAME
    how = "the same" if worst == 0.0 else f"largest difference of a state {worst:.2g} m or rad"
    printer.console.print(f"{plural(len(found), 'episode')} done again: {how}")
    if not same:
        worse = [str(rollout.seed) for rollout, apart in found if apart > _SAME]
        print(f"not what was recorded: seed {', '.join(worse)}", file=sys.stderr)
    return 0 if same else 1


def replayed(options: Stored, printer: Printer) -> list[tuple[Rollout, float]]:
    """The chosen episodes, done again, each with its largest difference from what is stored.

    Raises:
        BadInput: no such episode, or the folder is not of pushing.
    """
    episodes, collection = open_demonstrations(options.folder)
    if collection is None:
        raise BadInput.one(options.folder, "is not of galley push collect: nothing to do again")
    from galley.learning.collection.pushing import replay

    if collection.settings.get("physics") == "upstream":
        need("pusht", "gym_pusht")
    chosen, found = options.chosen(episodes), []
    with printer:
        for done, k in enumerate(chosen):
            printer.fraction("doing again", done / len(chosen))
            found.append(replay(episodes[k], collection))
    return found
