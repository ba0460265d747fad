"""The declarations of a PDDL file: types, objects, predicates and functions.

Most are typed lists, ``a b - t  c - (either t u)  d``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

from galley.domain.pddl.formula import EQUALITY, OBJECT, Variable
from galley.domain.pddl.model import TOTAL_COST, Domain, Function, Object, Predicate, Type
from galley.domain.pddl.syntax import (
    NAME,
    RESERVED,
    VARIABLE,
    Atom,
    Node,
    SList,
    SyntaxFaults,
    read_name,
    short,
)


class _Typed(NamedTuple):
    """An entry of a typed list: a name or variable, and its types, ``object`` by default."""

    atom: Atom
    types: tuple[Atom, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its types, each once."""
        return tuple(dict.fromkeys(each.text for each in self.types)) or (OBJECT,)


def _read_typed_list(
    nodes: Sequence[Node], role: str, faults: SyntaxFaults, pattern: re.Pattern[str] = NAME
) -> list[_Typed]:
    """The entries of a typed list, in order.

    Args:
        nodes: the list's items.
        role: what an entry is called in messages.
        faults: collects errors.
        pattern: the form of an entry's name.

    Raises:
        BadInput: an entry is malformed. The exception has all errors so far; reading on would only
            add errors that follow from the missing name.
    """
    entries: list[_Typed] = []
    untyped: list[Atom] = []  # names before the next dash
    rest = iter(nodes)
    for node in rest:
        if isinstance(node, Atom) and node.text == "-":
            # Some benchmark generators write a dash and a type even if there are no such objects.
            kind = next(rest, None)
            if kind is None:
                faults.stop(node, "'-' must be followed by a type")
            types = _read_types(kind, faults)
            entries += [_Typed(atom, types) for atom in untyped]
            untyped = []
        elif read_name(node, role, faults, pattern) and isinstance(node, Atom):
            untyped.append(node)
        else:
            faults.raise_if_any()
    return entries + [_Typed(atom, ()) for atom in untyped]


def _read_types(node: Node, faults: SyntaxFaults) -> tuple[Atom, ...]:
    """The types after a dash: one, or several in ``(either ...)``."""
    choices: tuple[Node, ...] = (node,)
    if isinstance(node, SList) and node.head == "either":
        choices = node.items[1:]
        if not choices:
            faults.add(node, "'either' needs at least one type")
    named = [each for each in choices if read_name(each, "a type", faults)]
    return tuple(each for each in named if isinstance(each, Atom))


def _known_types(typed: _Typed, known: Collection[str], faults: SyntaxFaults) -> tuple[str, ...]:
    """The types of an entry; after reporting an undeclared type none, so that no more follow."""
    unknown = [each for each in typed.types if each.text != OBJECT and each.text not in known]
    for atom in unknown:
        faults.add(atom, f"type '{short(atom)}' is not declared", atom.text, known)
    return () if unknown else typed.names


def read_variables(
    nodes: Sequence[Node], domain: Domain, faults: SyntaxFaults, *, named: bool = True
) -> tuple[Variable, ...]:
    """The variables of ``:parameters``, a quantifier, a predicate or a function.

    Args:
        nodes: the list's items.
        domain: declares the types.
        faults: collects errors.
        named: whether names must be unique. In declarations they need not be: benchmarks have
            ``(in ?obj ?obj)``.
    """
    variables: list[Variable] = []
    names: set[str] = set()
    for entry in _read_typed_list(nodes, "a variable such as '?x'", faults, VARIABLE):
        name = entry.atom.text
        if named and name in names:
            faults.add(entry.atom, f"variable '{short(entry.atom)}' is declared twice in this list")
        names.add(name)
        variables.append(Variable(name, _known_types(entry, domain.type_names, faults)))
    return tuple(variables)


def read_types(nodes: Sequence[Node], faults: SyntaxFaults) -> tuple[Type, ...]:
    """The declared types; a type may be declared twice to have two supertypes.

    A supertype that has no declaration of its own counts as declared, as in benchmarks (settlers:
    ``place vehicle - store``).
    """
    entries = _read_typed_list(nodes, "a type", faults)
    names = {entry.atom.text: entry.atom for entry in entries}
    parents: dict[str, tuple[str, ...]] = {}
    for entry in entries:
        name = entry.atom.text
        if len(entry.names) > 1:
            what = f"type '{short(entry.atom)}' can't have 'either' as its supertype; name one type"
            faults.add(entry.atom, what)
        # IPC's storage domain declares a type twice to give it two supertypes.
        parents[name] = tuple(dict.fromkeys(parents.get(name, ()) + entry.names))
    for parent in [each for above in parents.values() for each in above]:
        parents.setdefault(parent, (OBJECT,))
    parents.pop(OBJECT, None)  # `(:types block - object)` and `(:types object)` both occur
    try:
        TopologicalSorter(parents).prepare()
    except CycleError as error:
        first = min((names[each] for each in error.args[1]), key=lambda atom: atom[1:])
        faults.add(first, f"type '{short(first)}' is its own supertype")
    return tuple(Type(name, above) for name, above in parents.items())


def read_objects(
    nodes: Sequence[Node], domain: Domain, constants: Sequence[Object], faults: SyntaxFaults
) -> tuple[Object, ...]:
    """The objects (or constants) declared by ``nodes``.

    As in benchmarks, a problem may repeat a constant of its domain with the same type.
    """
    known = {each.name: each for each in constants}
    objects: dict[str, Object] = {}
    for entry in _read_typed_list(nodes, "an object", faults):
        atom = entry.atom
        _known_types(entry, domain.type_names, faults)
        declared = Object(atom.text, entry.names[0], faults.file, atom.line, atom.column)
        constant = known.get(atom.text)
        if atom.text in objects:
            first = objects[atom.text].line
            faults.add(atom, f"object '{short(atom)}' is declared twice, first at line {first}")
        elif len(entry.names) > 1:
            what = f"object '{short(atom)}' must have one type; 'either' is for parameters"
            faults.add(atom, what)
        elif constant is None:
            objects[atom.text] = declared
        elif constant.type != declared.type:
            what = (
                f"object '{short(atom)}' is a constant of type {constant.type}, declared at "
                f"{constant.file}:{constant.line}; its type here is {declared.type}"
            )
            faults.add(atom, what)
    return tuple(objects.values())


def read_predicates(
    nodes: Sequence[Node], domain: Domain, faults: SyntaxFaults
) -> tuple[Predicate, ...]:
    """The predicates that a domain declares, in the order of the file."""
    predicates: dict[str, Predicate] = {}
    for node in nodes:
        if not isinstance(node, SList) or not node.items:
            faults.add(node, f"expected a predicate such as (name ?x - type), got '{short(node)}'")
            continue
        title = node.items[0]
        if node.head == EQUALITY:
            continue  # implied, but old files declare it
        name = read_name(title, "a predicate's name", faults) or ""
        if name in predicates:
            faults.add(title, f"predicate '{short(title)}' is declared twice")
        if name in RESERVED:
            faults.add(title, f"'{name}' is a reserved word of PDDL; rename the predicate")
        parameters = read_variables(node.items[1:], domain, faults, named=False)
        predicates[name] = Predicate(name, parameters)
    return tuple(predicates.values())


def read_functions(
    nodes: Sequence[Node], domain: Domain, faults: SyntaxFaults
) -> tuple[Function, ...]:
    """The functions that a domain declares: ``(f ?x - t) (g) - number``.

    Any type other than ``number`` is an error.
    """
    functions: dict[str, Function] = {}
    rest = iter(nodes)
    for node in rest:
        if isinstance(node, Atom) and node.text == "-":
            kind = next(rest, node)
            if str(kind) != "number":
                faults.add(kind, f"functions must be '- number', got '{short(kind)}'")
            continue
        if not isinstance(node, SList) or not node.items:
            faults.add(node, f"expected a function such as (name ?x - type), got '{short(node)}'")
            continue
        name = read_name(node.items[0], "a function's name", faults) or ""
        if name in functions:
            faults.add(node, f"function '{name}' is declared twice")
        parameters = read_variables(node.items[1:], domain, faults, named=False)
        if name == TOTAL_COST and parameters:
            faults.add(node, f"function '{TOTAL_COST}' takes no parameters")
        functions[name] = Function(name, parameters)
    return tuple(functions.values())
