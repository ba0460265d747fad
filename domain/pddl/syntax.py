"""The form of a PDDL file: text into expressions, a file into its sections, and its faults.

Every atom and list has its place. Text is read once, left to right, without recursion. Names are
folded to lower case because PDDL ignores case; columns count characters, so a tab is one column.

Where parentheses don't balance, the one to blame must be guessed. A ``)`` always closes the
innermost list, so a forgotten one leaves the file's first ``(`` open, far from the mistake. What
really lacks its ``)`` is told by what stands inside it: PDDL has no section within a section, no
list within a fact, and people indent their files.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from galley.domain.errors import BadInput, InputError, closest, did_you_mean
from galley.domain.files import read_bytes

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


# A file of another language, or one wrong word in every line, makes thousands; nobody reads them.
MAX_REPORTED = 100

_SHORT = 40


class SyntaxFaults:
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

    def raise_if_any(self) -> None:
        """Raises everything noted, in the order of the file; the last one counts those left out.

        Raises:
            BadInput: at least one fault was noted.
        """
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
        if errors:
            raise BadInput(errors)


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


CONNECTIVES = ("and", "or", "not", "imply", "exists", "forall")
RESERVED = (*CONNECTIVES, "when", "increase")  # no predicate may be called so

# Wider than the standard's letters, digits, dashes and underscores: benchmarks use more. What
# starts with a question mark, colon, dash or operator could be taken for something else.
NAME = re.compile(r"[\w#@.+!$%&~][\w\-#@.+!$%&~*/'|<>=:^]*\??")

# What the other of the two files calls the same thing.
_TWINS = {":objects": ":constants", ":constants": ":objects"}

_COMMENT = re.compile(r";[^\n]*")


class Section(NamedTuple):
    """One ``(:keyword ...)`` of a file."""

    keyword: str
    node: SList
    body: tuple[Node, ...]


class Definition(NamedTuple):
    """A file taken apart: ``(define (kind NAME) section ...)``."""

    node: SList
    name: str
    sections: tuple[Section, ...]

    def one(self, keyword: str) -> Section | None:
        """The section ``keyword``, or None where the file has none."""
        return next((each for each in self.sections if each.keyword == keyword), None)

    def body(self, keyword: str) -> tuple[Node, ...]:
        """What the section ``keyword`` holds; nothing where the file has no such section."""
        section = self.one(keyword)
        return section.body if section else ()


def read_definition(
    path: str | Path,
    kind: str,
    known: tuple[str, ...],
    refused: Mapping[str, str],
    faults: SyntaxFaults,
) -> Definition:
    """Takes a file apart into its sections.

    Args:
        path: the file.
        kind: ``domain`` or ``problem``.
        known: the sections to accept; only ``:action`` may come more than once.
        refused: sections that are refused by name, each with the reason.
        faults: where unknown, refused and repeated sections are noted.

    Raises:
        BadInput: the file can't be read, or is not a ``define`` of the right kind at all.
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
        faults.add(extra, "nothing may follow the (define ...); a parenthesis closes it too early?")
    name = _read_header(define, kind, shape, faults)
    sections: dict[str, Section] = {}
    actions: list[Section] = []
    for node in define.items[2:]:
        section = _read_section(node, sections, known, refused, faults)
        if section is not None and section.keyword == ":action":
            actions.append(section)
        elif section is not None:
            sections[section.keyword] = section
    return Definition(define, name, (*sections.values(), *actions))


def _read(path: str | Path) -> str:
    """The text of a PDDL file: UTF-8, but for comments, which old benchmarks have in Latin-1."""
    data = read_bytes(path)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        text = data.decode("latin-1")
        if not _COMMENT.sub("", text).isascii() or "\0" in text:
            before = data[: error.start]
            line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
            raise BadInput.one(path, "is not UTF-8 text", line, column) from None
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
        keyword = _TWINS.get(keyword, "")
    elif keyword not in known:
        faults.add(node, f"unknown section {short(node.items[0])}", keyword, known)
        keyword = _closest_section(keyword, known)
    # A slip in the keyword is no reason to take what the section declares for undeclared.
    if not keyword or (keyword != node.head and keyword in before):
        return None
    if keyword in before:
        faults.add(node, f"a second {keyword}; the first is at line {before[keyword].node.line}")
        return None
    return Section(keyword, node, node.items[1:])


@lru_cache(maxsize=100)  # a file may repeat its slip fifty thousand times
def _closest_section(keyword: str, known: tuple[str, ...]) -> str:
    return closest(keyword, known) or ""


def read_name(node: Node, role: str, faults: SyntaxFaults) -> str | None:
    """The name that ``node`` is, or None after noting why it is not one."""
    if isinstance(node, Atom) and NAME.fullmatch(node.text):
        return node.text
    hint = ""
    if isinstance(node, Atom) and node.text.startswith("?"):
        hint = "; a variable can't stand here"
    elif isinstance(node, Atom) and node.text.startswith("-"):
        hint = "; the '-' before a type needs a space on both sides"
    faults.add(node, f"expected {role}, got '{short(node)}'{hint}")
    return None
