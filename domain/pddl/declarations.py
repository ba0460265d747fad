"""The declarations of a PDDL file: requirements, types, objects, predicates and functions.

Most are typed lists, ``a b - t  c - (either t u)  d``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from galley.domain.errors import one_edit_away
from galley.domain.pddl.formula import EQUALITY, OBJECT, Variable
from galley.domain.pddl.model import TOTAL_COST, Domain, Function, Object, Predicate, Type
from galley.domain.pddl.syntax import (
    MAX_REPORTED,
    NAME,
    RESERVED,
    Atom,
    Node,
    SList,
    SyntaxFaults,
    read_name,
    short,
)

_VARIABLE = re.compile(r"\?[\w#@.+!$%&~][\w\-#@.+!$%&~*/'|<>=:^]*")
_SPACES = "the '-' before a type needs a space on both sides"
_FUZZY_TYPES = 300  # declared types, up to which undeclared ones are checked for misspellings
_MAX_TYPE_DEPTH = 100  # of the hierarchy; sets of supertypes would fill the memory

# Partly supported requirements are accepted, since files declare more than they use: `:fluents` for
# action costs alone. Unsupported uses are refused where they occur.
SUPPORTED = (
    ":strips",
    ":typing",
    ":equality",
    ":negative-preconditions",
    ":disjunctive-preconditions",
    ":existential-preconditions",
    ":universal-preconditions",
    ":quantified-preconditions",
    ":conditional-effects",
    ":adl",
    ":ucpop",
    ":action-costs",
    ":fluents",
    ":numeric-fluents",
)

UNSUPPORTED = {
    ":object-fluents": "object fluents",
    ":durative-actions": "durative actions",
    ":duration-inequalities": "durative actions",
    ":continuous-effects": "continuous effects",
    ":time": "processes and events",
    ":timed-initial-literals": "timed initial literals",
    ":timed-initial-effects": "timed initial literals",
    ":derived-predicates": "derived predicates",
    ":domain-axioms": "derived predicates",
    ":subgoal-through-axioms": "derived predicates",
    ":preferences": "preferences",
    ":goal-utilities": "preferences",
    ":constraints": "trajectory constraints",
    ":safety-constraints": "trajectory constraints",
    ":probabilistic-effects": "probabilistic effects",
    ":non-deterministic": "nondeterministic effects",
    ":rewards": "rewards",
    ":mdp": "probabilistic effects and rewards",
    ":hierarchy": "task networks",
    ":hierarchie": "task networks",
    ":method-preconditions": "task networks",
    ":action-expansions": "task networks",
    ":foreach-expansions": "task networks",
    ":dag-expansions": "task networks",
    ":expression-evaluation": "expression evaluation",
    ":open-world": "unknown facts",
    ":true-negation": "unknown facts",
    ":multi-agent": "multiple agents",
    ":factored-privacy": "multiple agents",
    ":unfactored-privacy": "multiple agents",
}


class _Typed(NamedTuple):
    """An entry of a typed list: a name or variable, and its types."""

    atom: Atom
    types: tuple[Atom, ...]  # empty if none is given, or, with `either`, if they are malformed
    either: bool = False


def _read_typed_list(
    nodes: Sequence[Node], role: str, faults: SyntaxFaults, *, variables: bool = False
) -> list[_Typed]:
    """The entries of a typed list, in order; malformed ones are reported and skipped.

    Args:
        nodes: the list's items.
        role: what an entry is called in messages.
        faults: collects errors.
        variables: whether entries must be variables (``?x``) rather than names.
    """
    entries: list[_Typed] = []
    untyped: list[Atom] = []  # names before the next dash
    pattern = _VARIABLE if variables else NAME
    nodes = _split_dashes(nodes, faults, variables)
    index = 0
    while index < len(nodes):
        node = nodes[index]
        index += 1
        if isinstance(node, Atom) and node.text == "-":
            if not untyped and variables:
                faults.add(node, f"'-' must follow {role}")
            elif not untyped:  # generators of benchmarks write it where there are no such objects
                faults.warn(node, "no name stands before this '-', so it declares nothing")
            if index == len(nodes):
                faults.add(node, "'-' must be followed by a type")
                return entries + [_Typed(atom, (), either=True) for atom in untyped]
            types, either = _read_types(nodes[index], faults)
            index += 1
            entries += [_Typed(atom, types, either) for atom in untyped]
            untyped = []
        elif isinstance(node, Atom) and pattern.fullmatch(node.text):
            untyped.append(node)
        elif variables:
            faults.add(node, f"expected {role} such as '?x', got '{short(node)}'")
        else:
            read_name(node, role, faults)
    return entries + [_Typed(atom, ()) for atom in untyped]


def _split_dashes(nodes: Sequence[Node], faults: SyntaxFaults, variables: bool) -> Sequence[Node]:
    """Separates dashes that lack a space, as in ``?x -t`` or ``?x- t``, and reports them.

    Uses of the name then give no further errors.
    """
    result: list[Node] = []
    for index, node in enumerate(nodes):
        following = nodes[index + 1] if index + 1 < len(nodes) else None
        glued = (
            isinstance(node, Atom)
            and len(node.text) > 1
            and node.text.endswith("-")
            and isinstance(following, Atom)
            and NAME.fullmatch(following.text)
        )
        role = "a variable such as '?x'" if variables else "a name"
        if isinstance(node, Atom) and node.text.startswith("-") and node.text != "-":
            faults.add(node, f"expected {role}, got '{short(node)}'; {_SPACES}")
            result.append(Atom("-", node.line, node.column))
            result.append(Atom(node.text[1:], node.line, node.column + 1))
        elif glued and isinstance(node, Atom):
            faults.add(node, f"expected {role}, got '{short(node)}'; {_SPACES}")
            result.append(Atom(node.text[:-1], node.line, node.column))
            result.append(Atom("-", node.line, node.column + len(node.text) - 1))
        else:
            result.append(node)
    return result


def _read_types(node: Node, faults: SyntaxFaults) -> tuple[tuple[Atom, ...], bool]:
    either = isinstance(node, SList) and node.head == "either"
    if isinstance(node, SList) and either:
        choices = node.items[1:]
        if not choices:
            faults.add(node, "'either' needs at least one type")
    else:
        choices = (node,)
    named = [each for each in choices if read_name(each, "a type", faults)]
    return tuple(each for each in named if isinstance(each, Atom)), either


def _known_types(
    typed: _Typed, types: Collection[str] | None, faults: SyntaxFaults
) -> tuple[str, ...]:
    """The types of an entry (``object`` by default); undeclared ones are reported.

    Empty if none is known; later checks then let the entry pass, so there is one message only.
    ``types`` is None if the declarations could not be read.
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
    faults: SyntaxFaults,
    *,
    named: bool = True,
    syntax_only: bool = False,
) -> tuple[Variable, ...]:
    """The variables of ``:parameters``, a quantifier, a predicate or a function.

    Args:
        nodes: the list's items.
        domain: declares the types.
        faults: collects errors.
        named: whether names must be unique. In declarations they need not be: benchmarks have
            ``(in ?obj ?obj)``.
        loose: whether to skip the check of types.
    """
    variables: list[Variable] = []
    names: set[str] = set()
    types = None if syntax_only else domain.type_names
    for entry in _read_typed_list(nodes, "a variable", faults, variables=True):
        name = entry.atom.text
        if named and name in names:
            faults.add(entry.atom, f"variable '{short(entry.atom)}' is declared twice in this list")
            continue
        names.add(name)
        variables.append(Variable(name, _known_types(entry, types, faults)))
    return tuple(variables)


def read_requirements(nodes: Sequence[Node], faults: SyntaxFaults) -> tuple[str, ...]:
    """The declared requirements that are supported; others are reported."""
    supported = []
    for node in nodes:
        name = node.text if isinstance(node, Atom) else ""
        if name in SUPPORTED:
            supported.append(name)
        elif name in UNSUPPORTED:
            faults.add(node, f"requirement {name} ({UNSUPPORTED[name]}) is not supported")
        else:
            known = (*SUPPORTED, *UNSUPPORTED)
            faults.add(node, f"unknown requirement '{short(node)}'", name, known)
    return tuple(dict.fromkeys(supported))


def read_types(nodes: Sequence[Node], faults: SyntaxFaults) -> tuple[Type, ...]:
    """The declared types; a type may be declared twice to have two supertypes."""
    before = faults.number
    entries = _read_typed_list(nodes, "a type", faults)
    sound = faults.number == before
    names = {entry.atom.text for entry in entries}
    parents: dict[str, tuple[str, ...]] = {}
    faulty: set[str] = set()  # types whose supertypes are unknown
    for entry in entries:
        name = entry.atom.text
        above = _parents(entry, names, faults)
        if not above:
            faulty.add(name)
        # IPC's storage domain declares a type twice to give it two supertypes.
        parents[name] = tuple(dict.fromkeys(parents.get(name, ()) + above))
    implied = [parent for above in parents.values() for parent in above]
    for parent in implied:
        parents.setdefault(parent, (OBJECT,))
    parents.pop(OBJECT, None)  # `(:types block - object)` and `(:types object)` both occur
    # Where a dash is malformed, what is below what may have been misread.
    faulty |= _note_cycles(entries, parents, faults if sound else SyntaxFaults(faults.file))
    for name in sorted(faulty & parents.keys())[:MAX_REPORTED]:
        # Make it a subtype of every type, so its objects give no further errors.
        parents[name] = (*(each for each in parents if each != name), OBJECT)
    return tuple(Type(name, above) for name, above in parents.items())


def _parents(entry: _Typed, names: set[str], faults: SyntaxFaults) -> tuple[str, ...]:
    """The direct supertypes of an entry; none after reporting an error.

    Benchmarks use supertypes that are declared nowhere else (settlers: ``place vehicle - store``).
    That declares them, unless the name looks like a misspelling.
    """
    if entry.either:
        what = f"type '{short(entry.atom)}' can't have 'either' as its supertype; name one type"
        faults.add(entry.atom, what)
        return ()
    for atom in entry.types:
        if atom.text in names or atom.text == OBJECT:
            continue
        # Slow for many types, but files with undeclared supertypes have few.
        known = {*names, OBJECT} - {entry.atom.text} if len(names) < _FUZZY_TYPES else set[str]()
        # Type names may be similar (`fast-lift - lift`): only edit distance 1 is suspicious.
        if one_edit_away(atom.text, known):
            return _known_types(entry, known, faults)
    return tuple(atom.text for atom in entry.types) or (OBJECT,)


def _note_cycles(
    entries: Sequence[_Typed], parents: Mapping[str, tuple[str, ...]], faults: SyntaxFaults
) -> set[str]:
    """Reports cyclic or too deep type hierarchies; returns the types in or below them.

    Topological sort from the root: the types that remain are in or below a cycle.
    """
    above = {name: [each for each in row if each in parents] for name, row in parents.items()}
    below: dict[str, list[str]] = {}
    for name, row in above.items():
        for each in row:
            below.setdefault(each, []).append(name)
    waiting = {name: len(row) for name, row in above.items()}
    layer = [name for name, count in waiting.items() if count == 0]
    for _ in range(_MAX_TYPE_DEPTH):
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
            what = (
                f"type '{short(entry.atom)}' has more than {_MAX_TYPE_DEPTH} levels of supertypes"
            )
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
            lost = _without_dash(entries, cycle)
            if lost is not None:
                what = f"type '{short(lost)}' is declared already; is a '-' missing before it?"
                faults.add(lost, what)
            else:
                faults.add(first, f"type '{short(first)}' is its own supertype")
    return set(waiting)


def _without_dash(entries: Sequence[_Typed], cycle: Collection[str]) -> Atom | None:
    """The supertype that lost its dash, if that is how a type became its own supertype.

    Then it stands among the subtypes, though it is declared before.
    """
    own = [e.types for e in entries if e.atom.text in {t.text for t in e.types} & set(cycle)]
    declared: set[str] = set()
    for entry in entries:
        if entry.types in own and entry.atom.text in declared:
            return entry.atom
        declared.add(entry.atom.text)
    return None


def read_objects(
    nodes: Sequence[Node],
    domain: Domain,
    constants: Sequence[Object],
    faults: SyntaxFaults,
    *,
    syntax_only: bool = False,
) -> tuple[Object, ...]:
    """The objects (or constants) declared by ``nodes``.

    As in benchmarks, a problem may repeat a constant of its domain with the same type.
    """
    types = None if syntax_only else domain.type_names
    known = {each.name: each for each in constants}
    objects: dict[str, Object] = {}
    for entry in _read_typed_list(nodes, "an object", faults):
        atom = entry.atom
        name = atom.text
        if name in objects:
            line = objects[name].line
            what = f"object '{short(atom)}' is declared twice, first at line {line}"
            if entry.types and objects[name].type not in (each.text for each in entry.types):
                what += "; an object of two types needs a common subtype"
            faults.add(atom, what)
            continue
        if entry.either and len(entry.types) > 1:
            what = f"object '{short(atom)}' must have one type; 'either' is for parameters"
            faults.add(atom, what)
        above = _known_types(entry, types, faults)
        declared = Object(name, above[0] if above else "", faults.file, atom.line, atom.column)
        constant = known.get(name)
        if constant is None:
            objects[name] = declared
        elif declared.type and constant.type != declared.type:
            what = (
                f"object '{short(atom)}' is a constant of type {constant.type}, declared at "
                f"{constant.file}:{constant.line}; its type here is {declared.type}"
            )
            faults.add(atom, what)
    return tuple(objects.values())


def read_predicates(
    nodes: Sequence[Node], domain: Domain, faults: SyntaxFaults
) -> tuple[Predicate, ...]:
    """The declared predicates, without repetition."""
    predicates: dict[str, Predicate] = {}
    lines: dict[str, int] = {}
    for node in nodes:
        if not isinstance(node, SList) or not node.items:
            faults.add(node, f"expected a predicate such as (name ?x - type), got '{short(node)}'")
            continue
        title = node.items[0]
        if isinstance(title, Atom) and title.text == EQUALITY and len(node.items) > 2:
            continue  # implied, but old files declare it
        name = read_name(title, "a predicate's name", faults)
        if name is None:
            continue
        predicate = Predicate(name, read_variables(node.items[1:], domain, faults, named=False))
        if name in predicates:
            what = f"predicate '{short(title)}' is declared twice, first at line {lines[name]}"
            faults.add(title, what)
            continue
        if name in RESERVED:
            faults.add(title, f"'{name}' is a reserved word of PDDL; rename the predicate")
        predicates[name] = predicate
        lines[name] = node.line
    return tuple(predicates.values())


def read_functions(
    nodes: Sequence[Node], domain: Domain, faults: SyntaxFaults
) -> tuple[Function, ...]:
    """The declared functions, ``(f ?x - t) (g) - number``; a type other than number is refused."""
    functions: dict[str, Function] = {}
    index = 0
    while index < len(nodes):
        node = nodes[index]
        index += 1
        if isinstance(node, Atom) and node.text == "-":
            kind = nodes[index] if index < len(nodes) else node
            index += 1
            if kind is node or not functions:
                faults.add(node, "'-' must stand between functions and their type")
            elif not isinstance(kind, Atom) or kind.text != "number":
                what = f"functions of type '{short(kind)}' (object fluents) are not supported; "
                faults.add(kind, what + "only '- number' is")
            continue
        function = _read_function(node, domain, faults)
        if function is not None and function.name in functions:
            faults.add(node, f"function '{function.name}' is declared twice")
        elif function is not None:
            functions[function.name] = function
    return tuple(functions.values())


def _read_function(node: Node, domain: Domain, faults: SyntaxFaults) -> Function | None:
    if not isinstance(node, SList) or not node.items:
        faults.add(node, f"expected a function such as (name ?x - type), got '{short(node)}'")
        return None
    name = read_name(node.items[0], "a function's name", faults)
    if name is None:
        return None
    parameters = read_variables(node.items[1:], domain, faults, named=False)
    if name == TOTAL_COST and parameters:
        faults.add(node, f"function '{TOTAL_COST}' takes no parameters")
        parameters = ()
    return Function(name, parameters)
