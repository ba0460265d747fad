"""``galley push play``: push with the mouse."""

from __future__ import annotations

import argparse

from galley.learning.commands.push.options import config_of, in_window, table_options

EPILOG = """The pusher follows the mouse, once that has come to it. R restarts with the next seed,
escape ends. An episode ends when the body covers 95 % of the goal, or after 300 steps of 0.1 s.

examples:
  galley push play
  galley push play --shape arrow.yaml --seed 7"""


def add_arguments(p: argparse.ArgumentParser) -> None:
    """Add the options of ``galley push play``."""
    table_options(p)


def command(arguments: argparse.Namespace) -> int:
    """Open the window; print the episodes when it is closed."""
    from galley.planar.pushing.play import watch

    config = config_of(arguments)
    in_window(lambda: watch(config, seed=arguments.seed))
    return 0
