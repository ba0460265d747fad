"""What the subcommands of ``galley push`` share: the table, who pushes, the results."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from galley.cli.common.arguments import (
    count,
    film_size_options,
    gif_option,
    need,
    out_option,
    positive,
    seed_option,
)
from galley.cli.common.tables import PlainTable

if TYPE_CHECKING:
    from galley.learning.policy.policy import Policy
    from galley.planar.pushing.config import PushConfig
    from galley.planar.pushing.demonstrators import Demonstrator
    from galley.planar.pushing.rollout import Rollout


def table_options(p: argparse.ArgumentParser) -> None:
    """Add the options of the table and its start."""
    p.add_argument(
        "--shape",
        metavar="SHAPE",
        help="T, L, rectangle or a file of vertices, .yaml (default T, or the config's)",
    )
    p.add_argument("--config", type=Path, metavar="FILE", help="parameters, YAML (default: none)")
    seed_option(p)


def demonstrator_options(
    p: argparse.ArgumentParser, episodes: int | None, *by_hand: str, policies: bool = False
) -> None:
    """Add who pushes, and how often.

    Args:
        p: of the command. episodes: the default, None without end.
        by_hand: names of what a person pushes with. policies: whether a policy may.
    """
    from galley.planar.pushing.demonstrators import DEMONSTRATORS

    known = {**DEMONSTRATORS, **dict.fromkeys(by_hand, "you, in a window")}
    about = "; ".join(f"{name}: {text}" for name, text in known.items())
    who = p.add_mutually_exclusive_group(required=True)
    who.add_argument("--demonstrator", choices=tuple(known), help=about)
    if policies:
        who.add_argument(
            "--policy",
            type=Path,
            metavar="FILE",
            help="a checkpoint of galley push train, or ready: the one that comes with Galley; the "
            "table is that of its training, but for --shape and --config",
        )
    p.add_argument(
        "--episodes",
        type=count,
        default=episodes,
        metavar="N",
        help="how many, with seeds one after the other "
        f"(default {'until escape' if episodes is None else episodes})",
    )


def film_options(p: argparse.ArgumentParser) -> None:
    """Add the options of a film and of its folder."""
    out_option(p)
    film_size_options(p, 640, 25)
    p.add_argument(
        "--speed",
        type=positive,
        default=1.0,
        metavar="X",
        help="seconds of an episode in a second of film (default 1)",
    )
    gif_option(p)


def config_of(arguments: argparse.Namespace) -> PushConfig:
    """The config that the options of ``table_options`` say.

    Raises:
        BadInput: a bad file. argparse.ArgumentTypeError: no such shape.
    """
    from galley.planar.pushing.config import PushConfig
    from galley.planar.pushing.config_file import load_config, load_outline
    from galley.planar.pushing.shapes import SHAPES, shape

    policy = getattr(arguments, "policy", None)
    if policy is not None and arguments.config is None and arguments.shape is None:
        need("learn", *LEARNED)
        from galley.learning.policy.policy import load_policy

        return load_policy(policy_file(policy)).config
    config = PushConfig() if arguments.config is None else load_config(arguments.config)
    name = arguments.shape
    if name is None:
        return config
    if name not in SHAPES and Path(name).suffix not in (".yaml", ".yml"):
        known = ", ".join(SHAPES)
        raise argparse.ArgumentTypeError(
            f"argument --shape: '{name}' must be one of {known}, or a .yaml file of vertices"
        )
    return replace(config, shape=shape(name) if name in SHAPES else load_outline(name))


def demonstrator_of(arguments: argparse.Namespace, config: PushConfig) -> Demonstrator:
    """The demonstrator that the options say.

    Raises:
        argparse.ArgumentTypeError: it can't move the config's pusher.
    """
    from galley.planar.pushing.demonstrators import demonstrator

    if getattr(arguments, "policy", None) is not None:
        from galley.learning.policy.policy import Driver

        return Driver(checked_policy(arguments.policy, config))
    try:
        return demonstrator(arguments.demonstrator, config)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


LEARNED = ("jax", "equinox", "optax", "safetensors")  # libraries that policies need


def pusher_name(arguments: argparse.Namespace) -> str:
    """The name of who pushes: of a demonstrator, or of a policy's file."""
    policy: Path | None = getattr(arguments, "policy", None)
    name: str = arguments.demonstrator if policy is None else policy.stem
    return name


def policy_file(given: Path) -> Path:
    """The path of a policy; a bare name that does not exist here means one that is shipped."""
    from galley.learning.policy.shipped import READY

    bare = given.name == str(given)
    return READY[given.name] if bare and not given.exists() and given.name in READY else given


def checked_policy(given: Path, config: PushConfig) -> Policy:
    """A policy on a table.

    Raises:
        BadInput: it is none, or was trained on another outline.
    """
    need("learn", *LEARNED)
    from galley.domain.errors import BadInput
    from galley.learning.policy.policy import load_policy

    policy = load_policy(policy_file(given))
    if policy.config.shape.vertices.tolist() != config.shape.vertices.tolist():
        raise BadInput.one(given, "was trained on another outline than this table's")
    return replace(policy, config=config)


def in_window(watched: Callable[[], Iterator[Rollout]]) -> None:
    """Watch episodes in a window until it is closed, and print what came of them.

    Raises:
        argparse.ArgumentTypeError: pygame or the display is missing, or the arm can't do it.
    """
    from galley.cli.common.progress import Printer

    need("planar", "pygame")
    found: list[Rollout] = []
    try:
        found.extend(watched())
    except (RuntimeError, ValueError) as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    finally:
        if found:
            Printer().console.print(episodes_table(found))


def episodes_table(rollouts: Iterable[Rollout]) -> PlainTable:
    """A row an episode: seed, steps, coverage, success."""
    table = PlainTable()
    for name in ("seed", "steps", "coverage"):
        table.add_column(name, right=True)
    table.add_column("success")
    for each in rollouts:
        share = f"{100.0 * each.coverage[-1]:.1f} %"
        table.add_row(
            str(each.seed), str(len(each.targets)), share, "yes" if each.success else "no"
        )
    return table
