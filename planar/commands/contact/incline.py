"""``galley contact incline``: a slope is tilted until a block slides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from galley.cli.common.arguments import checked
from galley.cli.common.tables import PlainTable
from galley.planar.commands.contact.options import Results, friction_option, results_group, session

_ANGLES = np.array([0.5, 0.8, 0.95, 1.05, 1.2, 1.4, 1.7, 2.0])  # of the angle of slip
_ROW = "{:.2f}", "{:.4f}", "{:.4f}"
_friction = checked(
    "must be 0.01 to 0.8: the slope is tilted to twice the angle of slip",
    lambda value: 0.01 <= value <= 0.8,
)

EPILOG = """The table is of slopes at rest, simulated as one batch: the block's acceleration beside
g (sin - mu cos), or 0 up to the angle of slip, arctan mu.

examples:
  galley contact incline --friction 0.4 --no-video"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """Of ``galley contact incline``."""

    friction: Annotated[float, _friction] = friction_option(0.2)
    results: Results = results_group()


def command(options: Options) -> int:
    """Simulate, print the table, write; 1 if a step doesn't converge."""
    mu = options.friction
    with session(options.results, "incline") as work:
        from galley.planar.contact.demonstrations import angle_of_slip, incline, sliding
        from galley.planar.geometry.support import GRAVITY

        work.printer.stage(f"{len(_ANGLES)} slopes in a batch (the first time it is compiled)")
        angles = np.arctan(mu) * _ANGLES
        found = sliding(mu, angles)
        exact = np.maximum(GRAVITY * (np.sin(angles) - mu * np.cos(angles)), 0.0)
        table = PlainTable(">slope deg", ">measured m/s^2", ">closed form m/s^2")
        for row in zip(np.degrees(angles), found, exact, strict=True):
            table.add_row(*(text.format(value) for text, value in zip(_ROW, row, strict=True)))
        work.printer.console.print(table)
        slip, closed = np.degrees(angle_of_slip(angles, found)), np.degrees(np.arctan(mu))
        words = f"slips at {slip:.3f} deg, closed form arctan mu = {closed:.3f} deg"
        work.printer.console.print(words)
        results = {
            "friction": mu,
            "angle_of_slip_deg": slip,
            "closed_form_deg": closed,
            "slopes_deg": np.degrees(angles).tolist(),
            "accelerations_m_s2": found.tolist(),
        }
        return work.finish(incline(mu), f"incline: {words}", results)
