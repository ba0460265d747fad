"""S-expressions, the lexical form of PDDL, with the place of every atom and list.

Text is read once, left to right, without recursion. Names are folded to lower case because PDDL
ignores case; columns count characters, so a tab is one column.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from galley.domain.errors import BadInput
from galley.domain.pddl_parens import misplaced

# Readers of the tree may recurse; real PDDL nests about ten deep.
MAX_DEPTH = 100

_TOKEN = re.compile(r";.*|[()]|[^\s();]+")


# Named tuples rather than dataclasses: a large problem has a million atoms.
class Atom(NamedTuple):
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


class SList(NamedTuple):
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


def parse_sexprs(text: str, file: str) -> tuple[Node, ...]:
    """Every top-level expression of ``text``.

    Args:
        text: the whole file; line breaks are newlines.
        file: its name, for messages.

    Raises:
        BadInput: parentheses don't balance, or lists nest more than ``MAX_DEPTH`` deep.
    """
    items: list[Node] = []  # of the list that is open
    stack: list[tuple[list[Node], int, int]] = []  # the items before each open list, and its place
    find = _TOKEN.finditer
    new = tuple.__new__  # what Atom(...) comes down to
    for number, line in enumerate(_lines(text), start=1):
        for match in find(line):
            token = match.group()
            if token == ")":
                if not stack:
                    raise BadInput([misplaced(tokens(text), file)])
                done = tuple(items)
                items, *place = stack.pop()
                items.append(new(SList, (done, *place)))
            elif token == "(":
                stack.append((items, number, match.start() + 1))
                items = []
                if len(stack) > MAX_DEPTH:
                    what = f"lists nest more than {MAX_DEPTH} deep; is a ')' missing before?"
                    raise BadInput.one(file, what, number, match.start() + 1)
            elif token[0] != ";":
                items.append(new(Atom, (token.lower(), number, match.start() + 1)))
    if stack:
        raise BadInput([misplaced(tokens(text), file)])
    return tuple(items)


def tokens(text: str) -> Iterator[tuple[str, int, int]]:
    """Words and parentheses with 1-based line and column; comments are dropped."""
    for number, line in enumerate(_lines(text), start=1):
        for match in _TOKEN.finditer(line):
            if not match.group().startswith(";"):
                yield match.group(), number, match.start() + 1


def _lines(text: str) -> list[str]:
    return text.removeprefix("\ufeff").split("\n")
