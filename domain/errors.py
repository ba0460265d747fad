"""Bad input, as data: what is wrong, and where."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

# Comparing a name with every known one takes microseconds each: too long for a file with thousands
# of objects and a fault in every line. There only names one slip away are looked up.
_MANY = 300
_LONG = 80
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789_-"


class SourceLocation(NamedTuple):
    """Where something is written: the file as it is named in messages, and the 1-based line."""

    file: str
    line: int


@dataclass(frozen=True)
class InputError:
    """One fault of an input file.

    Attributes:
        file: the file as the user named it.
        line: 1-based line, or None where the fault has no line (a missing file).
        column: 1-based column, or None.
        what: one sentence: the fault, and what to do about it.
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
        return f"{place}: {self.what}"


class BadInput(ValueError):
    """Raised for malformed input; carries every fault that was found, not the first only."""

    def __init__(self, errors: list[InputError] | tuple[InputError, ...]) -> None:
        self.errors: tuple[InputError, ...] = tuple(errors)
        super().__init__("\n".join(str(error) for error in self.errors))

    @classmethod
    def one(
        cls, file: str | Path, what: str, line: int | None = None, column: int | None = None
    ) -> BadInput:
        """A BadInput with a single fault."""
        return cls([InputError(str(file), line, column, what)])


def did_you_mean(name: str, known: Collection[str]) -> str:
    """A suggestion to append to a message: ``"; did you mean 'sugar'?"``, or an empty string."""
    found = closest(name, known)
    return f"; did you mean '{found}'?" if found else ""


def closest(name: str, known: Collection[str]) -> str | None:
    """The known name that ``name`` is probably a slip for, if there is one."""
    from difflib import get_close_matches  # only a fault needs it

    if len(name) > _LONG:
        return None
    if len(known) > _MANY:
        return one_slip_away(name, known)
    return next(iter(get_close_matches(name, known, n=1, cutoff=0.6)), None)


def one_slip_away(name: str, known: Collection[str]) -> str | None:
    """A known name that differs in one character, or two exchanged, from ``name``."""
    pool = known if isinstance(known, (Set, Mapping)) else set(known)
    return next((each for each in _slips(name) if each in pool), None) if pool else None


def _slips(name: str) -> Iterator[str]:
    """Every name that is one exchanged, wrong, missing or extra character away."""
    for i in range(len(name) - 1):
        yield name[:i] + name[i + 1] + name[i] + name[i + 2 :]
    for i in range(len(name)):
        for letter in _LETTERS:
            yield name[:i] + letter + name[i + 1 :]
    for i in range(len(name) + 1):
        for letter in _LETTERS:
            yield name[:i] + letter + name[i:]
    for i in range(len(name)):
        yield name[:i] + name[i + 1 :]
