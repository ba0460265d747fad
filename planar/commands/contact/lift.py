"""``galley contact lift``: a platform lifts a body."""

from __future__ import annotations

import argparse

from galley.cli.common.arguments import count, positive
from galley.planar.commands.contact.options import (
    friction_option,
    result_options,
    session,
    shape_option,
)

EPILOG = """A platform of 0.5 kg stands on the ground, on it a body of 0.1 kg and 1.5 m. A force at
the platform grows from 0 to 15 N over 100 steps of 1/60 s. Until it bears both weights, nothing
moves, and the gradient of the height by the force is 0 but for the ring of the contact; then it is
h (T - t) / m, for what is pushed earlier flies longer.

--contacts: where the forces between platform and body act. newton: the virtual contact, and nine
points beside it along the tangent; stein: ten points spread by Stein variational descent;
perimeter: points fixed to both edges; auto: newton for the circle, perimeter for the others, which
lie on a face: there newton and stein, which look for one nearest point, are refused.

examples:
  galley contact lift --shape circle
  galley contact lift --shape hexagon --friction 0 --gif
  galley contact lift --contacts stein --out stein"""


def add_arguments(p: argparse.ArgumentParser) -> None:
    """Add the options of ``galley contact lift``."""
    shape_option(p, "circle")
    friction_option(p, 0.1)
    p.add_argument(
        "--contacts",
        choices=("auto", "newton", "stein", "perimeter"),
        default="auto",
        help="where contact points lie, see below (default auto)",
    )
    p.add_argument(
        "--force", type=positive, default=15.0, metavar="N", help="at the end (default 15)"
    )
    p.add_argument("--steps", type=count, default=100, metavar="N", help="of 1/60 s (default 100)")
    result_options(p, speed=0.5)


def command(arguments: argparse.Namespace) -> int:
    """Simulate and write; 1 if a step doesn't converge."""
    with session(arguments, f"lift-{arguments.shape}") as work:
        from galley.planar.contact import Points
        from galley.planar.contact.demonstrations import lift

        try:
            setup = lift(
                arguments.shape,
                arguments.friction,
                Points(arguments.contacts),
                arguments.force,
                arguments.steps,
            )
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"argument --contacts: {error}") from None
        results = {
            "shape": arguments.shape,
            "friction": arguments.friction,
            "contacts": arguments.contacts,
        }
        title = f"galley contact lift: {arguments.shape}, friction {arguments.friction:g}"
        return work.finish(setup, title, results)
