"""``galley contact push``: a pusher against a body on a table."""

from __future__ import annotations

from dataclasses import dataclass

from galley.cli.common.arguments import Multiple, Positive
from galley.domain.options import option
from galley.planar.commands.contact.options import (
    Results,
    Shape,
    friction_option,
    results_group,
    session,
)

EPILOG = """A body of 1 kg lies on a table, seen from above; a round pusher of 0.5 kg is driven
in x.

examples:
  galley contact push --shape rectangle --offset 0 --gif"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """Of ``galley contact push``."""

    shape: Shape = option("hexagon", "of the body")
    friction: Multiple = friction_option(0.3)
    offset: float = option(0.08, "of the pusher from the body's centre, in m", "M")
    force: Positive = option(6.0, "on the pusher", "N")
    results: Results = results_group()


def command(options: Options) -> int:
    """Simulate and write; 1 if a step doesn't converge."""
    with session(options.results, f"push-{options.shape}") as work:
        from galley.planar.contact.demonstrations import push

        names = ("shape", "friction", "offset", "force")
        given = {name: getattr(options, name) for name in names}
        setup = push(**given)
        title = f"galley contact push: {options.shape}, from above"
        return work.finish(setup, title, dict(given))
