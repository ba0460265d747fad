"""The syntax of PDDL files: s-expressions, sections, and collected errors.

Atoms and lists have a line and a column. Parsing is one pass without recursion. Names are folded to
lower case because PDDL ignores case; columns count characters, so a tab is one column.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from galley.domain.errors import BadInput, InputError, closest_match, did_you_mean
from galley.domain.files import not_utf8, read_bytes
from galley.domain.pddl.parentheses import unbalanced

_log = logging.getLogger(__name__)

# The readers recurse. Real PDDL nests about ten deep.
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

    Args:
        text: the whole file, with newlines as line breaks.
        file: its name, for messages.

    Raises:
        BadInput: parentheses don't balance, or lists nest more than ``MAX_DEPTH`` deep.
    """
    items: list[Node] = []  # of the innermost open list
    stack: list[tuple[list[Node], int, int]] = []  # outer items, and the position of each open list
    find = _TOKEN.finditer
    new = tuple.__new__  # faster than Atom(...)
    for number, line in enumerate(_lines(text), start=1):
        for match in find(line):
            token = match.group()
            if token == ")":
                if not stack:
                    raise BadInput([unbalanced(_tokens(text), file)])
                done = tuple(items)
                items, *place = stack.pop()
                items.append(new(SList, (done, *place)))
            elif token == "(":
                stack.append((items, number, match.start() + 1))
                items = []
                if len(stack) > MAX_DEPTH:
                    what = f"lists are nested more than {MAX_DEPTH} deep; is a ')' missing before?"
                    raise BadInput.one(file, what, number, match.start() + 1)
            elif token[0] != ";":
                items.append(new(Atom, (token.lower(), number, match.start() + 1)))
    if stack:
        raise BadInput([unbalanced(_tokens(text), file)])
    return tuple(items)


def _tokens(text: str) -> list[tuple[str, int, int]]:
    """Words, in lower case, and parentheses with 1-based line and column, without comments."""
    return [
        (match.group().lower(), number, match.start() + 1)
        for number, line in enumerate(_lines(text), start=1)
        for match in _TOKEN.finditer(line)
        if not match.group().startswith(";")
    ]


def _lines(text: str) -> list[str]:
    return text.removeprefix("\ufeff").split("\n")


# A file in another language gives thousands.
MAX_REPORTED = 100

_SHORT = 40  # characters


class SyntaxFaults:
    """Collects the errors of a file, so that a reader can go on and report them all."""

    def __init__(self, file: str) -> None:
        self.file = file
        self._once: set[str] = set()
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

    @property
    def number(self) -> int:
        """How many errors were added."""
        return len(self._errors)

    def warn(self, where: Node, what: str) -> None:
        """Logs a warning: what is written is allowed, but may be a mistake."""
        _log.warning("%s", InputError(self.file, where.line, where.column, what))

    def add_once(self, where: Node, what: str) -> None:
        """Adds an error that shows in many places, at the first of them only."""
        if what not in self._once:
            self._once.add(what)
            self.add(where, what)

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
    words: list[str] = []
    stack: list[Node | str] = [node]
    length = 0
    # Not str(node): a list may be a megabyte long.
    while stack and length <= _SHORT + 1:
        each = stack.pop()
        if isinstance(each, SList):
            stack.append(")")
            stack += reversed(each.items[: _SHORT + 1])
            stack.append("(")
            continue
        word = each.text if isinstance(each, Atom) else each
        glued = word == ")" or not words or words[-1].endswith("(")
        words.append(word if glued else f" {word}")
        length += len(words[-1])
    text = "".join(words)
    return text if len(text) <= _SHORT and not stack else text[: _SHORT - 3] + "..."


CONNECTIVES = ("and", "or", "not", "imply", "exists", "forall")
RESERVED = (*CONNECTIVES, "when", "increase")  # not allowed as predicate names

# More than the standard's letters, digits, dashes and underscores, as in benchmarks. The first
# character excludes what could be a variable, keyword, dash or operator.
NAME = re.compile(r"[\w#@.+!$%&~][\w\-#@.+!$%&~*/'|<>=:^]*\??")

# A section's counterpart in the other file.
_COUNTERPARTS = {":objects": ":constants", ":constants": ":objects"}

_COMMENT = re.compile(rb";[^\r\n]*")


class Section(NamedTuple):
    """A section ``(:keyword ...)`` and its contents."""

    keyword: str
    node: SList
    body: tuple[Node, ...]


class Definition(NamedTuple):
    """The sections of a file: ``(define (kind NAME) section ...)``.

    ``whole`` is False if something that may be a section could not be read as one.
    """

    node: SList
    name: str
    sections: tuple[Section, ...]
    whole: bool

    def one(self, keyword: str) -> Section | None:
        """The section ``keyword``, or None."""
        return next((each for each in self.sections if each.keyword == keyword), None)

    def note_missing(self, what: str, faults: SyntaxFaults) -> None:
        """Adds the error of a missing section, unless what could not be read may be it."""
        if self.whole:
            faults.add(self.node, what)

    def body(self, keyword: str) -> tuple[Node, ...]:
        """The contents of the section ``keyword``; empty if there is none."""
        section = self.one(keyword)
        return section.body if section else ()


def read_definition(
    path: str | Path,
    kind: str,
    known: tuple[str, ...],
    refused: Mapping[str, str],
    faults: SyntaxFaults,
) -> Definition:
    """Splits a file into its sections.

    Args:
        path: the file.
        kind: ``domain`` or ``problem``.
        known: the accepted sections; only ``:action`` may be repeated.
        refused: sections that are refused, each with the reason.
        faults: collects unknown, refused and repeated sections.

    Raises:
        BadInput: the file can't be read, or is not a ``define`` of the right kind.
    """
    forms = parse_sexprs(_read(path), faults.file)
    shape = f"(define ({kind} NAME) ...)"
    if not forms:
        raise BadInput.one(faults.file, f"the file is empty; expected {shape}", 1, 1)
    define = forms[0]
    if not isinstance(define, SList) or define.head != "define":
        what = f"expected {shape}, got '{short(define)}'"
        raise BadInput.one(faults.file, what, define.line, define.column)
    for extra in forms[1:2]:
        faults.add(extra, "nothing may follow the (define ...); does a ')' close it too early?")
    name = _read_header(define, kind, shape, faults)
    sections: dict[str, Section] = {}
    actions: list[Section] = []
    whole = True
    for node in define.items[2:]:
        section = _read_section(node, sections, known, refused, faults)
        whole &= section is not None or (
            isinstance(node, SList) and node.head in (*known, *refused)
        )
        if section is not None and section.keyword == ":action":
            actions.append(section)
        elif section is not None:
            sections[section.keyword] = section
    return Definition(define, name, (*sections.values(), *actions), whole)


def _read(path: str | Path) -> str:
    """The text of a PDDL file, in UTF-8; comments may be Latin-1, as in old benchmarks."""
    data = read_bytes(path)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        try:
            text = _COMMENT.sub(lambda comment: b" " * len(comment.group()), data).decode("utf-8")
        except UnicodeDecodeError as error:
            raise not_utf8(path, data, error.start) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _read_header(define: SList, kind: str, shape: str, faults: SyntaxFaults) -> str:
    header: Node = define.items[1] if len(define.items) > 1 else define
    if isinstance(header, SList) and header.head in ("domain", "problem") and header.head != kind:
        what = f"this file is a {header.head}, expected a {kind}"
        raise BadInput.one(faults.file, what, header.line, header.column)
    if not isinstance(header, SList) or header.head != kind or len(header.items) != 2:
        raise BadInput.one(faults.file, f"expected {shape}", header.line, header.column)
    return read_name(header.items[1], f"the {kind}'s name", faults) or ""


def _read_section(
    node: Node,
    before: Mapping[str, Section],
    known: tuple[str, ...],
    refused: Mapping[str, str],
    faults: SyntaxFaults,
) -> Section | None:
    if not isinstance(node, SList) or not node.head.startswith(":"):
        faults.add(node, f"expected a section such as ({known[0]} ...), got '{short(node)}'")
        return None
    keyword = node.head
    if keyword in refused:
        faults.add(node, f"{keyword} {refused[keyword]}")
        keyword = _COUNTERPARTS.get(keyword, "")
    elif keyword not in known:
        faults.add(node, f"unknown section {short(node.items[0])}", keyword, known)
        keyword = _closest_section(keyword, known)
    # Read the section under its likely keyword, so that its declarations are known.
    if not keyword or (keyword != node.head and keyword in before):
        return None
    if keyword in before:
        faults.add(node, f"a second {keyword}; the first is at line {before[keyword].node.line}")
        return None
    return Section(keyword, node, node.items[1:])


@lru_cache(maxsize=100)  # the same misspelling may occur thousands of times
def _closest_section(keyword: str, known: tuple[str, ...]) -> str:
    return closest_match(keyword, known) or ""


def read_name(node: Node, role: str, faults: SyntaxFaults) -> str | None:
    """The name that ``node`` holds, or None after reporting that it is no name."""
    if isinstance(node, Atom) and NAME.fullmatch(node.text):
        return node.text
    hint = ""
    if isinstance(node, Atom) and node.text.startswith("?"):
        hint = "; a variable can't stand here"
    elif isinstance(node, Atom) and node.text.startswith("-"):
        hint = "; the '-' before a type needs a space on both sides"
    faults.add(node, f"expected {role}, got '{short(node)}'{hint}")
    return None
