"""A PDDL file taken apart into sections, and the names in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from galley.domain.errors import BadInput, closest, read_bytes
from galley.domain.pddl_faults import Faults, short
from galley.domain.sexpr import Atom, Node, SList, parse_sexprs

__all__ = ["Definition", "Faults", "Section", "read_definition", "read_name", "short"]

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
