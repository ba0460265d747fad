"""A PDDL file taken apart into sections, the names in it, and the faults found so far."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from galley.domain.errors import BadInput, InputError, closest, did_you_mean
from galley.domain.files import read_bytes
from galley.domain.pddl.sexpr import Atom, Node, SList, parse_sexprs

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
    faults: Faults,
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


def _read_header(define: SList, kind: str, shape: str, faults: Faults) -> str:
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
    faults: Faults,
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


def read_name(node: Node, role: str, faults: Faults) -> str | None:
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
