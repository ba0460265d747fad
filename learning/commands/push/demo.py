"""``galley push demo``: watch a demonstrator, or a policy."""

from __future__ import annotations

from galley.learning.commands.push.options import PusherOptions, in_window

EPILOG = """R goes on to the next seed, escape ends.

examples:
  galley push demo --demonstrator scripted --shape L --seed 5
  galley push demo --policy ready"""


def command(options: PusherOptions) -> int:
    """Open the window; print the episodes when it is closed."""
    from galley.planar.pushing.play import watch

    config = options.push_config()
    who = options.driver(config)
    in_window(lambda: watch(config, who, options.seed, options.seeds))
    return 0
