"""The syntax of PDDL files: s-expressions, sections, and collected errors.

Atoms and lists have a line and a column. Parsing is one pass without recursion. Names are folded to
lower case because PDDL ignores case; columns count characters, so a tab is one column.

If parentheses don't balance, the culprit must be guessed. A missing ``)`` leaves the first ``(`` of
the file open, far from the mistake. The contents of a list tell more: sections don't contain
sections, facts don't contain lists, and files are indented.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from galley.domain.errors import BadInput, InputError, closest_match, did_you_mean
from galley.domain.files import read_bytes

# The readers recurse. Real PDDL nests about ten deep.
MAX_DEPTH = 100

_TOKEN = re.compile(r";.*|[()]|[^\s();]+")

# Lists with these heads may contain lists; facts contain none.
_MAY_NEST = frozenset(
    (
        *("define", "domain", "problem", "either"),
        *("and", "or", "not", "imply", "forall", "exists", "when", "preference", "="),
        *("<", ">", "<=", ">=", "+", "-", "*", "/", "increase", "decrease", "assign"),
        *("scale-up", "scale-down", "probabilistic", "oneof", "always", "sometime", "within"),
    )
)
# Keywords of fields within a section.
_FIELDS = frozenset((":parameters", ":precondition", ":effect", ":vars", ":duration", ":condition"))

_SECTION, _FACT, _INDENT = range(3)  # kinds of evidence, most reliable first


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
                    raise BadInput([_unbalanced(_tokens(text), file)])
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
        raise BadInput([_unbalanced(_tokens(text), file)])
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
    """A list that is not closed yet."""

    def __init__(self, line: int, column: int, first_in_line: bool) -> None:
        self.line = line
        self.column = column
        self.first_in_line = first_in_line
        self.head: str | None = None  # its first word; "" if that is a list


class _Suspect(NamedTuple):
    """A list that contains something which belongs after it."""

    open: _Open
    kind: int
    order: int  # index of the token that shows it


def _unbalanced(tokens: Iterable[tuple[str, int, int]], file: str) -> InputError:
    """The likely culprit in a file whose parentheses don't balance."""
    stack: list[_Open] = []
    suspects: list[_Suspect] = []
    first_end: tuple[int, int] | None = None  # where the file's first list ends
    stray: tuple[str, int] | None = None  # the first section after it, and its line
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
    """The outermost open list whose contents a line starting with ``(`` is not indented into."""
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
        # Only :length contains lists that start with a colon, such as (:serial 9).
        if outer and outer[-1].head != ":length":
            return [_Suspect(outer[-1], _SECTION, order)]
        # Sections belong in the define, not in the `(domain name)` before them.
        astray = not outer and stack[-2].head not in ("define", "")
        return [_Suspect(stack[-2], _SECTION, order)] if astray else []
    parent = stack[-2]
    head = parent.head or ":"
    if word != "either" and head[0] != ":" and head not in _MAY_NEST:
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
        # The mistake is within that section, before the token that shows it.
        start = (culprit.line, culprit.column)
        suspects = [
            each
            for each in suspects
            if (each.open.line, each.open.column) >= start and each.order < sure.order
        ]
    for kind in (_FACT, _INDENT):
        suspect = next((each for each in suspects if each.kind == kind), None)
        if suspect is not None:
            culprit = suspect.open
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
        words.append(word if word == ")" or not words or words[-1] == "(" else f" {word}")
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

_COMMENT = re.compile(r";[^\n]*")


class Section(NamedTuple):
    """A section ``(:keyword ...)`` and its contents."""

    keyword: str
    node: SList
    body: tuple[Node, ...]


class Definition(NamedTuple):
    """The sections of a file: ``(define (kind NAME) section ...)``."""

    node: SList
    name: str
    sections: tuple[Section, ...]

    def one(self, keyword: str) -> Section | None:
        """The section ``keyword``, or None."""
        return next((each for each in self.sections if each.keyword == keyword), None)

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
    for node in define.items[2:]:
        section = _read_section(node, sections, known, refused, faults)
        if section is not None and section.keyword == ":action":
            actions.append(section)
        elif section is not None:
            sections[section.keyword] = section
    return Definition(define, name, (*sections.values(), *actions))


def _read(path: str | Path) -> str:
    """The text of a PDDL file, in UTF-8; comments may be Latin-1, as in old benchmarks."""
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
