"""Conditions, effects and facts of PDDL, checked against what the domain declares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from galley.domain.errors import did_you_mean
from galley.domain.pddl import EQUALITY, Domain, Literal, Object
from galley.domain.pddl_syntax import Faults
from galley.domain.sexpr import Atom, Node, SList

# Words of PDDL that mean something this reader can't express; a predicate may not be called so.
_REFUSED = {
    "or": "disjunction",
    "imply": "implication",
    "forall": "universal quantification",
    "exists": "existential quantification",
    "when": "conditional effect",
    "preference": "preference",
    "increase": "action cost or numeric fluent",
    "decrease": "numeric fluent",
    "assign": "numeric fluent",
    "scale-up": "numeric fluent",
    "scale-down": "numeric fluent",
    "<": "numeric fluent",
    ">": "numeric fluent",
    "<=": "numeric fluent",
    ">=": "numeric fluent",
}


@dataclass(frozen=True)
class Scope:
    """What a formula may speak of.

    Attributes:
        domain: the declared types and predicates.
        types: for each variable and object in sight, its types (empty: unknown, already reported).
        place: where the formula stands, for messages (``:init``).
        variables: whether variables may occur at all.
        faults: where to note what is wrong.
    """

    domain: Domain
    types: Mapping[str, tuple[str, ...]]
    place: str
    variables: bool
    faults: Faults


def object_types(objects: tuple[Object, ...]) -> dict[str, tuple[str, ...]]:
    """The part of a scope that objects make up."""
    return {each.name: (each.type,) if each.type else () for each in objects}


def read_condition(node: Node, scope: Scope) -> tuple[Literal, ...]:
    """A conjunction of literals, flattened; ``()`` and ``(and)`` are empty."""
    literals = (read_literal(each, scope) for each in _conjuncts(node))
    return tuple(dict.fromkeys(each for each in literals if each is not None))


def read_effect(node: Node, scope: Scope) -> tuple[Literal, ...]:
    """A conjunction of facts to add and, under ``not``, to delete."""
    literals = read_condition(node, scope)
    for literal in literals:
        if literal.predicate == EQUALITY:
            where = Atom(EQUALITY, literal.line, literal.column)
            scope.faults.add(where, "an effect can't make objects equal")
    return literals


def _conjuncts(node: Node) -> Iterator[Node]:
    if isinstance(node, SList) and not node.items:
        return
    if isinstance(node, SList) and node.head == "and":
        for each in node.items[1:]:
            yield from _conjuncts(each)
    else:
        yield node


def read_literal(node: Node, scope: Scope) -> Literal | None:
    """A fact or the negation of one; None after noting what is wrong with it."""
    if not isinstance(node, SList) or node.head != "not":
        return _read_atom(node, scope, positive=True)
    inner = node.items[1] if len(node.items) == 2 else None
    if inner is None:
        scope.faults.add(node, "'not' takes exactly one fact")
        return None
    if isinstance(inner, SList) and inner.head in ("and", "not"):
        scope.faults.add(inner, f"'not' of '{inner.head}' is not supported yet; negate facts only")
        return None
    return _read_atom(inner, scope, positive=False)


def _read_atom(node: Node, scope: Scope, *, positive: bool) -> Literal | None:
    if not isinstance(node, SList) or not node.head:
        scope.faults.add(node, f"expected a fact such as (predicate ...), got '{node}'")
        return None
    name, args = node.items[0], node.items[1:]
    if node.head in _REFUSED:
        scope.faults.add(node, f"'{node.head}' ({_REFUSED[node.head]}) is not supported yet")
        return None
    if node.head == EQUALITY and any(isinstance(arg, SList) for arg in args):
        scope.faults.add(node, "'=' of a function (numeric fluent) is not supported yet")
        return None
    if any(isinstance(arg, SList) for arg in args):
        nested = next(arg for arg in args if isinstance(arg, SList))
        scope.faults.add(nested, f"an argument of '{node.head}' must be a name, got '{nested}'")
        return None
    words = tuple(arg for arg in args if isinstance(arg, Atom))
    fits = _check_predicate(node.head, name, words, scope)
    strangers = [word for word in words if not _check_argument(word, scope)]
    if strangers or not fits:
        return None
    _check_types(node.head, words, scope)
    return Literal(node.head, tuple(w.text for w in words), positive, name.line, name.column)


def _check_predicate(head: str, where: Node, words: tuple[Atom, ...], scope: Scope) -> bool:
    predicate = scope.domain.predicate(head)
    if predicate is None and head != EQUALITY:
        hint = did_you_mean(head, [each.name for each in scope.domain.predicates])
        scope.faults.add(where, f"predicate '{head}' is not declared{hint}")
        return False
    arity = predicate.arity if predicate is not None else 2
    if len(words) != arity:
        plural = "argument" if arity == 1 else "arguments"
        names = " ".join(each.name for each in predicate.parameters) if predicate else "?a ?b"
        signature = f" ({names})" if names else ""
        scope.faults.add(where, f"'{head}' takes {arity} {plural}{signature}, got {len(words)}")
        return False
    return True


def _check_argument(word: Atom, scope: Scope) -> bool:
    if word.text in scope.types:
        return True
    is_variable = word.text.startswith("?")
    if is_variable and not scope.variables:
        scope.faults.add(word, f"variable '{word}' can't stand in {scope.place}; name an object")
        return False
    hint = did_you_mean(word.text, list(scope.types))
    if is_variable:
        scope.faults.add(word, f"variable '{word}' is not among the parameters{hint}")
    else:
        scope.faults.add(word, f"object '{word}' is not declared{hint}")
    return False


def _check_types(head: str, words: tuple[Atom, ...], scope: Scope) -> None:
    predicate = scope.domain.predicate(head)
    if predicate is None:
        return
    for word, parameter in zip(words, predicate.parameters, strict=True):
        given = scope.types[word.text]
        # An empty tuple stands for a type that is not declared: already reported.
        if not parameter.types or all(scope.domain.is_a(t, parameter.types) for t in given):
            continue
        expected, got = " or ".join(parameter.types), " or ".join(given)
        what = f"{parameter.name} of '{head}' must be of type {expected}, '{word}' is {got}"
        scope.faults.add(word, what)
