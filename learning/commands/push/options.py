"""Shared by the subcommands of ``galley push``: options of table and pusher, results."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from galley.cli.common.arguments import Count, Positive, Seed, need, usage
from galley.cli.common.shared import Animation, out_option, seed_option
from galley.cli.common.tables import PlainTable
from galley.domain.options import more, option
from galley.learning.policy import READY
from galley.planar.pushing.demonstrators import DEMONSTRATORS

if TYPE_CHECKING:
    from galley.learning.policy.policy import DiffusionPolicy
    from galley.planar.pushing.config import PushConfig
    from galley.planar.pushing.demonstrators import Demonstrator
    from galley.planar.pushing.rollout import Rollout


@dataclass(frozen=True, kw_only=True)
class Table:
    """Options of the table and the start."""

    shape: str | None = option(
        None,
        "Push T, L, rectangle, or a .yaml of vertices. Default: T, or --config's.",
        "SHAPE",
    )
    config: Path | None = option(None, "Read parameters from this file, YAML.")
    seed: Seed = seed_option()

    def push_config(self, policy: Path | None = None) -> PushConfig:
        """The config that the options describe.

        Args:
            policy: without --config, the table is that of this policy's training.

        Raises:
            BadInput: a file is bad.
            argparse.ArgumentTypeError: an unknown shape.
        """
        from galley.planar.pushing.config import PushConfig
        from galley.planar.pushing.config_file import load_config, outline

        config = PushConfig() if self.config is None else load_config(self.config)
        if self.config is None and policy is not None:
            need("learn", *LEARNED)
            from galley.learning.policy.policy import load_policy

            config = load_policy(policy_file(policy)).config
        if self.shape is None:
            return config
        with usage("--shape"):
            vertices = outline(self.shape).vertices.tolist()
            return replace(config, ranges={**config.ranges, "shape": [vertices]})


def demonstrator_option(**others: str) -> Any:
    """The option for a demonstrator; ``others``: more choices, with a description of each."""
    known = DEMONSTRATORS | others
    about = f"Choose who pushes: {'; '.join(f'{name}: {text}' for name, text in known.items())}."
    return option(None, about, choices=tuple(known), either="who", required=True)


def seeds_option(default: int | None) -> Any:
    """The option for the number of episodes; None: until the window is closed."""
    shown = "until escape" if default is None else default
    return option(default, f"Push for this many seeds, an episode each. Default: {shown}.")


@dataclass(frozen=True, kw_only=True)
class PusherOptions(Table):
    """Options of the table, the demonstrator or policy, and the number of episodes."""

    demonstrator: str | None = demonstrator_option()
    policy: Path | None = option(
        None,
        "Let this policy push: a checkpoint of galley push train, or Galley's own, ready. The "
        "table is that of its training, except for --shape and --config.",
        either="who",
    )
    seeds: Count | None = seeds_option(None)

    @property
    def name(self) -> str:
        """The name of the demonstrator, or of the policy's file."""
        return self.policy.stem if self.policy is not None else str(self.demonstrator)

    def push_config(self, policy: Path | None = None) -> PushConfig:
        """The config that the options describe, by default that of the policy's training."""
        return super().push_config(policy or self.policy)

    def driver(self, config: PushConfig) -> Demonstrator:
        """The demonstrator, or the policy as one.

        Raises:
            argparse.ArgumentTypeError: a demonstrator can't move the config's pusher.
        """
        if self.policy is None:
            return checked_demonstrator(str(self.demonstrator), config)
        from galley.learning.policy.policy import Driver

        return Driver(checked_policy(self.policy, config))


@dataclass(frozen=True, kw_only=True)
class PushFilm(Animation):
    """Options of a film and its folder."""

    speed: Positive = more(1.0, "Speed the film up or down.", "X")
    out: Path | None = out_option()


def checked_demonstrator(name: str, config: PushConfig) -> Demonstrator:
    """The demonstrator of a name.

    Raises:
        argparse.ArgumentTypeError: it can't move the config's pusher.
    """
    from galley.planar.pushing.demonstrators import demonstrator

    with usage():
        return demonstrator(name, config)


LEARNED = ("jax", "equinox", "optax", "safetensors")  # libraries that policies need


def policy_file(given: Path) -> Path:
    """The path of a policy; a bare name that isn't a file here means a shipped policy."""
    bare = given.name == str(given)
    return READY[given.name] if bare and not given.exists() and given.name in READY else given


def checked_policy(given: Path, config: PushConfig) -> DiffusionPolicy:
    """The policy of a file on a table.

    Raises:
        BadInput: it isn't a policy, or it observes an outline with another number of vertices.
    """
    need("learn", *LEARNED)
    from galley.domain.errors import BadInput
    from galley.learning.policy.policy import load_policy

    policy = load_policy(policy_file(given))
    own = len(policy.config.shape.vertices)
    for vertices in config.ranges.get("shape", [config.shape.vertices]):
        if policy.design.observation == "keypoints" and len(vertices) != own:
            raise BadInput.one(given, f"sees an outline of {own} vertices, not of {len(vertices)}")
    return policy.on(config)


def in_window(watched: Callable[[], Iterator[Rollout]]) -> None:
    """Watch episodes in a window until it is closed, and print their results.

    Raises:
        argparse.ArgumentTypeError: there is no pygame or display, or the arm can't hold the pusher.
    """
    from galley.cli.common.progress import Printer

    need("planar", "pygame")
    rollouts: list[Rollout] = []
    try:
        rollouts.extend(watched())
    except (RuntimeError, ValueError) as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    finally:
        if rollouts:
            Printer().console.print(episodes_table(rollouts))


def episodes_table(rollouts: Iterable[Rollout]) -> PlainTable:
    """A table with a row for each episode: seed, steps, coverage and success."""
    table = PlainTable(">seed", ">steps", ">coverage", "success")
    for run in rollouts:
        share = f"{100.0 * run.coverage[-1]:.1f} %"
        table.add_row(str(run.seed), str(len(run.targets)), share, "yes" if run.success else "no")
    return table
