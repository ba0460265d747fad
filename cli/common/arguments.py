"""Argument types, each with its own error message, and options that several commands share."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from galley.domain.shipped import KITCHEN, shipped_file


def whole(text: str) -> int:
    """An integer."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number") from None


def index(text: str, fault: str = "must be 0 or more") -> int:
    """An integer from 0; ``fault`` is the message for others."""
    value = whole(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{fault}, not {text}")
    return value


def seed(text: str) -> int:
    """A random seed."""
    return index(text, "a seed is a whole number from 0")


def count(text: str) -> int:
    """An integer from 1."""
    value = whole(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be 1 or more, not {text}")
    return value


def height(text: str) -> int:
    """A film's height in pixels."""
    value = count(text)
    if not 120 <= value <= 2160:
        raise argparse.ArgumentTypeError(f"a film is 120 to 2160 pixels high, not {text}")
    return value


def frame_rate(text: str) -> int:
    """A film's frame rate, Hz."""
    value = count(text)
    if value > 120:
        raise argparse.ArgumentTypeError(f"a film has at most 120 frames per second, not {text}")
    return value


def _number(text: str, fault: str, good: Callable[[float], bool]) -> float:
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number") from None
    if not math.isfinite(value) or not good(value):
        raise argparse.ArgumentTypeError(f"{fault}, not {text}")
    return value


def number(text: str) -> float:
    """A finite number."""
    return _number(text, "must be a finite number", lambda value: True)


def positive(text: str) -> float:
    """A number greater than 0."""
    return _number(text, "must be a number greater than 0", lambda value: value > 0)


def multiple(text: str) -> float:
    """A factor from 0."""
    return _number(text, "an amount is a number from 0", lambda value: value >= 0)


def sample_rate(text: str) -> float:
    """A sample rate, Hz."""
    value = positive(text)
    if not 0.1 <= value <= 100_000:
        raise argparse.ArgumentTypeError(f"a rate is 0.1 to 100000 samples a second, not {text}")
    return value


def need(extra: str, *libraries: str) -> None:
    """Refuse to go on without the libraries of an extra of Galley, before any is imported.

    Raises:
        argparse.ArgumentTypeError: with how to install them.
    """
    missing = [each for each in libraries if find_spec(each) is None]
    if missing:
        raise argparse.ArgumentTypeError(
            f"needs {', '.join(missing)}: pip install 'galley-tamp[{extra}]'"
        )


def task_options(p: argparse.ArgumentParser) -> None:
    """Add the options of scene and task."""
    p.add_argument(
        "--scene", type=Path, metavar="FILE", help="scene, YAML (default: Galley's kitchen)"
    )
    p.add_argument(
        "--domain", type=Path, metavar="FILE", help="PDDL domain (default: the kitchen's)"
    )
    p.add_argument(
        "--problem", type=Path, metavar="FILE", help="PDDL problem (default: sugar and spam)"
    )


def seed_option(p: argparse.ArgumentParser, default: int = 0) -> None:
    """Add the option of the random seed."""
    what = f"random seed (default {default})"
    p.add_argument("--seed", type=seed, default=default, metavar="N", help=what)


def out_option(p: argparse.ArgumentParser) -> None:
    """Add the option of the results' folder."""
    p.add_argument(
        "--out", type=Path, metavar="FOLDER", help="for the results (default: a new one in runs/)"
    )


def task_files(arguments: argparse.Namespace) -> dict[str, Any]:
    """The files of ``task_options``, found by bare names too; by default the kitchen's."""
    return {
        "scene": shipped_file(arguments.scene or KITCHEN / "kitchen.yaml"),
        "domain": shipped_file(arguments.domain or KITCHEN / "kitchen.pddl"),
        "problem": shipped_file(arguments.problem or KITCHEN / "task.pddl"),
    }


def optimize_option(p: argparse.ArgumentParser, about: str) -> None:
    """Add the option of the trajectory optimizer; ``about``: its description in the help."""
    p.add_argument(
        "--optimize",
        choices=("smooth", "time-optimal", "shortest", "none"),
        default="smooth",
        help=f"trajectories of free motions{about} (default smooth)",
    )


def given(arguments: argparse.Namespace, kind: type[Any]) -> dict[str, Any]:
    """The options that are fields of the dataclass ``kind``, without those not given."""
    options = {field.name: getattr(arguments, field.name, None) for field in fields(kind)}
    return {name: value for name, value in options.items() if value is not None}


def film_options(p: argparse._ActionsContainer, high: int, fps: int) -> None:
    """Add the options of a film; ``high`` (pixels) and ``fps`` (Hz) are the defaults."""
    p.add_argument(
        "--video",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="film the execution (default: yes)",
    )
    film_size_options(p, high, fps, ", 16:9")


def film_size_options(p: argparse._ActionsContainer, high: int, fps: int, shape: str = "") -> None:
    """Add a film's height and frame rate, with their defaults; ``shape``: of the pictures."""
    p.add_argument(
        "--height",
        type=height,
        default=high,
        metavar="PIXELS",
        help=f"height of the film{shape} (default {high})",
    )
    p.add_argument(
        "--fps",
        type=frame_rate,
        default=fps,
        metavar="N",
        help=f"frames per second (default {fps})",
    )


def gif_option(p: argparse._ActionsContainer) -> None:
    """Add the choice of an animated GIF."""
    p.add_argument("--gif", action="store_true", help="as animated GIF instead of mp4")


def check_gif(arguments: argparse.Namespace) -> None:
    """Refuse a GIF of a rate that the format can't have.

    Raises:
        argparse.ArgumentTypeError: with those that it can.
    """
    if arguments.gif and (arguments.fps > 50 or 100 % arguments.fps):
        what = "a GIF's frames last whole hundredths of a second: 1, 2, 4, 5, 10, 20, 25 or 50"
        raise argparse.ArgumentTypeError(f"argument --fps: {what}")


def motion_options(p: argparse.ArgumentParser) -> None:
    """Add the options of commands that make motions and film them."""
    seed_option(p)
    out_option(p)
    film_options(p, 720, 20)
    p.add_argument(
        "--speed",
        type=positive,
        default=1.0,
        metavar="X",
        help="speed of the film; any other than real time is shown in it (default 1)",
    )


def seeds_options(p: argparse.ArgumentParser, seeds: int) -> None:
    """Add the options of which seeds to run; ``seeds``: the default number."""
    p.add_argument(
        "--seeds",
        type=count,
        default=seeds,
        metavar="N",
        help=f"number of seeds, one run each (default {seeds})",
    )
    p.add_argument(
        "--seed", type=seed, default=0, metavar="FIRST", help="first random seed (default 0)"
    )


def sweep_options(p: argparse.ArgumentParser, seeds: int) -> None:
    """Add the options of commands that run many seeds; ``seeds``: the default number."""
    seeds_options(p, seeds)
    worker_options(p)
    optimize_option(p, ", as for galley run")


def worker_options(p: argparse.ArgumentParser, name: str = "--jobs") -> None:
    """Add the options of commands that run a sweep; ``name`` is that of how many at a time."""
    p.add_argument(
        name,
        dest="jobs",
        type=count,
        metavar="N",
        help="runs at a time (default: one per core)",
    )
    p.add_argument(
        "--engine",
        choices=("process", "ray"),
        default="process",
        help="run in local processes or on Ray (default process)",
    )


def plural(number: int, noun: str) -> str:
    """A number with its noun: ``1 state``, ``2 states``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
