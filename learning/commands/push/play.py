"""``galley push play``: push with the mouse."""

from __future__ import annotations

from galley.learning.commands.push.options import Table, in_window

EPILOG = """Touch the pusher with the mouse and it follows. R restarts with the next seed, Esc ends.

examples:
  galley push play --shape arrow.yaml --seed 7"""


def command(options: Table) -> int:
    """Open the window; print the episodes when it is closed."""
    from galley.planar.pushing.play import watch

    config = options.push_config()
    in_window(lambda: watch(config, seed=options.seed))
    return 0
