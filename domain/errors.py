"""Bad input, as data: what is wrong, and where."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path


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


def did_you_mean(name: str, known: list[str] | tuple[str, ...]) -> str:
    """A suggestion to append to a message: ``"; did you mean 'sugar'?"``, or an empty string."""
    close = get_close_matches(name, known, n=1, cutoff=0.6)
    return f"; did you mean '{close[0]}'?" if close else ""


def read_text(path: str | Path) -> str:
    """The text of a file.

    Raises:
        BadInput: the file is missing, is a folder, can't be read, or isn't UTF-8.
    """
    try:
        return Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise BadInput.one(path, "no such file") from None
    except IsADirectoryError:
        raise BadInput.one(path, "is a folder, expected a file") from None
    except PermissionError:
        raise BadInput.one(path, "can't be read: permission denied") from None
    except UnicodeDecodeError:
        raise BadInput.one(path, "is not UTF-8 text") from None
    except (OSError, ValueError) as error:  # a name too long, a file used as a folder, a NUL
        raise BadInput.one(path, f"can't be read: {error}") from None
