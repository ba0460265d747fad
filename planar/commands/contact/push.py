"""``galley contact push``: a pusher against a body on a table."""

from __future__ import annotations

import argparse

from galley.cli.common.arguments import number, positive
from galley.planar.commands.contact.options import (
    friction_option,
    result_options,
    session,
    shape_option,
)

EPILOG = """Seen from above: there is no gravity in the plane. A body of 1 kg lies on a table that
resists sliding and turning together (an ellipsoidal limit surface); a round pusher of 0.5 kg is
driven in x. Off the centre the body turns away.

examples:
  galley contact push
  galley contact push --shape rectangle --offset 0 --gif"""


def add_arguments(p: argparse.ArgumentParser) -> None:
    """Add the options of ``galley contact push``."""
    shape_option(p, "hexagon")
    friction_option(p, 0.3)
    p.add_argument(
        "--offset",
        type=number,
        default=0.08,
        metavar="M",
        help="of the pusher from the body's centre, in m (default 0.08)",
    )
    p.add_argument(
        "--force", type=positive, default=6.0, metavar="N", help="on the pusher (default 6)"
    )
    result_options(p)


def command(arguments: argparse.Namespace) -> int:
    """Simulate and write; 1 if a step doesn't converge."""
    with session(arguments, f"push-{arguments.shape}") as work:
        from galley.planar.contact.demonstrations import push

        given = {
            name: getattr(arguments, name) for name in ("shape", "friction", "offset", "force")
        }
        setup = push(**given)
        title = f"galley contact push: {arguments.shape}, from above"
        return work.finish(setup, title, dict(given))
