"""The syntax of PDDL files: s-expressions, sections, and collected errors.

Atoms and lists have a line and a column. Parsing is one pass without recursion. Names are folded to
lower case because PDDL ignores case; columns count characters, so a tab is one column.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NamedTuple, NoReturn

from galley.domain.errors import BadInput, InputError, did_you_mean
from galley.domain.files import read_text

# Depth of nested lists, at which the recursive readers are safe. Real PDDL nests about ten deep.
MAX_DEPTH = 100

_TOKEN = re.compile(r";.*|[()]|[^\s();]+")


# Named tuples, not dataclasses: a large problem has a million atoms.
class Atom(NamedTuple):
    """A word in lower case, such as a name, variable or keyword, with its 1-based position."""

    text: str
    line: int
    column: int

    def __str__(self) -> str:
        return self.text


class SList(NamedTuple):
    """A parenthesised list, with the 1-based position of its opening parenthesis."""

    items: tuple[Atom | SList, ...]
    line: int
    column: int

    @property
    def head(self) -> str:
        """The text of the first item if that is an atom, otherwise an empty string."""
        first = self.items[0] if self.items else None
        return first.text if isinstance(first, Atom) else ""

    def __str__(self) -> str:
        return f"({' '.join(map(str, self.items))})"


Node = Atom | SList


def parse_sexprs(text: str, file: str) -> tuple[Node, ...]:
    """The top-level expressions of ``text``.

    A stack has the open lists, so the parser is one loop over the tokens.

    Args:
        text: the whole file, with newlines as line breaks.
        file: its name, for messages.

    Raises:
        BadInput: parentheses don't balance, or lists nest more than ``MAX_DEPTH`` deep.
    """
    items: list[Node] = []  # items of the innermost open list so far
    # For each open list: the items so far of the list around it, and its own position.
    stack: list[tuple[list[Node], int, int]] = []
    unclosed: tuple[int, int] | None = None  # position of a section that contains another one
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        for match in _TOKEN.finditer(line):
            token, column = match.group(), match.start() + 1
            if token == ")":
                if not stack:
                    raise _closes_nothing(file, number, column, items)
                done = tuple(items)
                items, *position = stack.pop()
                items.append(SList(done, position[0], position[1]))
            elif token == "(":
                stack.append((items, number, column))
                items = []
                if len(stack) > MAX_DEPTH:
                    what = f"lists are nested more than {MAX_DEPTH} deep; is a ')' missing before?"
                    raise BadInput.one(file, what, number, column)
            elif token[0] != ";":
                token = token.lower()
                # Sections stand in (define ...): within another one, that one lacks its ')'.
                if not (unclosed or items) and len(stack) > 2 and token in _ALL_SECTIONS:
                    unclosed = stack[1][1:]
                items.append(Atom(token, number, column))
    if stack:
        number, column = unclosed or stack[min(1, len(stack) - 1)][1:]
        raise BadInput.one(file, "this '(' is never closed", number, column)
    return tuple(items)


def _closes_nothing(file: str, line: int, column: int, forms: list[Node]) -> BadInput:
    """The error for a closing parenthesis without an opening one, after the ``forms``."""
    if len(forms) > 1:  # the definition ended before its last section
        return BadInput.one(file, _TOO_EARLY, forms[1].line, forms[1].column)
    what = "this ')' closes nothing; remove it, or add the missing '('"
    return BadInput.one(file, what, line, column)


_TOO_EARLY = "nothing may follow the (define ...); does a ')' before close it too early?"

# Largest number of errors that are reported: a file in another language has thousands.
MAX_REPORTED = 100

_SHORT = 40  # characters


class SyntaxFaults:
    """Collects the errors of a file, so that a reader can go on and report them all at the end."""

    def __init__(self, file: str) -> None:
        self.file = file
        self._errors: dict[tuple[int, int, str], tuple[str, Collection[str]]] = {}

    def add(self, where: Node, what: str, name: str = "", known: Collection[str] = ()) -> None:
        """Adds an error.

        Args:
            where: the node concerned.
            what: one sentence: what is wrong and how to fix it.
            name: a name that may be misspelt.
            known: the valid names, from which a suggestion is made.
        """
        self._errors.setdefault((where.line, where.column, what), (name, known))

    def stop(self, where: Node, what: str) -> NoReturn:
        """Adds an error after which reading on is useless, and raises all errors.

        Raises:
            BadInput: always.
        """
        self.add(where, what)
        self.raise_if_any()
        raise AssertionError("there is an error")

    def raise_if_any(self) -> None:
        """Raises all errors in file order; beyond ``MAX_REPORTED`` they are only counted.

        Raises:
            BadInput: there is at least one error.
        """
        # Sections are read in order of dependence, not in file order.
        noted = sorted(self._errors.items(), key=lambda item: item[0][:2])
        errors = []
        for (line, column, what), (name, known) in noted[:MAX_REPORTED]:
            hint = did_you_mean(name, known) if name else ""
            errors.append(InputError(self.file, line, column, what + hint))
        if len(noted) > MAX_REPORTED:
            line, column, _ = noted[MAX_REPORTED][0]
            what = f"... and {len(noted) - MAX_REPORTED} more errors from here on"
            errors.append(InputError(self.file, line, column, what))
        if errors:
            raise BadInput(errors)


def short(node: Node) -> str:
    """The text of ``node``, truncated for messages."""
    text = str(node)
    return text if len(text) <= _SHORT else text[: _SHORT - 3] + "..."


CONNECTIVES = ("and", "or", "not", "imply", "exists", "forall")
RESERVED = (*CONNECTIVES, "when", "increase")  # not allowed as predicate names

# Names may have more characters than the standard's letters, digits, dashes and underscores, as in
# benchmarks. The first character can't begin a variable, keyword, dash or operator. The last one is
# no dash: that was meant to stand before a type.
_WORD = r"[\w#@.+!$%&~][\w\-#@.+!$%&~*/'|<>=:^]*(?<!-)"
NAME = re.compile(rf"{_WORD}\??")
VARIABLE = re.compile(rf"\?{_WORD}")

SECTIONS = {
    "domain": (":requirements", ":types", ":constants", ":predicates", ":functions", ":action"),
    "problem": (":domain", ":requirements", ":objects", ":init", ":goal", ":metric", ":length"),
}
_ALL_SECTIONS = frozenset(SECTIONS["domain"] + SECTIONS["problem"])

_COMMENT = re.compile(rb";[^\r\n]*")


class Definition(NamedTuple):
    """The sections of a file: ``(define (kind NAME) section ...)``.

    Attributes:
        node: the whole expression.
        name: name of the domain or problem.
        sections: the sections by keyword, without actions.
        actions: the ``(:action ...)`` sections of a domain.
    """

    node: SList
    name: str
    sections: Mapping[str, SList]
    actions: tuple[SList, ...]

    def body(self, keyword: str) -> tuple[Node, ...]:
        """The contents of the section ``keyword``; empty if there is none."""
        section = self.sections.get(keyword)
        return section.items[1:] if section else ()


def read_definition(path: str | Path, kind: str, faults: SyntaxFaults) -> Definition:
    """Splits a file into its sections.

    Args:
        path: the file.
        kind: ``domain`` or ``problem``.
        faults: collects errors.

    Raises:
        BadInput: the file can't be read, is not a ``define`` of the right kind, or has unknown,
            misplaced or repeated sections.
    """
    # In UTF-8; comments may be Latin-1, as in old benchmarks.
    forms = parse_sexprs(read_text(path, blank=_COMMENT), faults.file)
    shape = f"(define ({kind} NAME) ...)"
    if not forms:
        raise BadInput.one(faults.file, f"the file is empty; expected {shape}", 1, 1)
    define = forms[0]
    if not isinstance(define, SList) or define.head != "define":
        faults.stop(define, f"expected {shape}, got '{short(define)}'")
    for extra in forms[1:2]:
        faults.add(extra, _TOO_EARLY)
    name = _read_header(define, kind, shape, faults)
    sections: dict[str, SList] = {}
    actions = []
    other = "problem" if kind == "domain" else "domain"
    for node in define.items[2:]:
        keyword = node.head if isinstance(node, SList) else ""
        if not isinstance(node, SList) or not keyword.startswith(":"):
            example = SECTIONS[kind][0]
            faults.add(node, f"expected a section such as ({example} ...), got '{short(node)}'")
        elif keyword not in _ALL_SECTIONS:
            what = f"section {short(node.items[0])} is not supported"
            faults.add(node, what, keyword, SECTIONS[kind])
        elif keyword not in SECTIONS[kind]:
            faults.add(node, f"{keyword} belongs in the {other}, not the {kind}")
        elif keyword in sections:
            first = sections[keyword].line
            faults.add(node, f"a second {keyword}; the first is at line {first}")
        elif keyword == ":action":
            actions.append(node)
        else:
            sections[keyword] = node
    faults.raise_if_any()
    return Definition(define, name, sections, tuple(actions))


def _read_header(define: SList, kind: str, shape: str, faults: SyntaxFaults) -> str:
    """The name in ``(kind NAME)``; anything else is an error that ends reading."""
    header: Node = define.items[1] if len(define.items) > 1 else define
    if not isinstance(header, SList) or header.head != kind or len(header.items) != 2:
        head = header.head if isinstance(header, SList) else ""
        other = head in SECTIONS and head != kind
        what = f"this file is a {head}, expected a {kind}" if other else f"expected {shape}"
        faults.stop(header, what)
    return read_name(header.items[1], f"the {kind}'s name", faults) or ""


def read_name(
    node: Node, role: str, faults: SyntaxFaults, pattern: re.Pattern[str] = NAME
) -> str | None:
    """The name (or ``VARIABLE``) that ``node`` holds, or None after reporting that it is none."""
    word = node.text if isinstance(node, Atom) else ""
    if pattern.fullmatch(word):
        return word
    hint = ""
    if "-" in (word[:1], word[-1:]):
        hint = "; the '-' before a type needs a space on both sides"
    elif word.startswith("?") and pattern is NAME:
        hint = "; a variable can't stand here"
    faults.add(node, f"expected {role}, got '{short(node)}'{hint}")
    return None
