"""Conditions of PDDL, checked against what the domain declares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from galley.domain.formula import And, Exists, Forall, Formula, Imply, Literal, Not, Or
from galley.domain.pddl import EQUALITY
from galley.domain.pddl_faults import short
from galley.domain.pddl_scope import Scope, check_predicate
from galley.domain.sexpr import Atom, Node, SList

CONNECTIVES = ("and", "or", "not", "imply", "exists", "forall")

# No predicate may be called so.
RESERVED = (*CONNECTIVES, "when", "increase")

# Words of PDDL that mean something this reader can't express, unless they are predicates.
_REFUSED = {
    "preference": "a preference",
    **dict.fromkeys(("<", ">", "<=", ">="), "a comparison of numeric fluents"),
    **dict.fromkeys(("decrease", "assign", "scale-up", "scale-down"), "a numeric fluent"),
    **dict.fromkeys(("probabilistic", "oneof"), "an effect that depends on chance"),
    **dict.fromkeys(
        ("always", "sometime", "within", "at-most-once", "sometime-after", "sometime-before"),
        "a trajectory constraint",
    ),
}


def read_condition(node: Node, scope: Scope) -> tuple[Formula, ...]:
    """A condition; the conjunction at its top is flattened, ``()`` and ``(and)`` are empty."""
    return tuple(dict.fromkeys(_conjuncts(node, scope)))


def _conjuncts(node: Node, scope: Scope) -> Iterator[Formula]:
    if isinstance(node, SList) and not node.items:
        return
    if isinstance(node, SList) and node.head == "and":
        for each in node.items[1:]:
            yield from _conjuncts(each, scope)
        return
    formula = read_formula(node, scope)
    if formula is not None:
        yield formula


def read_formula(node: Node, scope: Scope) -> Formula | None:
    """One formula as it is written; None after noting what is wrong with it."""
    if isinstance(node, SList) and not node.items:
        return And(())
    head = node.head if isinstance(node, SList) else ""
    if not isinstance(node, SList) or head not in CONNECTIVES:
        return read_literal(node, scope)
    if head in ("exists", "forall"):
        variables, body, inner = scope.within(node)
        part = None if body is None else read_formula(body, inner)
        if part is None:
            return None
        return Exists(variables, part) if head == "exists" else Forall(variables, part)
    wanted = {"not": 1, "imply": 2}.get(head)
    if wanted is not None and len(node.items) - 1 != wanted:
        numeral = "one condition" if wanted == 1 else "two conditions"
        scope.faults.add(node, f"'{head}' takes exactly {numeral}, got {len(node.items) - 1}")
        return None
    read = [read_formula(each, scope) for each in node.items[1:]]
    parts = tuple(each for each in read if each is not None)
    if wanted is not None and len(parts) < wanted:
        return None
    if head == "not":
        part = parts[0]
        # A literal has a sign of its own.
        return replace(part, positive=not part.positive) if isinstance(part, Literal) else Not(part)
    if head == "imply":
        return Imply(*parts)
    return And(parts) if head == "and" else Or(parts)


def read_literal(node: Node, scope: Scope) -> Literal | None:
    """A fact; None after noting what is wrong with it."""
    if not isinstance(node, SList) or not node.head:
        what = f"expected a fact such as (predicate ...), got '{short(node)}'"
        scope.faults.add(node, what)
        return None
    head = node.head
    name = node.items[0]
    if scope.domain.predicate(head) is None and _refuse(node, head, scope):
        return None
    args = check_predicate(node, scope)
    return None if args is None else Literal(head, args, True, name.line, name.column)


def _refuse(node: SList, head: str, scope: Scope) -> bool:
    """Notes that ``node`` is PDDL, but can't stand in a condition or at all."""
    if head == EQUALITY:
        numeric = next((arg for arg in node.items[1:] if _is_number(arg, scope)), None)
        if numeric is not None:
            scope.faults.add(node, "'=' of numbers (a numeric fluent) is not supported")
        return numeric is not None
    if head in ("when", "increase"):
        what = f"'{head}' is an effect and can't stand in a condition"
        scope.faults.add(node, what + ("; write (imply ...)" if head == "when" else ""))
        return True
    if head in _REFUSED:
        scope.faults.add(node, f"'{head}' ({_REFUSED[head]}) is not supported")
        return True
    return False


def _is_number(node: Node, scope: Scope) -> bool:
    if isinstance(node, Atom):
        known = node.text in scope.objects or node.text.startswith("?")
        return not known and scope.domain.function(node.text) is not None
    return True
