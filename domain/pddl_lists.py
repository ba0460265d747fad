"""Typed lists, ``a b - t  c - (either t u)  d``: types, objects, variables."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from galley.domain.pddl import OBJECT, Domain, Variable
from galley.domain.pddl_faults import Faults, short
from galley.domain.pddl_syntax import NAME, read_name
from galley.domain.sexpr import Atom, Node, SList

_VARIABLE = re.compile(r"\?[\w#@.+!$%&~][\w\-#@.+!$%&~*/'|<>=:^]*")
_SPACES = "the '-' before a type needs a space on both sides"


class Typed(NamedTuple):
    """An entry of a typed list: a name or variable, and the types after its dash."""

    atom: Atom
    types: tuple[Atom, ...]  # empty where the list gives none; with `either`: unknown
    either: bool = False


def read_typed_list(
    nodes: Sequence[Node], role: str, faults: Faults, *, variables: bool = False
) -> list[Typed]:
    """A typed list: one entry a name, in order.

    Args:
        nodes: the list's items.
        role: what an entry is called in messages.
        faults: where whatever is out of place is noted; the rest is returned.
        variables: whether entries must be variables (``?x``) or names.
    """
    entries: list[Typed] = []
    waiting: list[Atom] = []  # names whose dash has not come yet
    pattern = _VARIABLE if variables else NAME
    nodes = _apart(nodes, faults, variables)
    index = 0
    while index < len(nodes):
        node = nodes[index]
        index += 1
        if isinstance(node, Atom) and node.text == "-":
            if not waiting:
                faults.add(node, f"'-' must follow {role}")
            if index == len(nodes):
                faults.add(node, "'-' must be followed by a type")
                return entries + [Typed(atom, (), either=True) for atom in waiting]
            types, either = _read_types(nodes[index], faults)
            index += 1
            entries += [Typed(atom, types, either) for atom in waiting]
            waiting = []
        elif isinstance(node, Atom) and pattern.fullmatch(node.text):
            waiting.append(node)
        elif variables:
            faults.add(node, f"expected {role} such as '?x', got '{short(node)}'")
        else:
            read_name(node, role, faults)
    return entries + [Typed(atom, ()) for atom in waiting]


def _apart(nodes: Sequence[Node], faults: Faults, variables: bool) -> Sequence[Node]:
    """The list as it was meant where a dash lacks a space: ``?x -t``, ``?x- t``.

    So the slip gives one message, and what uses the variable none.
    """
    result: list[Node] = []
    for index, node in enumerate(nodes):
        following = nodes[index + 1] if index + 1 < len(nodes) else None
        glued = (
            variables
            and isinstance(node, Atom)
            and len(node.text) > 1
            and node.text.endswith("-")
            and isinstance(following, Atom)
            and NAME.fullmatch(following.text)
        )
        if isinstance(node, Atom) and node.text.startswith("-") and node.text != "-":
            role = "a variable such as '?x'" if variables else "a name"
            faults.add(node, f"expected {role}, got '{short(node)}'; {_SPACES}")
            result.append(Atom("-", node.line, node.column))
            result.append(Atom(node.text[1:], node.line, node.column + 1))
        elif glued and isinstance(node, Atom):
            faults.add(node, f"expected a variable such as '?x', got '{short(node)}'; {_SPACES}")
            result.append(Atom(node.text[:-1], node.line, node.column))
            result.append(Atom("-", node.line, node.column + len(node.text) - 1))
        else:
            result.append(node)
    return result


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


def known_types(typed: Typed, types: Collection[str] | None, faults: Faults) -> tuple[str, ...]:
    """The types of an entry (``object`` by default), after noting those that are not declared.

    Empty where none is known; checks then let the entry pass, so one slip gives one message.
    ``types`` is None where it can't be told what is declared.
    """
    if not typed.types and not typed.either:
        return (OBJECT,)
    if types is None:
        return ()
    for atom in typed.types:
        if atom.text != OBJECT and atom.text not in types:
            faults.add(atom, f"type '{short(atom)}' is not declared", atom.text, types)
    return tuple(dict.fromkeys(a.text for a in typed.types if a.text in types or a.text == OBJECT))


def read_variables(
    nodes: Sequence[Node],
    domain: Domain,
    faults: Faults,
    *,
    named: bool = True,
    loose: bool = False,
) -> tuple[Variable, ...]:
    """The variables of ``:parameters``, a quantifier, a predicate or a function.

    Args:
        nodes: the list's items.
        domain: its types are those known.
        faults: where faults are noted.
        named: whether the names matter. In a declaration they don't, and benchmarks declare
            ``(in ?obj ?obj)``.
        loose: whether types go unchecked.
    """
    found: list[Variable] = []
    seen: set[str] = set()
    types = None if loose else domain.type_names
    for entry in read_typed_list(nodes, "a variable", faults, variables=True):
        name = entry.atom.text
        if named and name in seen:
            faults.add(entry.atom, f"variable '{short(entry.atom)}' is declared twice in this list")
            continue
        seen.add(name)
        found.append(Variable(name, known_types(entry, types, faults)))
    return tuple(found)
