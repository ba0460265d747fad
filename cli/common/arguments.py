"""Types of arguments, each with its own error message, and what refuses a usage."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

from galley.domain.errors import BadInput
from galley.domain.files import check_writable, write_atomically
from galley.domain.words import plural as plural  # for commands


def whole(text: str) -> int:
    """An integer."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number") from None


def checked(fault: str, good: Callable[[float], bool]) -> Callable[[str], float]:
    """Reads a finite number that is ``good``; ``fault`` is the message for others."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"'{text}' is not a number") from None
        if not math.isfinite(value) or not good(value):
            raise argparse.ArgumentTypeError(f"{fault}, not {text}")
        return value

    return read


def _whole(fault: str, low: int, high: float = math.inf) -> Callable[[str], int]:
    """Reads an integer from ``low`` to ``high``; ``fault`` is the message for others."""

    def read(text: str) -> int:
        value = whole(text)
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{fault}, not {text}")
        return value

    return read


count = _whole("must be 1 or more", 1)
number = checked("must be a finite number", lambda value: True)
multiple = checked("an amount is a number from 0", lambda value: value >= 0)

# Types of options, with what their value is called in the help.
Index = Annotated[int, _whole("must be 0 or more", 0), "N"]
Seed = Annotated[int, _whole("a seed is a whole number from 0", 0), "N"]
Count = Annotated[int, count, "N"]
Height = Annotated[int, _whole("a film is 120 to 2160 pixels high", 120, 2160), "PIXELS"]
FrameRate = Annotated[int, _whole("a film has 1 to 120 frames per second", 1, 120), "N"]
Positive = Annotated[float, checked("must be a number greater than 0", lambda value: value > 0)]
Multiple = Annotated[float, multiple]
SampleRate = Annotated[
    float,
    checked("a rate is 0.1 to 100000 samples a second", lambda value: 0.1 <= value <= 100_000),
    "HZ",
]


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


def check_output(path: Path | None, *endings: str, option: str = "--out") -> None:
    """Refuse a file that has another ending or can't be written, before the work for it.

    Raises:
        BadInput: with what is wrong.
    """
    if path is None:
        return
    if path.suffix.lower() not in endings:
        raise BadInput.one(path, f"{option} writes a file that ends in {endings[0]}")
    check_writable(path, endings[0])


def write_json(path: Path | None, data: Any) -> None:
    """Write data where ``--json`` says, if it says so."""
    if path is not None:
        write_atomically(path, json.dumps(data, indent=1) + "\n")


@contextmanager
def usage(option: str = "") -> Iterator[None]:
    """What is refused within is a fault of the usage; ``option``: of which one.

    Raises:
        BadInput: as raised within.
        argparse.ArgumentTypeError: for any other ValueError or ArgumentTypeError.
    """
    try:
        yield
    except BadInput:
        raise
    except (ValueError, argparse.ArgumentTypeError) as error:
        text = f"argument {option}: {error}" if option else str(error)
        raise argparse.ArgumentTypeError(text) from None
