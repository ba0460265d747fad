"""``galley contact lift``: a platform lifts a body."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from galley.cli.common.arguments import Count, Multiple, Positive, usage
from galley.domain.options import more, option
from galley.planar.commands.contact.options import Results, results_group, session

EPILOG = """A platform of 0.5 kg stands on the ground, on it a body of 0.1 kg and 1.5 m. The
force at the platform grows from 0. newton and stein look for one nearest point, which a body
that lies on a face does not have: they are for the circle.

examples:
  galley contact lift --shape hexagon --friction 0 --gif
  galley contact lift --contacts stein --out stein"""


@dataclass(frozen=True, kw_only=True)
class ContactLiftOptions:
    """Options of ``galley contact lift``."""

    shape: Literal["circle", "hexagon", "rectangle"] = option("circle", "Lift this body.")
    friction: Multiple = option(0.1, "Set the coefficient of friction.", "MU")
    contacts: Literal["auto", "newton", "stein", "perimeter"] = more(
        "auto", "Find contact points in this way, see below."
    )
    max_force: Positive = option(15.0, "Let the force grow to this value.", "N")
    steps: Count = more(100, "Simulate this many steps of 1/60 s.")
    results: Results = results_group(speed=0.5)


def command(options: ContactLiftOptions) -> int:
    """Simulate, and write the results; exit status 1 if a step fails."""
    with session(options.results, f"lift-{options.shape}") as work:
        from galley.planar.contact import Points
        from galley.planar.contact.demonstrations import lift

        points = Points(options.contacts)
        with usage("--contacts"):
            values = (options.friction, points, options.max_force, options.steps)
            setup = lift(options.shape, *values)
        results = {
            "shape": options.shape,
            "friction": options.friction,
            "contacts": options.contacts,
        }
        title = f"galley contact lift: {options.shape}, friction {options.friction:g}"
        return work.finish(setup, title, results)
