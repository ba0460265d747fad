"""``galley contact throw``: forces that throw a ball into a basket, found by gradient."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from galley.cli.common.arguments import Multiple, checked
from galley.domain.options import option
from galley.planar.commands.contact.options import (
    Results,
    friction_option,
    results_group,
    session,
)

_distance = checked("must be 1 to 4 m", lambda value: 1.0 <= value <= 4.0)

EPILOG = """A hand of 0.4 kg holds a ball of 0.1 kg. 44 numbers are sought: the forces on the hand
in the 0.22 s in which it speeds up. Then it brakes, the ball flies on. Each try is simulated, and
differentiated through contact, release and flight; the next is the least change of the forces
that would hit if the miss were linear in them. It ends when the ball's centre passes the basket's
rim less than 1 mm beside its middle. The plot's gradient is that of the first try.

examples:
  galley contact throw
  galley contact throw --distance 3 --gif"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """Of ``galley contact throw``."""

    distance: Annotated[float, _distance] = option(2.0, "to the basket, 1 to 4 m", "M")
    friction: Multiple = friction_option(0.3)
    results: Results = results_group(speed=0.5)


def command(options: Options) -> int:
    """Search, print each try, write the last; 1 if it doesn't hit."""
    with session(options.results, "throw") as work:
        from galley.planar.contact.throw import HIT, Task

        task = Task(options.distance, options.friction)
        work.printer.stage("searching (the first time it is compiled)")
        tries = []
        for k, last in enumerate(task.search()):
            tries.append(last)
            work.printer.console.print(f"        try {k:2d}  misses by {1e3 * last.miss:9.3f} mm")
        setup = task.setup(last.forces)
        gradient = np.full_like(setup.controls, np.nan)
        gradient[: len(last.forces), 0, :2] = tries[0].gradient
        results = {
            "distance_m": options.distance,
            "friction": options.friction,
            "miss_m": last.miss,
            "tries_m": [each.miss for each in tries],
        }
        status = work.finish(
            setup,
            f"galley contact throw: {1e3 * last.miss:.2g} mm off after {len(tries) - 1} steps",
            results,
            gradient=gradient,
            cost="miss of the first try",
            cost_unit="m",
            target=task.target,
        )
        if not last.miss < HIT:
            print(f"misses the basket's middle by {1e3 * last.miss:.1f} mm", file=sys.stderr)
            return 1
        return status
