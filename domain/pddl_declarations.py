"""The declarations of a PDDL file: types, objects and predicates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from galley.domain.errors import one_slip_away
from galley.domain.pddl import EQUALITY, OBJECT, Domain, Object, Predicate, Type
from galley.domain.pddl_faults import MAX_REPORTED, Faults, short
from galley.domain.pddl_formula import RESERVED
from galley.domain.pddl_lists import Typed, known_types, read_typed_list, read_variables
from galley.domain.pddl_syntax import read_name
from galley.domain.sexpr import Atom, Node, SList

_MANY = 300  # declared types
_DEEPEST = 100  # hierarchy; sets of supertypes would fill the memory


def read_types(nodes: Sequence[Node], faults: Faults) -> tuple[Type, ...]:
    """The declared types; a type may come twice to lie under two others."""
    entries = read_typed_list(nodes, "a type", faults)
    names = {entry.atom.text for entry in entries}
    parents: dict[str, tuple[str, ...]] = {}
    unsure: set[str] = set()  # types with faults
    for entry in entries:
        name = entry.atom.text
        above = _parents(entry, names, faults)
        if not above:
            unsure.add(name)
        # A type may be declared again to lie under a second type (IPC's storage domain does so).
        parents[name] = tuple(dict.fromkeys(parents.get(name, ()) + above))
    implied = [parent for above in parents.values() for parent in above]
    for parent in implied:
        parents.setdefault(parent, (OBJECT,))
    parents.pop(OBJECT, None)  # `(:types block - object)` and `(:types object)` both occur
    unsure |= _note_cycles(entries, parents, faults)
    for name in sorted(unsure & parents.keys())[:MAX_REPORTED]:
        # It could lie under any other: whether a thing of it fits is then not asked.
        parents[name] = (*(each for each in parents if each != name), OBJECT)
    return tuple(Type(name, above) for name, above in parents.items())


def _parents(entry: Typed, names: set[str], faults: Faults) -> tuple[str, ...]:
    """The types above an entry; none after noting a fault.

    Benchmarks name types that are declared nowhere else (settlers: ``place vehicle - store``).
    That declares them, unless the name looks like a slip.
    """
    if entry.either:
        what = f"type '{short(entry.atom)}' can't lie under 'either'; name one type"
        faults.add(entry.atom, what)
        return ()
    for atom in entry.types:
        if atom.text in names or atom.text == OBJECT:
            continue
        # Among many types this takes long; files that imply any declare few.
        known = {*names, OBJECT} - {entry.atom.text} if len(names) < _MANY else set[str]()
        # Names may resemble each other (`fast-lift - lift`): only one slip makes it one.
        if one_slip_away(atom.text, known):
            return known_types(entry, known, faults)
    return tuple(atom.text for atom in entry.types) or (OBJECT,)


def _note_cycles(
    entries: Sequence[Typed], parents: Mapping[str, tuple[str, ...]], faults: Faults
) -> set[str]:
    """Notes the types that lie under themselves, or too deep; the types that lie in or under such.

    Types are taken away from the top down; those that remain have one above that remains.
    """
    above = {name: [each for each in row if each in parents] for name, row in parents.items()}
    below: dict[str, list[str]] = {}
    for name, row in above.items():
        for each in row:
            below.setdefault(each, []).append(name)
    waiting = {name: len(row) for name, row in above.items()}
    layer = [name for name, count in waiting.items() if count == 0]
    for _ in range(_DEEPEST):
        following: list[str] = []
        for name in layer:
            del waiting[name]
            for each in below.get(name, ()):
                waiting[each] -= 1
                if waiting[each] == 0:
                    following.append(each)
        layer = following
    for entry in entries:
        if entry.atom.text in layer[:1]:
            what = f"type '{short(entry.atom)}' lies under more than {_DEEPEST} others"
            faults.add(entry.atom, what)
            return set(waiting)
    walks: dict[str, int] = {}
    for number, entry in enumerate(entries):
        name = entry.atom.text
        while name in waiting and name not in walks:
            walks[name] = number
            name = next(each for each in above[name] if each in waiting)
        if name in waiting and walks[name] == number:
            cycle = {name}
            while (name := next(each for each in above[name] if each in waiting)) not in cycle:
                cycle.add(name)
            first = next(each.atom for each in entries if each.atom.text in cycle)
            faults.add(first, f"type '{short(first)}' lies under itself")
    return set(waiting)


def read_objects(
    nodes: Sequence[Node],
    domain: Domain,
    constants: Sequence[Object],
    faults: Faults,
    *,
    loose: bool = False,
) -> tuple[Object, ...]:
    """The objects (or constants) declared by ``nodes``.

    A problem may declare a constant of its domain once more, with the same type; benchmarks do.
    """
    types = None if loose else domain.type_names
    known = {each.name: each for each in constants}
    objects: dict[str, Object] = {}
    for entry in read_typed_list(nodes, "an object", faults):
        atom = entry.atom
        name = atom.text
        if name in objects:
            line = objects[name].line
            what = f"object '{short(atom)}' is declared twice, first at line {line}"
            if entry.types and objects[name].type not in (each.text for each in entry.types):
                what += "; one that is of two types needs a type under both"
            faults.add(atom, what)
            continue
        if entry.either and len(entry.types) > 1:
            what = f"object '{short(atom)}' must have one type; 'either' is for parameters"
            faults.add(atom, what)
        above = known_types(entry, types, faults)
        thing = Object(name, above[0] if above else "", faults.file, atom.line, atom.column)
        constant = known.get(name)
        if constant is None:
            objects[name] = thing
        elif thing.type and constant.type != thing.type:
            what = (
                f"object '{short(atom)}' is a constant of type {constant.type}, declared at "
                f"{constant.file}:{constant.line}; its type here is {thing.type}"
            )
            faults.add(atom, what)
    return tuple(objects.values())


def read_predicates(nodes: Sequence[Node], domain: Domain, faults: Faults) -> tuple[Predicate, ...]:
    """The declared predicates."""
    found: dict[str, Predicate] = {}
    lines: dict[str, int] = {}
    for node in nodes:
        if not isinstance(node, SList) or not node.items:
            faults.add(node, f"expected a predicate such as (name ?x - type), got '{short(node)}'")
            continue
        title = node.items[0]
        if isinstance(title, Atom) and title.text == EQUALITY and len(node.items) > 2:
            continue  # declared by old files, though implied
        name = read_name(title, "a predicate's name", faults)
        if name is None:
            continue
        predicate = Predicate(name, read_variables(node.items[1:], domain, faults, named=False))
        if name in found:
            what = f"predicate '{short(title)}' is declared twice, first at line {lines[name]}"
            faults.add(title, what)
            continue
        if name in RESERVED:
            faults.add(title, f"'{name}' is a word of PDDL; call the predicate something else")
        found[name] = predicate
        lines[name] = node.line
    return tuple(found.values())
