"""Errors in input files, with file, line and column; suggestions for misspelt names."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

_FUZZY_NAMES = 300
_FUZZY_LENGTH = 80  # characters; longer names get no suggestion


class SourceLocation(NamedTuple):
    """A place in a file: the file's name as messages have it, and a 1-based line and column."""

    file: str
    line: int
    column: int


@dataclass(frozen=True)
class InputError:
    """One error in an input file.

    Attributes:
        file: the file as the user named it.
        line: 1-based line, or None for an error of the whole file (such as a missing one).
        column: 1-based column, or None.
        what: one sentence: what is wrong and how to fix it.
    """

    file: str
    line: int | None
    column: int | None
    what: str

    def __str__(self) -> str:
        place = self.file
        if self.line is not None:
            place += f":{self.line}"
            if self.column is not None:
                place += f":{self.column}"
        return printable(f"{place}: {self.what}")


def printable(text: str) -> str:
    """``text`` with control characters and line breaks escaped, which a terminal would obey."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


class BadInput(ValueError):
    """Malformed input.

    Attributes:
        errors: every error found, not only the first.
    """

    def __init__(self, errors: list[InputError] | tuple[InputError, ...]) -> None:
        self.errors: tuple[InputError, ...] = tuple(errors)
        super().__init__("\n".join(str(error) for error in self.errors))

    def __reduce__(self) -> tuple[type[BadInput], tuple[tuple[InputError, ...]]]:
        return type(self), (self.errors,)  # pickled with all errors, for worker processes

    @classmethod
    def one(
        cls, file: str | Path, what: str, line: int | None = None, column: int | None = None
    ) -> BadInput:
        """A BadInput with a single error."""
        return cls([InputError(str(file), line, column, what)])


def did_you_mean(name: str, known: Collection[str]) -> str:
    """A suggestion to append to a message: ``"; did you mean 'sugar'?"``, or an empty string."""
    match = closest_match(name, known)
    return f"; did you mean '{match}'?" if match else ""


def closest_match(name: str, known: Collection[str], cutoff: float = 0.6) -> str | None:
    """The known name that ``name`` is probably a misspelling of, if any.

    Args:
        name: the word in question.
        known: the names; none of more than 300 is suggested, as comparing takes microseconds each.
        cutoff: how similar the names must be, 0 to 1.
    """
    from difflib import get_close_matches  # late: only errors need it

    if len(name) > _FUZZY_LENGTH or len(known) > _FUZZY_NAMES:
        return None
    return next(iter(get_close_matches(name, known, n=1, cutoff=cutoff)), None)
