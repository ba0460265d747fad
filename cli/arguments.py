"""Arguments: numbers as types, each with its own sentence for a fault; options that many have."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

from galley.domain.shipped import kitchen_file


def whole(text: str) -> int:
    """Any whole number."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number") from None


def index(text: str, fault: str = "must be 0 or more") -> int:
    """A whole number from 0; ``fault`` says what is wrong with others."""
    value = whole(text)
    if value < 0:
        raise argparse.ArgumentTypeError(fault)
    return value


def seed(text: str) -> int:
    """What random numbers begin with."""
    return index(text, "a seed is a whole number from 0")


def count(text: str) -> int:
    """A whole number from 1."""
    value = whole(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return value


def height(text: str) -> int:
    """The height of a film in pixels."""
    value = count(text)
    if not 120 <= value <= 2160:
        raise argparse.ArgumentTypeError("a film is 120 to 2160 pixels high")
    return value


def frame_rate(text: str) -> int:
    """A film's pictures a second."""
    value = count(text)
    if value > 120:
        raise argparse.ArgumentTypeError("a film has at most 120 pictures a second")
    return value


def _number(text: str, fault: str, good: Callable[[float], bool]) -> float:
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number") from None
    if not math.isfinite(value) or not good(value):
        raise argparse.ArgumentTypeError(fault)
    return value


def positive(text: str) -> float:
    """A number greater than 0."""
    return _number(text, "must be a number greater than 0", lambda value: value > 0)


def multiple(text: str) -> float:
    """Of an amount, from 0."""
    return _number(text, "an amount is a number from 0", lambda value: value >= 0)


def sample_rate(text: str) -> float:
    """Samples a second."""
    value = positive(text)
    if not 0.1 <= value <= 100_000:
        raise argparse.ArgumentTypeError("a rate is 0.1 to 100000 samples a second")
    return value


def task_options(p: argparse.ArgumentParser) -> None:
    """Which task in which scene."""
    p.add_argument("--scene", type=Path, help="scene file, YAML (default: Galley's kitchen)")
    p.add_argument("--domain", type=Path, help="PDDL domain (default: the kitchen's)")
    p.add_argument("--problem", type=Path, help="PDDL problem (default: sugar and spam)")


def out_option(p: argparse.ArgumentParser) -> None:
    """Where the results go."""
    p.add_argument("--out", type=Path, help="folder for the results (default: a new one in runs/)")


def task_files(arguments: argparse.Namespace) -> dict[str, Any]:
    """What ``task_options`` name; the kitchen's where they don't."""
    return {
        "scene": kitchen_file(arguments.scene, "kitchen.yaml"),
        "domain": kitchen_file(arguments.domain, "kitchen.pddl"),
        "problem": kitchen_file(arguments.problem, "task.pddl"),
    }


def optimize_option(p: argparse.ArgumentParser, about: str) -> None:
    """How free motions become trajectories; ``about``: what the help says of it."""
    p.add_argument(
        "--optimize",
        choices=("smooth", "time-optimal", "shortest", "none"),
        default="smooth",
        help=f"trajectories of free motions{about} (default smooth)",
    )


def given(arguments: argparse.Namespace, kind: type[Any]) -> dict[str, Any]:
    """Those of a dataclass's fields that were given as options of the same name."""
    told = vars(arguments)
    found = {each.name: told.get(each.name) for each in fields(kind)}
    return {name: value for name, value in found.items() if value is not None}


def motion_options(p: argparse.ArgumentParser) -> None:
    """Options of every command that makes motions and films them."""
    p.add_argument("--seed", type=seed, default=0, help="of every random stream (default 0)")
    out_option(p)
    p.add_argument(
        "--video",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="film what was executed (default: yes)",
    )
    p.add_argument(
        "--height",
        type=height,
        default=720,
        help="of the film in pixels, 16:9 (default 720)",
    )
    p.add_argument("--fps", type=frame_rate, default=20, help="pictures a second (default 20)")
    p.add_argument(
        "--speed",
        type=positive,
        default=1.0,
        help="of the film; other than real time is marked in the picture (default 1)",
    )


def sweep_options(p: argparse.ArgumentParser, seeds: int) -> None:
    """Options of every command that runs the same for many seeds; ``seeds``: unless told."""
    p.add_argument(
        "--seeds",
        type=count,
        default=seeds,
        metavar="N",
        help=f"runs of each, one a seed (default {seeds})",
    )
    p.add_argument(
        "--seed", type=seed, default=0, metavar="FIRST", help="the first seed (default 0)"
    )
    p.add_argument("--jobs", type=count, metavar="N", help="runs at a time (default: one a core)")
    p.add_argument(
        "--engine",
        choices=("process", "ray"),
        default="process",
        help="what runs them: processes of this machine, or Ray (default process)",
    )
    optimize_option(p, ", as for galley run")


def plural(number: int, noun: str) -> str:
    """A number of things: ``1 state``, ``2 states``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
