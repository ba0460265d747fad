"""Actions of a PDDL domain: their parameters, conditions, effects and costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from galley.domain.errors import closest
from galley.domain.pddl.conditions import (
    Scope,
    check_amount,
    is_total_cost,
    object_types,
    read_condition,
    read_literal,
    read_number,
    read_term,
)
from galley.domain.pddl.declarations import read_variables
from galley.domain.pddl.formula import (
    EQUALITY,
    Effect,
    ForEach,
    FunctionTerm,
    Literal,
    Variable,
    When,
)
from galley.domain.pddl.model import TOTAL_COST, ActionSchema, Domain
from galley.domain.pddl.sexpr import Atom, Node, SList
from galley.domain.pddl.syntax import CONNECTIVES, Definition, Faults, Section, read_name, short

_ACTION_KEYS = (":parameters", ":precondition", ":effect")
_REFUSED_KEYS = {
    ":vars": "use (exists (?x - type) ...) instead",
    ":duration": "actions with a duration are not supported",
    ":condition": "that is a durative action's; write :precondition",
}


def read_actions(parts: Definition, domain: Domain, faults: Faults) -> tuple[ActionSchema, ...]:
    """The actions of a domain whose types, constants, predicates and functions are known."""
    actions: dict[str, ActionSchema] = {}
    constants = object_types(domain.constants)
    for section in parts.sections:
        if section.keyword != ":action":
            continue
        action = _read_action(section, domain, constants, faults)
        if action is None:
            continue
        if action.name in actions:
            first = actions[action.name].line
            what = f"action '{action.name}' is declared twice, first at line {first}"
            faults.add(section.body[0], what)
            continue
        actions[action.name] = action
    return tuple(actions.values())


def _read_action(
    section: Section, domain: Domain, constants: Mapping[str, tuple[str, ...]], faults: Faults
) -> ActionSchema | None:
    if not section.body:
        faults.add(section.node, "an action needs a name")
        return None
    title = section.body[0]
    name = read_name(title, "an action's name", faults)
    # Without its name, what follows would be taken for one.
    unnamed = name is None and isinstance(title, Atom) and title.text.startswith(":")
    fields = _read_fields(section.body[0 if unnamed else 1 :], faults)
    parameters: tuple[Variable, ...] | None = ()
    if ":parameters" in fields:
        parameters = _read_parameters(fields[":parameters"], domain, faults)
    if parameters is None:
        return None
    variables = {each.name: each.types for each in parameters}
    scope = Scope(domain, constants, variables, f"action '{name}'", faults)
    pre = read_condition(fields[":precondition"], scope) if ":precondition" in fields else ()
    effect, cost = _read_effect(fields[":effect"], scope) if ":effect" in fields else ((), ())
    if name is None:
        return None
    return ActionSchema(name, parameters, pre, effect, cost, line=title.line, column=title.column)


def _read_parameters(node: Node, domain: Domain, faults: Faults) -> tuple[Variable, ...] | None:
    if not isinstance(node, SList):
        what = f"expected a list of parameters such as (?x - object), got '{short(node)}'"
        faults.add(node, what)
        return None
    return read_variables(node.items, domain, faults)


def _read_fields(nodes: Sequence[Node], faults: Faults) -> dict[str, Node]:
    """The ``:key value`` pairs of an action, in any order."""
    fields: dict[str, Node] = {}
    index = 0
    while index < len(nodes):
        key = nodes[index]
        index += 1
        if not isinstance(key, Atom) or not key.text.startswith(":"):
            faults.add(key, f"expected one of {', '.join(_ACTION_KEYS)}, got '{short(key)}'")
            continue
        value = nodes[index] if index < len(nodes) else None
        if value is None or (isinstance(value, Atom) and value.text.startswith(":")):
            faults.add(key, f"{short(key)} has no value; write () for none")
            continue
        index += 1
        if key.text in _REFUSED_KEYS:
            faults.add(key, f"{key} can't stand in an action; {_REFUSED_KEYS[key.text]}")
        elif key.text not in _ACTION_KEYS:
            what = f"unknown keyword {short(key)} in an action"
            faults.add(key, what, key.text, _ACTION_KEYS)
            meant = closest(key.text, _ACTION_KEYS)
            if meant is not None:
                fields.setdefault(meant, value)
        elif key.text in fields:
            faults.add(key, f"a second {key} in one action")
        else:
            fields[key.text] = value
    return fields


@dataclass
class _Costs:
    """What an action adds to the plan's cost, and where in its effect the reader is."""

    terms: list[float | FunctionTerm] = field(default_factory=list)
    inside: str = ""  # the `when` or `forall` around, where a cost may not stand


def _read_effect(
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
        term = _read_cost(node, scope)
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


def _read_cost(node: SList, scope: Scope) -> float | FunctionTerm | None:
    """What ``(increase (total-cost) ...)`` adds; None after noting what is wrong with it."""
    if len(node.items) != 3:
        scope.faults.add(node, f"expected (increase ({TOTAL_COST}) amount), got '{short(node)}'")
        return None
    target, amount = node.items[1:]
    if not is_total_cost(target):
        what = f"'increase' of '{short(target)}' (a numeric fluent) is not supported; only "
        scope.faults.add(node, what + f"({TOTAL_COST}) can be increased")
        return None
    if scope.domain.function(TOTAL_COST) is None:
        what = f"function '{TOTAL_COST}' is not declared; add (:functions ({TOTAL_COST}) - number)"
        scope.faults.add_once(target, what)
    number = read_number(amount)
    if number is not None:
        return number if check_amount(number, amount, scope.faults) else None
    return read_term(amount, scope)
