"""``galley push demo``: watch a demonstrator, or a policy."""

from __future__ import annotations

import argparse

from galley.learning.commands.push.options import (
    config_of,
    demonstrator_of,
    demonstrator_options,
    in_window,
    table_options,
)

EPILOG = """R goes on to the next seed, escape ends.

examples:
  galley push demo --demonstrator scripted
  galley push demo --demonstrator scripted --shape L --seed 5 --episodes 2
  galley push demo --policy ready"""


def add_arguments(p: argparse.ArgumentParser) -> None:
    """Add the options of ``galley push demo``."""
    table_options(p)
    demonstrator_options(p, None, policies=True)


def command(arguments: argparse.Namespace) -> int:
    """Open the window; print the episodes when it is closed."""
    from galley.planar.pushing.play import watch

    config = config_of(arguments)
    who = demonstrator_of(arguments, config)
    in_window(lambda: watch(config, who, arguments.seed, arguments.episodes))
    return 0
