"""S-expressions, the lexical form of PDDL, with the place of every atom and list.

Text is read once, left to right, without recursion. Names are folded to lower case because PDDL
ignores case; columns count characters, so a tab is one column.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from galley.domain.errors import BadInput, InputError

# Readers of the tree may recurse; real PDDL nests about ten deep.
MAX_DEPTH = 100

_TOKEN = re.compile(r";.*|[()]|[^\s();]+")


@dataclass(frozen=True, slots=True)
class Atom:
    """A word: a name, a variable, a keyword, or the dash of a typed list.

    Attributes:
        text: the word in lower case.
        line: 1-based line of its first character.
        column: 1-based column of its first character.
    """

    text: str
    line: int
    column: int

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class SList:
    """A parenthesised list.

    Attributes:
        items: its atoms and lists, in order.
        line: 1-based line of the opening parenthesis.
        column: 1-based column of the opening parenthesis.
    """

    items: tuple[Atom | SList, ...]
    line: int
    column: int

    @property
    def head(self) -> str:
        """The text of the first item where that is an atom, otherwise an empty string."""
        first = self.items[0] if self.items else None
        return first.text if isinstance(first, Atom) else ""

    def __str__(self) -> str:
        return f"({' '.join(map(str, self.items))})"


Node = Atom | SList


class _Open:
    """A list whose closing parenthesis has not been seen yet."""

    def __init__(self, line: int, column: int) -> None:
        self.items: list[Node] = []
        self.line = line
        self.column = column

    @property
    def is_section(self) -> bool:
        first = self.items[0] if self.items else None
        return isinstance(first, Atom) and first.text.startswith(":")


def parse_sexprs(text: str, file: str) -> tuple[Node, ...]:
    """Every top-level expression of ``text``.

    Args:
        text: the whole file; line breaks are newlines.
        file: its name, for messages.

    Raises:
        BadInput: parentheses don't balance, or lists nest more than ``MAX_DEPTH`` deep.
    """
    top: list[Node] = []
    stack: list[_Open] = []
    suspect: _Open | None = None
    for token, line, column in _tokens(text):
        if token == "(":
            stack.append(_Open(line, column))
            if len(stack) > MAX_DEPTH:
                raise BadInput.one(file, f"lists nest more than {MAX_DEPTH} deep", line, column)
        elif token == ")":
            if not stack:
                raise BadInput.one(
                    file, "this ')' closes nothing; remove it, or add the missing '('", line, column
                )
            done = stack.pop()
            closed = SList(tuple(done.items), done.line, done.column)
            (stack[-1].items if stack else top).append(closed)
        else:
            (stack[-1].items if stack else top).append(Atom(token.lower(), line, column))
            suspect = suspect or _swallowing_section(stack)
    if stack:
        raise BadInput(_unclosed(stack, suspect, file))
    return tuple(top)


def _tokens(text: str) -> Iterator[tuple[str, int, int]]:
    """Words and parentheses with 1-based line and column; comments are dropped."""
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        for match in _TOKEN.finditer(line):
            if not match.group().startswith(";"):
                yield match.group(), number, match.start() + 1


def _swallowing_section(stack: list[_Open]) -> _Open | None:
    """The ``(:section`` that the section just opened lies in, if it lies in one.

    A ``)`` always closes the innermost list, so a forgotten one leaves the file's first ``(``
    open, far from the mistake. Sections never nest in PDDL: where one does, the outer one lacks
    its ``)``.
    """
    if not stack or len(stack[-1].items) != 1 or not stack[-1].is_section:
        return None
    return next((outer for outer in reversed(stack[:-1]) if outer.is_section), None)


def _unclosed(stack: list[_Open], suspect: _Open | None, file: str) -> list[InputError]:
    if suspect is not None:
        what = f"this '(' of {suspect.items[0]} is not closed before the next section; add a ')'"
        return [InputError(file, suspect.line, suspect.column, what)]
    culprit = stack[-1]
    missing = f"{len(stack)} ')' are" if len(stack) > 1 else "one ')' is"
    what = f"this '(' is never closed: {missing} missing at the end of the file"
    return [InputError(file, culprit.line, culprit.column, what)]
