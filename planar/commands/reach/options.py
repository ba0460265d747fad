"""Options that the subcommands of ``galley reach`` share."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from galley.cli.common.arguments import Multiple, Positive, usage
from galley.cli.common.options import given
from galley.domain.options import group, option

if TYPE_CHECKING:
    from galley.planar.reach import DonutSampler

BOUNDS = (-2.0, 2.0, -2.0, 2.0)


@dataclass(frozen=True, kw_only=True)
class Sampler:
    """Arm and sampler; None where an option isn't given."""

    l1: Positive | None = option(None, "length of link 1 (default 1.0)", "M")
    l2: Positive | None = option(None, "length of link 2 (default 0.8)", "M")
    limits: tuple[float, float, float, float] | None = option(
        None, "of theta1 and theta2, rad (default: none)", ("LO1", "HI1", "LO2", "HI2")
    )
    epsilon: Multiple | None = option(
        None, "margin to the least and greatest distance in reach (default 0.05)", "M"
    )
    heading_sigma: Positive | None = option(
        None,
        "standard deviation of the heading about facing the target; from 9 on it is uniform "
        "(default 0.3)",
        "RAD",
    )

    def made(self) -> DonutSampler:
        """The sampler.

        Raises:
            argparse.ArgumentTypeError: options that don't go together.
        """
        from galley.planar.reach import DonutSampler, PlanarArm

        edges = self.limits
        limits = None if edges is None else (edges[:2], edges[2:])
        chosen: dict[str, Any] = {"epsilon": 0.05, "heading_sigma": 0.3}
        with usage():
            arm = PlanarArm(self.l1 or 1.0, self.l2 or 0.8, limits)
            made = DonutSampler(arm, **chosen | given(self, DonutSampler))
        if made.keep_rate() <= 0.0:
            what = f"nothing in the ring is within the limits {arm.limits}"
            raise argparse.ArgumentTypeError(what)
        return made

    def first_given(self) -> str | None:
        """The first option that is given, as it is written; None if none is."""
        names = (each.name for each in fields(self) if getattr(self, each.name) is not None)
        name = next(names, None)
        return None if name is None else f"--{name.replace('_', '-')}"


def sampler_group() -> Any:
    """The options of arm and sampler."""
    return group(Sampler(), "arm and sampler")
