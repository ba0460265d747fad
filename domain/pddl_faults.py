"""The faults found so far in one PDDL file."""

from __future__ import annotations

from collections.abc import Collection

from galley.domain.errors import BadInput, InputError, did_you_mean
from galley.domain.sexpr import Atom, Node, SList

# A file of another language, or one wrong word in every line, makes thousands; nobody reads them.
MAX_REPORTED = 100

_SHORT = 40


class Faults:
    """Notes of what is wrong with a file: a reader adds to it and goes on, to find the rest."""

    def __init__(self, file: str) -> None:
        self.file = file
        self._once: set[str] = set()
        self._found: dict[tuple[int, int, str], tuple[str, Collection[str]]] = {}

    def add(self, where: Node, what: str, name: str = "", known: Collection[str] = ()) -> None:
        """Notes a fault.

        Args:
            where: the place.
            what: one sentence: the fault, and what to do about it.
            name: a name that may be misspelt.
            known: what it could have been; a suggestion is made only if the fault is reported.
        """
        self._found.setdefault((where.line, where.column, what), (name, known))

    def add_once(self, where: Node, what: str) -> None:
        """Notes a fault that is one slip, at the first of the places where it shows."""
        if what not in self._once:
            self._once.add(what)
            self.add(where, what)

    def errors(self) -> list[InputError]:
        """Everything noted, in the order of the file; the last one counts those left out."""
        # Sections are read in the order of dependence, not of the file.
        noted = sorted(self._found.items(), key=lambda item: item[0][:2])
        errors = []
        for (line, column, what), (name, known) in noted[:MAX_REPORTED]:
            hint = did_you_mean(name, known) if name else ""
            errors.append(InputError(self.file, line, column, what + hint))
        if len(noted) > MAX_REPORTED:
            line, column, _ = noted[MAX_REPORTED][0]
            what = f"... and {len(noted) - MAX_REPORTED} more faults from here on"
            errors.append(InputError(self.file, line, column, what))
        return errors

    def raise_if_any(self) -> None:
        """Raises everything noted, in the order of the file.

        Raises:
            BadInput: at least one fault was noted.
        """
        if self._found:
            raise BadInput(self.errors())


def short(node: Node) -> str:
    """How ``node`` is written, cut to the length of a message."""
    words: list[str] = []
    waiting: list[Node | str] = [node]
    length = 0
    # Not str(node): a list may be a megabyte long.
    while waiting and length <= _SHORT + 1:
        each = waiting.pop()
        if isinstance(each, SList):
            waiting.append(")")
            waiting += reversed(each.items[: _SHORT + 1])
            waiting.append("(")
            continue
        word = each.text if isinstance(each, Atom) else each
        words.append(word if word == ")" or not words or words[-1] == "(" else f" {word}")
        length += len(words[-1])
    text = "".join(words)
    return text if len(text) <= _SHORT and not waiting else text[: _SHORT - 3] + "..."
