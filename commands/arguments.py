"""Arguments: numbers as types for ``argparse``, each with its own sentence for a fault."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import Protocol


class AddParser(Protocol):
    """``cli._add``: makes a command's parser."""

    def __call__(
        self,
        commands: argparse._SubParsersAction[argparse.ArgumentParser],
        name: str,
        text: str,
        function: Callable[[argparse.Namespace], int],
        epilog: str = "",
    ) -> argparse.ArgumentParser:
        """The parser of the command ``name``."""
        ...


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


def positive(text: str) -> float:
    """A number greater than 0."""
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number") from None
    if not math.isfinite(value) or value <= 0:
        raise argparse.ArgumentTypeError("must be a number greater than 0")
    return value


def sample_rate(text: str) -> float:
    """Samples a second."""
    value = positive(text)
    if not 0.1 <= value <= 100_000:
        raise argparse.ArgumentTypeError("a rate is 0.1 to 100000 samples a second")
    return value
