"""S-expressions, the lexical form of PDDL, with the place of every atom and list.

Text is read once, left to right, without recursion. Names are folded to lower case because PDDL
ignores case; columns count characters, so a tab is one column.

Where parentheses don't balance, the one to blame must be guessed. A ``)`` always closes the
innermost list, so a forgotten one leaves the file's first ``(`` open, far from the mistake. What
really lacks its ``)`` is told by what stands inside it: PDDL has no section within a section, no
list within a fact, and people indent their files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from galley.domain.errors import BadInput, InputError

# Readers of the tree may recurse; real PDDL nests about ten deep.
MAX_DEPTH = 100

_TOKEN = re.compile(r";.*|[()]|[^\s();]+")

# Lists that start with one of these hold other lists; a fact holds none.
_HOLDS_LISTS = frozenset(
    (
        *("define", "domain", "problem", "either"),
        *("and", "or", "not", "imply", "forall", "exists", "when", "preference", "="),
        *("<", ">", "<=", ">=", "+", "-", "*", "/", "increase", "decrease", "assign"),
        *("scale-up", "scale-down", "probabilistic", "oneof", "always", "sometime", "within"),
    )
)
# Keywords that stand within a section rather than open one, and where.
_FIELDS = frozenset((":parameters", ":precondition", ":effect", ":vars", ":duration", ":condition"))

_SECTION, _FACT, _INDENT = range(3)  # how a suspect came up, the surest first


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
                    raise BadInput([_misplaced(_tokens(text), file)])
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
        raise BadInput([_misplaced(_tokens(text), file)])
    return tuple(items)


def _tokens(text: str) -> Iterator[tuple[str, int, int]]:
    """Words and parentheses with 1-based line and column; comments are dropped."""
    for number, line in enumerate(_lines(text), start=1):
        for match in _TOKEN.finditer(line):
            if not match.group().startswith(";"):
                yield match.group(), number, match.start() + 1


def _lines(text: str) -> list[str]:
    return text.removeprefix("\ufeff").split("\n")


class _Open:
    """A list whose closing parenthesis has not been seen yet."""

    def __init__(self, line: int, column: int, first_in_line: bool) -> None:
        self.line = line
        self.column = column
        self.first_in_line = first_in_line
        self.head: str | None = None  # its first word; "" where that is a list


class _Suspect(NamedTuple):
    """A list that something stands in which belongs after it."""

    open: _Open
    kind: int
    order: int  # of the token that gave it away


def _misplaced(tokens: Iterable[tuple[str, int, int]], file: str) -> InputError:
    """The parenthesis to blame in a file whose parentheses don't balance."""
    stack: list[_Open] = []
    suspects: list[_Suspect] = []
    first_end: tuple[int, int] | None = None  # where the first list of the file is closed
    stray: tuple[str, int] | None = None  # the first section that follows it, and its line
    last_line = 0
    for order, (token, line, column) in enumerate(tokens):
        starts_line, last_line = line != last_line, line
        if token == ")":
            if not stack:
                return _extra(file, line, column, first_end, stray)
            stack.pop()
            if not stack and first_end is None:
                first_end = (line, column)
            continue
        if token == "(":
            if starts_line:
                suspects += _outdented(stack, column, order)
            if stack and stack[-1].head is None:
                stack[-1].head = ""
            stack.append(_Open(line, column, starts_line))
            continue
        word = token.lower()
        if not stack:
            continue
        opens = stack[-1].head is None
        if opens:
            stack[-1].head = word
            if len(stack) == 1 and first_end is not None and word.startswith(":"):
                stray = stray or (word, line)
        suspects += _out_of_place(stack, word, opens, order)
    return _unclosed(stack, suspects, file)


def _outdented(stack: list[_Open], column: int, order: int) -> list[_Suspect]:
    """The outermost list that a line, starting with ``(``, is not indented into."""
    for each in stack[1:]:
        if each.first_in_line and each.column >= column:
            return [_Suspect(each, _INDENT, order)]
    return []


def _out_of_place(stack: list[_Open], word: str, opens: bool, order: int) -> list[_Suspect]:
    if word in _FIELDS and not opens:
        inner = stack[-1]
        astray = not (inner.head or "").startswith((":action", ":durative-action"))
        return [_Suspect(inner, _SECTION, order)] if astray else []
    if not opens or len(stack) < 2:
        return []
    if word.startswith(":"):
        outer = [each for each in stack[:-1] if (each.head or "").startswith(":")]
        # :length holds (:serial 9), the only lists within a section that start so.
        if outer and outer[-1].head != ":length":
            return [_Suspect(outer[-1], _SECTION, order)]
        # Sections stand in the define, not in the `(domain name)` before them.
        astray = not outer and stack[-2].head not in ("define", "")
        return [_Suspect(stack[-2], _SECTION, order)] if astray else []
    parent = stack[-2]
    head = parent.head or ":"
    if word != "either" and head[0] != ":" and head not in _HOLDS_LISTS:
        return [_Suspect(parent, _FACT, order)]
    return []


def _unclosed(stack: list[_Open], suspects: list[_Suspect], file: str) -> InputError:
    sure = next((each for each in suspects if each.kind == _SECTION), None)
    culprit = stack[-1]
    count = f"{len(stack)} ')' are" if len(stack) > 1 else "one ')' is"
    what = f"this '(' is never closed: {count} missing at the end of the file"
    if sure is not None:
        culprit = sure.open
        what = f"this '(' of {culprit.head} is not closed before what follows it; add a ')'"
        if (culprit.head or "").startswith(":"):
            what = f"this '(' of {culprit.head} is not closed before the next section; add a ')'"
        # The mistake lies within that section, and before what gave it away.
        start = (culprit.line, culprit.column)
        suspects = [
            each
            for each in suspects
            if (each.open.line, each.open.column) >= start and each.order < sure.order
        ]
    for kind in (_FACT, _INDENT):
        found = next((each for each in suspects if each.kind == kind), None)
        if found is not None:
            culprit = found.open
            what = f"this '(' of {culprit.head or 'a list'} is not closed where it should be"
            what += "; add a ')'"
            break
    return InputError(file, culprit.line, culprit.column, what)


def _extra(
    file: str,
    line: int,
    column: int,
    first_end: tuple[int, int] | None,
    stray: tuple[str, int] | None,
) -> InputError:
    if first_end is not None and stray is not None:
        word, at = stray
        what = (
            f"this ')' closes the whole definition, but {word} follows at line {at}; "
            "remove a ')' here or before"
        )
        return InputError(file, *first_end, what)
    what = "this ')' closes nothing; remove it, or add the missing '('"
    return InputError(file, line, column, what)
