"""Malformed input: what is wrong, and where."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

# Fuzzy matching takes microseconds per known name: too slow for thousands of objects and an error
# in every line. Beyond this many, only names at edit distance 1 are looked up.
_FUZZY_NAMES = 300
_FUZZY_LENGTH = 80  # characters; longer names get no suggestion
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789_-"


class SourceLocation(NamedTuple):
    """A file, as it is named in messages, and a 1-based line and column."""

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
    """``text`` with escapes for what a terminal would obey: control characters, line breaks."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


class BadInput(ValueError):
    """Malformed input. Carries every error found, not only the first."""

    def __init__(self, errors: list[InputError] | tuple[InputError, ...]) -> None:
        self.errors: tuple[InputError, ...] = tuple(errors)
        super().__init__("\n".join(str(error) for error in self.errors))

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


def closest_match(name: str, known: Collection[str]) -> str | None:
    """The known name that ``name`` is probably a misspelling of, if any."""
    from difflib import get_close_matches  # late: only errors need it

    if len(name) > _FUZZY_LENGTH:
        return None
    if len(known) > _FUZZY_NAMES:
        return one_edit_away(name, known)
    return next(iter(get_close_matches(name, known, n=1, cutoff=0.6)), None)


def one_edit_away(name: str, known: Collection[str]) -> str | None:
    """A known name at edit distance 1 from ``name``; swapped neighbours count as one edit."""
    pool = known if isinstance(known, (Set, Mapping)) else set(known)
    return next((edit for edit in _edits(name) if edit in pool), None) if pool else None


def _edits(name: str) -> Iterator[str]:
    """Every name at edit distance 1: two characters swapped, one replaced, inserted or deleted."""
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
