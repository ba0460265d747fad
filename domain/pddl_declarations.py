"""The declarations of a PDDL file: requirements, types, objects, variables and predicates."""

from __future__ import annotations

from collections.abc import Sequence

from galley.domain.errors import did_you_mean
from galley.domain.pddl import OBJECT, Domain, Object, Predicate, Type, Variable
from galley.domain.pddl_syntax import Faults, known_types, read_name, read_typed_list
from galley.domain.sexpr import Atom, Node, SList

SUPPORTED = (":strips", ":typing", ":equality", ":negative-preconditions")

_UNSUPPORTED = (
    ":adl",
    ":disjunctive-preconditions",
    ":existential-preconditions",
    ":universal-preconditions",
    ":quantified-preconditions",
    ":conditional-effects",
    ":action-costs",
    ":fluents",
    ":numeric-fluents",
    ":object-fluents",
    ":durative-actions",
    ":duration-inequalities",
    ":continuous-effects",
    ":derived-predicates",
    ":timed-initial-literals",
    ":preferences",
    ":constraints",
    ":domain-axioms",
)


def read_requirements(nodes: Sequence[Node], faults: Faults) -> tuple[str, ...]:
    """The supported requirements that are declared; others are noted."""
    found = []
    for node in nodes:
        if not isinstance(node, Atom) or node.text not in SUPPORTED + _UNSUPPORTED:
            hint = did_you_mean(str(node), SUPPORTED)
            faults.add(node, f"unknown requirement '{node}'{hint}")
        elif node.text in _UNSUPPORTED:
            known = ", ".join(SUPPORTED)
            faults.add(node, f"requirement {node} is not supported yet (supported: {known})")
        else:
            found.append(node.text)
    return tuple(found)


def read_types(nodes: Sequence[Node], faults: Faults) -> tuple[Type, ...]:
    """The declared types; a type may come twice to lie under two others."""
    entries = read_typed_list(nodes, "a type", faults)
    names = [entry.atom.text for entry in entries]
    parents: dict[str, tuple[str, ...]] = {}
    for entry in entries:
        if entry.either:
            faults.add(entry.atom, f"type '{entry.atom}' can't lie under 'either'; name one type")
            continue
        # A type may be declared again to lie under a second type (IPC's storage domain does so).
        above = parents.get(entry.atom.text, ()) + known_types(entry, names, faults)
        parents[entry.atom.text] = tuple(dict.fromkeys(above))
    parents.pop(OBJECT, None)  # `(:types block - object)` and `(:types object)` both occur
    types = tuple(Type(name, above) for name, above in parents.items())
    scratch = Domain("", faults.file, types=types)
    for entry in entries:
        above = parents.get(entry.atom.text, ())
        if any(entry.atom.text in scratch.supertypes(each) for each in above):
            faults.add(entry.atom, f"type '{entry.atom}' lies under itself")
    return types


def read_objects(
    nodes: Sequence[Node], domain: Domain, taken: Sequence[Object], faults: Faults
) -> tuple[Object, ...]:
    """The objects (or constants) declared by ``nodes``, whose names must not be in ``taken``."""
    names = [each.name for each in domain.types]
    objects: dict[str, Object] = {each.name: each for each in taken}
    for entry in read_typed_list(nodes, "an object", faults):
        atom = entry.atom
        if atom.text in objects:
            first = objects[atom.text]
            where = f"{'' if first.file == faults.file else first.file + ':'}{first.line}"
            faults.add(atom, f"object '{atom}' is declared twice, first at line {where}")
            continue
        if entry.either and len(entry.types) > 1:
            faults.add(atom, f"object '{atom}' must have one type; 'either' is for parameters")
        known = known_types(entry, names, faults)
        objects[atom.text] = Object(
            atom.text, known[0] if known else "", faults.file, atom.line, atom.column
        )
    return tuple(objects.values())[len(taken) :]


def read_variables(nodes: Sequence[Node], domain: Domain, faults: Faults) -> tuple[Variable, ...]:
    """The variables of a predicate or of ``:parameters``."""
    names = [each.name for each in domain.types]
    found: dict[str, Variable] = {}
    entries = read_typed_list(nodes, "a variable", faults, variables=True)
    for entry in entries:
        if entry.atom.text in found:
            faults.add(entry.atom, f"variable '{entry.atom}' is declared twice in this list")
            continue
        types = known_types(entry, names, faults)
        found[entry.atom.text] = Variable(entry.atom.text, types)
    return tuple(found.values())


def read_predicates(nodes: Sequence[Node], domain: Domain, faults: Faults) -> tuple[Predicate, ...]:
    """The declared predicates."""
    found: dict[str, Predicate] = {}
    lines: dict[str, int] = {}
    for node in nodes:
        if not isinstance(node, SList) or not node.items:
            faults.add(node, f"expected a predicate such as (name ?x - type), got '{node}'")
            continue
        name = read_name(node.items[0], "a predicate's name", faults)
        if name is None:
            continue
        if name in found:
            what = f"predicate '{name}' is declared twice, first at line {lines[name]}"
            faults.add(node.items[0], what)
            continue
        found[name] = Predicate(name, read_variables(node.items[1:], domain, faults))
        lines[name] = node.line
    return tuple(found.values())
