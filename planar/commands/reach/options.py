"""Options that the subcommands of ``galley reach`` share."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from galley.cli.common.arguments import Multiple, Positive, usage
from galley.domain.options import group, option

if TYPE_CHECKING:
    from galley.planar.reach import DonutSampler

BOUNDS = (-2.0, 2.0, -2.0, 2.0)


@dataclass(frozen=True, kw_only=True)
class Sampler:
    """Options of the arm and the sampler."""

    l1: Positive = option(1.0, "Set the length of link 1.", "M")
    l2: Positive = option(0.8, "Set the length of link 2.", "M")
    limits: tuple[float, float, float, float] | None = option(
        None, "Limit theta1 and theta2, rad. Default: no limits.", ("LO1", "HI1", "LO2", "HI2")
    )
    epsilon: Multiple = option(0.05, "Keep this margin to both ends of the reach.", "M")
    heading_sigma: Positive = option(
        0.3,
        "Set the heading's standard deviation about facing the target; from 9 on it is uniform.",
        "RAD",
    )

    def made(self) -> DonutSampler:
        """The sampler that the options describe.

        Raises:
            argparse.ArgumentTypeError: the options contradict each other.
        """
        from galley.planar.reach import DonutSampler, PlanarArm

        edges = self.limits
        limits = None if edges is None else (edges[:2], edges[2:])
        with usage():
            arm = PlanarArm(self.l1, self.l2, limits)
            made = DonutSampler(arm, self.epsilon, self.heading_sigma)
        if made.keep_rate() <= 0.0:
            reason = f"nothing in the ring is within the limits {arm.limits}"
            raise argparse.ArgumentTypeError(reason)
        return made

    def check_unused(self) -> None:
        """Refuse these options with ``--data``, whose dataset has its own arm and sampler.

        Raises:
            argparse.ArgumentTypeError: one of them is given.
        """
        if self != Sampler():
            reason = "argument --data: arm and sampler are those of the dataset, leave them out"
            raise argparse.ArgumentTypeError(reason)


def sampler_group() -> Any:
    """The group of options of the arm and the sampler."""
    return group(Sampler(), "arm and sampler")
