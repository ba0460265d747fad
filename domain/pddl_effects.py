"""Effects of PDDL actions, and what they cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from galley.domain.formula import Effect, ForEach, FunctionTerm, Literal, When
from galley.domain.pddl import EQUALITY
from galley.domain.pddl_costs import read_cost
from galley.domain.pddl_faults import short
from galley.domain.pddl_formula import CONNECTIVES, read_condition, read_literal
from galley.domain.pddl_scope import Scope
from galley.domain.sexpr import Node, SList


@dataclass
class _Costs:
    """What an action adds to the plan's cost, and where in its effect the reader is."""

    terms: list[float | FunctionTerm] = field(default_factory=list)
    inside: str = ""  # the `when` or `forall` around, where a cost may not stand


def read_effect(
    node: Node, scope: Scope
) -> tuple[tuple[Effect, ...], tuple[float | FunctionTerm, ...]]:
    """An effect, its conjunctions flattened, and the action's cost."""
    costs = _Costs()
    effects = tuple(dict.fromkeys(_effects(node, scope, costs)))
    return effects, tuple(costs.terms)


def _effects(node: Node, scope: Scope, costs: _Costs) -> Iterator[Effect]:
    if isinstance(node, SList) and not node.items:
        return
    head = node.head if isinstance(node, SList) else ""
    found: Effect | None = None
    if not isinstance(node, SList) or not head:
        what = f"expected an effect such as (predicate ...), got '{short(node)}'"
        scope.faults.add(node, what)
    elif head == "and":
        for each in node.items[1:]:
            yield from _effects(each, scope, costs)
    elif head == "when":
        found = _read_when(node, scope, costs)
    elif head == "forall":
        variables, body, inner = scope.within(node)
        if body is not None:
            found = ForEach(variables, _inside("forall", body, inner, costs))
    elif head == "increase" and costs.inside:
        what = f"'increase' inside '{costs.inside}' (a cost that depends on the state) is not "
        scope.faults.add(node, what + "supported; an action's cost must be fixed by its parameters")
    elif head == "increase":
        term = read_cost(node, scope)
        if term is not None:
            costs.terms.append(term)
    else:
        found = _read_simple(node, scope)
    if found is not None:
        yield found


def _inside(what: str, body: Node, scope: Scope, costs: _Costs) -> tuple[Effect, ...]:
    return tuple(dict.fromkeys(_effects(body, scope, replace(costs, inside=what))))


def _read_when(node: SList, scope: Scope, costs: _Costs) -> When | None:
    if len(node.items) != 3:
        count = len(node.items) - 1
        scope.faults.add(node, f"'when' takes a condition and an effect, got {count} parts")
        return None
    condition = read_condition(node.items[1], scope)
    return When(condition, _inside("when", node.items[2], scope, costs))


def _read_simple(node: SList, scope: Scope) -> Literal | None:
    """A fact to add or, under ``not``, to delete."""
    fact: Node = node
    if node.head == "not":
        inner = node.items[1] if len(node.items) == 2 else None
        if not isinstance(inner, SList) or inner.head in (*CONNECTIVES, "when", "increase"):
            what = "an effect can make single facts false only: (not (predicate ...))"
            scope.faults.add(node, what)
            return None
        fact = inner
    elif node.head in CONNECTIVES:
        what = f"'{node.head}' is a condition and can't stand in an effect"
        hint = "; put it into the action's precondition or a 'when'"
        scope.faults.add(node, what + hint)
        return None
    literal = read_literal(fact, scope)
    if literal is None:
        return None
    if literal.predicate == EQUALITY:
        scope.faults.add(fact, "an effect can't make objects equal")
        return None
    return replace(literal, positive=node is fact)
