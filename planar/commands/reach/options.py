"""Options that the subcommands of ``galley reach`` share."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from galley.cli.common.arguments import multiple, number, positive

if TYPE_CHECKING:
    from galley.planar.reach import DonutSampler

# Of the sampler's options, where they are not given.
DEFAULTS: dict[str, Any] = {
    "l1": 1.0,
    "l2": 0.8,
    "limits": None,
    "epsilon": 0.05,
    "heading_sigma": 0.3,
    "radial": "linear",
    "branches": "both",
    "heading": "facing",
}
BOUNDS = (-2.0, 2.0, -2.0, 2.0)


def sampler_options(p: argparse.ArgumentParser) -> None:
    """Add the options of arm and sampler; ``sampler`` makes them one."""
    group = p.add_argument_group("arm and sampler")
    group.add_argument(
        "--l1", type=positive, metavar="M", help=f"length of link 1 (default {DEFAULTS['l1']})"
    )
    group.add_argument(
        "--l2", type=positive, metavar="M", help=f"length of link 2 (default {DEFAULTS['l2']})"
    )
    group.add_argument(
        "--limits",
        type=number,
        nargs=4,
        metavar=("LO1", "HI1", "LO2", "HI2"),
        help="of theta1 and theta2, rad (default: none)",
    )
    group.add_argument(
        "--epsilon",
        type=multiple,
        metavar="M",
        help=f"margin to the least and greatest distance in reach (default {DEFAULTS['epsilon']})",
    )
    group.add_argument(
        "--heading-sigma",
        type=multiple,
        metavar="RAD",
        help="standard deviation of the heading about facing the target; 0: it faces it exactly, "
        f"and psi is no column (default {DEFAULTS['heading_sigma']})",
    )
    group.add_argument(
        "--radial",
        choices=("linear", "area"),
        help="uniform in distance, or in area (default linear)",
    )
    group.add_argument(
        "--branches",
        choices=("both", "one"),
        help="a row for each elbow within the limits, or one for each base (default both)",
    )
    group.add_argument(
        "--heading",
        choices=("facing", "free"),
        help="facing the target, or uniform in all directions (default facing)",
    )


def sampler(arguments: argparse.Namespace) -> DonutSampler:
    """The sampler of ``sampler_options``.

    Raises:
        argparse.ArgumentTypeError: options that don't go together.
    """
    from galley.planar.reach import DonutSampler, PlanarArm

    given = {name: getattr(arguments, name) for name in DEFAULTS}
    chosen = {name: DEFAULTS[name] if each is None else each for name, each in given.items()}
    edges = chosen.pop("limits")
    limits = None if edges is None else ((edges[0], edges[1]), (edges[2], edges[3]))
    try:
        arm = PlanarArm(chosen.pop("l1"), chosen.pop("l2"), limits)
        made = DonutSampler(arm, **chosen)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if made.keep_rate() <= 0.0:
        raise argparse.ArgumentTypeError(f"nothing in the ring is within the limits {arm.limits}")
    return made


def any_sampler_option(arguments: argparse.Namespace) -> str | None:
    """The first of ``sampler_options`` that was given, as it is written; None if none was."""
    name = next((each for each in DEFAULTS if getattr(arguments, each) is not None), None)
    return None if name is None else f"--{name.replace('_', '-')}"
