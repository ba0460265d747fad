"""Types of option values, each with an error message of its own, and checks of the usage."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

from galley.domain.action_text import plural as plural  # for commands
from galley.domain.errors import BadInput
from galley.domain.files import check_writable, write_atomically


def whole(text: str) -> int:
    """Read an integer from the command line.

    Raises:
        argparse.ArgumentTypeError: the text is not a whole number.
    """
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number") from None


def checked(fault: str, good: Callable[[float], bool]) -> Callable[[str], float]:
    """A type of argument: a finite number that is ``good``; ``fault`` is the message for others."""

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
    """A type of argument: an integer in ``low`` to ``high``; ``fault`` is the error message."""

    def read(text: str) -> int:
        value = whole(text)
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{fault}, not {text}")
        return value

    return read


count = _whole("must be 1 or more", 1)
number = checked("must be a finite number", lambda value: True)
multiple = checked("an amount must be a number, 0 or more", lambda value: value >= 0)

# Types of options, with the name of the value in the help.
Index = Annotated[int, _whole("must be 0 or more", 0), "N"]
Seed = Annotated[int, _whole("a seed must be a whole number, 0 or more", 0), "N"]
Count = Annotated[int, count, "N"]
Height = Annotated[int, _whole("the height must be 120 to 2160 pixels", 120, 2160), "PIXELS"]
FrameRate = Annotated[int, _whole("the frame rate must be 1 to 120 Hz", 1, 120), "N"]
Positive = Annotated[float, checked("must be a number greater than 0", lambda value: value > 0)]
Multiple = Annotated[float, multiple]
SampleRate = Annotated[
    float,
    checked("a sample rate must be 0.1 to 100000 Hz", lambda value: 0.1 <= value <= 100_000),
    "HZ",
]


def need(extra: str, *libraries: str) -> None:
    """Check that the libraries of an extra of Galley are installed, before any is imported.

    Raises:
        argparse.ArgumentTypeError: one is missing; the message says how to install it.
    """
    missing = [name for name in libraries if find_spec(name) is None]
    if missing:
        raise argparse.ArgumentTypeError(
            f"needs {', '.join(missing)}: pip install 'galley-tamp[{extra}]'"
        )


def check_output(path: Path | None, *endings: str, option: str = "--out") -> None:
    """Check the ending of an output file, and that it can be written, before the work for it.

    Args:
        path: the file, or None for no check.
        endings: allowed suffixes; the first one is the usual one.
        option: the option that names the file, for the message.

    Raises:
        BadInput: the file has another ending or can't be written.
    """
    if path is None:
        return
    if path.suffix.lower() not in endings:
        raise BadInput.one(path, f"{option} needs a name that ends in {endings[0]}")
    check_writable(path, endings[0])


def write_json(path: Path | None, data: Any) -> None:
    """Write data as JSON to the file of ``--json``; nothing if ``path`` is None."""
    if path is not None:
        write_atomically(path, json.dumps(data, indent=1) + "\n")


@contextmanager
def usage(option: str = "") -> Iterator[None]:
    """Turn a ValueError of the ``with`` block into an error of usage, about ``option`` if given.

    Raises:
        BadInput: as raised within the block.
        argparse.ArgumentTypeError: the block raised another ValueError or an ArgumentTypeError.
    """
    try:
        yield
    except BadInput:
        raise
    except (ValueError, argparse.ArgumentTypeError) as error:
        text = f"argument {option}: {error}" if option else str(error)
        raise argparse.ArgumentTypeError(text) from None
