"""What every part of a PDDL file is made of: sections, names and typed lists."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from galley.domain.errors import BadInput, InputError, did_you_mean, read_text
from galley.domain.pddl import OBJECT
from galley.domain.sexpr import Atom, Node, SList, parse_sexprs

_NAME = re.compile(r"\w[\w-]*")
_VARIABLE = re.compile(r"\?\w[\w-]*")


class Faults:
    """The faults found so far in one file: a reader adds to it and goes on, to find the rest."""

    def __init__(self, file: str) -> None:
        self.file = file
        self._errors: list[InputError] = []

    def add(self, where: Node, what: str) -> None:
        """Notes a fault at ``where``."""
        self._errors.append(InputError(self.file, where.line, where.column, what))

    def raise_if_any(self) -> None:
        """Raises everything noted, in the order of the file.

        Raises:
            BadInput: at least one fault was noted.
        """
        if self._errors:
            # Sections are read in the order of dependence, not of the file.
            unique = dict.fromkeys(self._errors)
            raise BadInput(sorted(unique, key=lambda error: (error.line or 0, error.column or 0)))


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


class Typed(NamedTuple):
    """An entry of a typed list: a name or variable, and the types after its dash."""

    atom: Atom
    types: tuple[Atom, ...]  # empty where the list gives none
    either: bool = False


def read_definition(
    path: str | Path,
    kind: str,
    known: Sequence[str],
    refused: Sequence[tuple[str, str]],
    faults: Faults,
) -> Definition:
    """Takes a file apart into its sections.

    Args:
        path: the file.
        kind: ``domain`` or ``problem``.
        known: the sections to accept; only ``:action`` may come more than once.
        refused: sections of PDDL that are not supported, each with what it is for.
        faults: where unknown, refused and repeated sections are noted.

    Raises:
        BadInput: the file can't be read, or is not a ``define`` of the right kind at all.
    """
    forms = parse_sexprs(read_text(path), faults.file)
    shape = f"(define ({kind} NAME) ...)"
    if not forms:
        raise BadInput.one(faults.file, f"the file is empty; expected {shape}", 1, 1)
    define = forms[0]
    if not isinstance(define, SList) or define.head != "define":
        raise BadInput.one(faults.file, f"expected {shape}", define.line, define.column)
    for extra in forms[1:]:
        faults.add(extra, "nothing may follow the (define ...); a parenthesis closes it too early?")
    name = _read_header(define, kind, shape, faults)
    sections: list[Section] = []
    for node in define.items[2:]:
        section = _read_section(node, sections, known, refused, faults)
        if section is not None:
            sections.append(section)
    return Definition(define, name, tuple(sections))


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
    before: Sequence[Section],
    known: Sequence[str],
    refused: Sequence[tuple[str, str]],
    faults: Faults,
) -> Section | None:
    if not isinstance(node, SList) or not node.head.startswith(":"):
        faults.add(node, f"expected a section such as ({known[0]} ...), got '{_short(node)}'")
        return None
    keyword = node.head
    if keyword in dict(refused):
        faults.add(node, f"{keyword} ({dict(refused)[keyword]}) is not supported yet")
        return None
    if keyword not in known:
        faults.add(node, f"unknown section {keyword}{did_you_mean(keyword, list(known))}")
        return None
    earlier = next((each for each in before if each.keyword == keyword), None)
    if earlier is not None and keyword != ":action":
        faults.add(node, f"a second {keyword}; the first is at line {earlier.node.line}")
        return None
    return Section(keyword, node, node.items[1:])


def read_name(node: Node, role: str, faults: Faults) -> str | None:
    """The name that ``node`` is, or None after noting why it is not one."""
    if isinstance(node, Atom) and _NAME.fullmatch(node.text):
        return node.text
    hint = ""
    if isinstance(node, Atom) and node.text.startswith("?"):
        hint = "; a variable can't stand here"
    elif isinstance(node, Atom) and node.text.startswith("-"):
        hint = "; the '-' before a type needs a space on both sides"
    faults.add(node, f"expected {role}, got '{_short(node)}'{hint}")
    return None


def read_typed_list(
    nodes: Sequence[Node], role: str, faults: Faults, *, variables: bool = False
) -> list[Typed]:
    """A typed list, ``a b - t  c - (either t u)  d``: one entry a name, in order.

    Args:
        nodes: the list's items.
        role: what an entry is called in messages.
        faults: where whatever is out of place is noted; the rest is returned.
        variables: whether entries must be variables (``?x``) or names.
    """
    entries: list[Typed] = []
    waiting: list[Atom] = []  # names whose dash has not come yet
    index = 0
    while index < len(nodes):
        node = nodes[index]
        index += 1
        if isinstance(node, Atom) and node.text == "-":
            if not waiting:
                faults.add(node, f"'-' must follow {role}")
            if index == len(nodes):
                faults.add(node, "'-' must be followed by a type")
                break
            types, either = _read_types(nodes[index], faults)
            index += 1
            entries += [Typed(atom, types, either) for atom in waiting]
            waiting = []
        elif not variables:
            if read_name(node, role, faults) and isinstance(node, Atom):
                waiting.append(node)
        elif isinstance(node, Atom) and _VARIABLE.fullmatch(node.text):
            waiting.append(node)
        else:
            faults.add(node, f"expected {role} such as '?x', got '{_short(node)}'")
    return entries + [Typed(atom, ()) for atom in waiting]


def _read_types(node: Node, faults: Faults) -> tuple[tuple[Atom, ...], bool]:
    either = isinstance(node, SList) and node.head == "either"
    if isinstance(node, SList) and either:
        choices = node.items[1:]
        if not choices:
            faults.add(node, "'either' needs at least one type")
    else:
        choices = (node,)
    named = [each for each in choices if read_name(each, "a type", faults)]
    return tuple(each for each in named if isinstance(each, Atom)), either


def known_types(typed: Typed, types: Sequence[str], faults: Faults) -> tuple[str, ...]:
    """The types of an entry (``object`` by default), after noting those that are not declared.

    Empty where none is known; checks then let the entry pass, so one slip gives one message.
    """
    if not typed.types and not typed.either:
        return (OBJECT,)
    for atom in typed.types:
        if atom.text != OBJECT and atom.text not in types:
            hint = did_you_mean(atom.text, list(types))
            faults.add(atom, f"type '{atom.text}' is not declared{hint}")
    return tuple(dict.fromkeys(a.text for a in typed.types if a.text in types or a.text == OBJECT))


def _short(node: Node) -> str:
    text = str(node)
    return text if len(text) <= 40 else text[:37] + "..."
