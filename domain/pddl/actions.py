"""Reads conditions, effects, costs and actions, and checks them against the declarations."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from galley.domain.errors import closest_match
from galley.domain.pddl import formula as pddl
from galley.domain.pddl.declarations import read_variables
from galley.domain.pddl.formula import EQUALITY, Effect, Formula, FunctionTerm, Literal, Variable
from galley.domain.pddl.model import (
    TOTAL_COST,
    ActionSchema,
    Domain,
    Function,
    Object,
    Predicate,
)
from galley.domain.pddl.syntax import (
    CONNECTIVES,
    Atom,
    Definition,
    Node,
    Section,
    SList,
    SyntaxFaults,
    read_name,
    short,
)

_EQUALITY = Predicate(EQUALITY, (Variable("?a"), Variable("?b")))


@dataclass(frozen=True, slots=True)
class Scope:
    """The names that a formula may use.

    Attributes:
        domain: the declared types, predicates and functions.
        objects: the types of each object (empty: unknown and already reported).
        variables: the same of each variable.
        place: the enclosing section or action, for messages (``:init``).
        faults: collects errors.
        loose: whether to skip the check of names and types, as the domain could not be read.
    """

    domain: Domain
    objects: Mapping[str, tuple[str, ...]]
    variables: Mapping[str, tuple[str, ...]]
    place: str
    faults: SyntaxFaults
    syntax_only: bool = False
    _fits: dict[tuple[tuple[str, ...], tuple[str, ...]], bool] = field(
        default_factory=dict, compare=False
    )

    def within(self, node: SList) -> tuple[tuple[Variable, ...], Node | None, Scope]:
        """The variables of a quantifier, its body, and the scope of the body.

        The body is None after reporting a malformed quantifier. Variables may shadow outer ones.
        """
        if len(node.items) != 3:
            what = f"'{node.head}' takes a list of variables and one formula, "
            self.faults.add(node, what + f"({node.head} (?x - type) (...))")
            return (), None, self
        declared, body = node.items[1:]
        if not isinstance(declared, SList):
            what = f"expected a list of variables such as (?x - type), got '{short(declared)}'"
            self.faults.add(declared, what)
            return (), None, self
        variables = read_variables(
            declared.items, self.domain, self.faults, syntax_only=self.syntax_only
        )
        inner = {**self.variables, **{each.name: each.types for each in variables}}
        return variables, body, replace(self, variables=inner)

    def fits(self, types: tuple[str, ...], allowed: tuple[str, ...]) -> bool:
        """Whether each of ``types`` is a subtype of one of ``allowed``."""
        fits = self._fits.get((types, allowed))
        if fits is None:
            # An empty tuple is an undeclared type, which has been reported.
            fits = not allowed or all(self.domain.is_a(each, allowed) for each in types)
            self._fits[types, allowed] = fits
        return fits


def object_types(objects: Sequence[Object]) -> dict[str, tuple[str, ...]]:
    """``Scope.objects`` for some objects."""
    return {each.name: (each.type,) if each.type else () for each in objects}


def check_predicate(node: SList, scope: Scope) -> tuple[str, ...] | None:
    """The arguments of a fact or an equality; None after reporting an error."""
    head = node.head
    declared = _EQUALITY if head == EQUALITY else scope.domain.predicate(head)
    if declared is None and not scope.syntax_only:
        if scope.domain.function(head) is not None:
            what = f"'{head}' is a function; a fact needs a predicate"
            scope.faults.add(node.items[0], what)
        else:
            what = f"predicate '{short(node.items[0])}' is not declared"
            scope.faults.add(node.items[0], what, head, scope.domain.predicate_names)
    return _check_arguments(node.items[0], node.items[1:], declared, scope)


def check_function(name: Atom, args: Sequence[Node], scope: Scope) -> tuple[str, ...] | None:
    """The arguments of a function term; None after reporting an error."""
    declared = scope.domain.function(name.text)
    if declared is None and not scope.syntax_only:
        what = f"function '{short(name)}' is not declared; declare it in :functions"
        scope.faults.add(name, what, name.text, scope.domain.function_names)
    return _check_arguments(name, args, declared, scope)


def _check_arguments(
    name: Node, args: Sequence[Node], declared: Predicate | Function | None, scope: Scope
) -> tuple[str, ...] | None:
    """The arguments, or None after reporting errors; also checks those of an unknown predicate."""
    valid = declared is not None or scope.syntax_only
    words: list[str] = []
    word_types: list[tuple[str, ...]] = []
    for arg in args:
        if not isinstance(arg, Atom):
            if valid:
                what = f"an argument of '{short(name)}' must be a name, got '{short(arg)}'"
                scope.faults.add(arg, what)
            return None
        word = arg.text
        types = (scope.variables if word[0] == "?" else scope.objects).get(word)
        if types is None and not scope.syntax_only:
            _note_undeclared(arg, scope)
            valid = False
        words.append(word)
        word_types.append(types or ())
    if declared is None:
        return tuple(words) if valid else None
    parameters = declared.parameters
    if len(words) != len(parameters):
        plural = "argument" if len(parameters) == 1 else "arguments"
        names = " ".join(each.name for each in parameters)
        signature = f" ({names})" if names else ""
        what = f"'{declared.name}' takes {len(parameters)} {plural}{signature}, got {len(words)}"
        scope.faults.add(name, what)
        return None
    for arg, types, parameter in zip(args, word_types, parameters, strict=True):
        if not scope.fits(types, parameter.types):
            expected, got = " or ".join(parameter.types), " or ".join(types)
            what = f"{parameter.name} of '{declared.name}' must be of type {expected}, "
            what += f"'{short(arg)}' is {got}"
            if scope.objects.get(expected) == types:  # an object that is called as the type
                what += f"; is a '-' missing before '{expected}' where it is declared?"
            scope.faults.add(arg, what)
            valid = False
    return tuple(words) if valid else None


def _note_undeclared(word: Atom, scope: Scope) -> None:
    name = short(word)
    if not word.text.startswith("?"):
        scope.faults.add(word, f"object '{name}' is not declared", word.text, scope.objects)
    elif scope.place == ":init":
        what = f"variable '{name}' can't stand in :init; name an object"
        scope.faults.add(word, what)
    elif scope.place == "the goal" and not scope.variables:
        what = f"variable '{name}' can't stand in the goal outside a quantifier; name an object"
        scope.faults.add(word, what)
    else:
        owner = "quantified here" if scope.place == "the goal" else "among the parameters"
        scope.faults.add(word, f"variable '{name}' is not {owner}", word.text, scope.variables)


_NUMBER = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf(inity)?|nan)", re.ASCII)
_ARITHMETIC = ("+", "-", "*", "/")

# Keywords of unsupported PDDL, unless they are declared as predicates.
_UNSUPPORTED = {
    "preference": "a preference",
    **dict.fromkeys(("<", ">", "<=", ">="), "a comparison of numeric fluents"),
    **dict.fromkeys(("decrease", "assign", "scale-up", "scale-down"), "a numeric fluent"),
    **dict.fromkeys(("probabilistic", "oneof"), "a probabilistic effect"),
    **dict.fromkeys(
        ("always", "sometime", "within", "at-most-once", "sometime-after", "sometime-before"),
        "a trajectory constraint",
    ),
}


def read_condition(node: Node, scope: Scope) -> tuple[Formula, ...]:
    """A condition with its top-level conjunction flattened; ``()`` and ``(and)`` are empty."""
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
    """One formula as it is written; None after reporting an error."""
    if isinstance(node, SList) and not node.items:
        return pddl.And(())
    head = node.head if isinstance(node, SList) else ""
    if not isinstance(node, SList) or head not in CONNECTIVES:
        return read_literal(node, scope)
    if head in ("exists", "forall"):
        variables, body, inner = scope.within(node)
        part = None if body is None else read_formula(body, inner)
        if part is None:
            return None
        return pddl.Exists(variables, part) if head == "exists" else pddl.Forall(variables, part)
    arity = {"not": 1, "imply": 2}.get(head)
    if arity is not None and len(node.items) - 1 != arity:
        numeral = "one condition" if arity == 1 else "two conditions"
        scope.faults.add(node, f"'{head}' takes exactly {numeral}, got {len(node.items) - 1}")
        return None
    formulas = [read_formula(each, scope) for each in node.items[1:]]
    parts = tuple(each for each in formulas if each is not None)
    if arity is not None and len(parts) < arity:
        return None
    if head == "not":
        part = parts[0]
        if isinstance(part, Literal):  # it has a sign of its own
            return replace(part, positive=not part.positive)
        return pddl.Not(part)
    if head == "imply":
        return pddl.Imply(*parts)
    return pddl.And(parts) if head == "and" else pddl.Or(parts)


def read_literal(node: Node, scope: Scope) -> Literal | None:
    """A fact or equality; None after reporting an error."""
    if not isinstance(node, SList) or not node.head:
        what = f"expected a fact such as (predicate ...), got '{short(node)}'"
        scope.faults.add(node, what)
        return None
    head = node.head
    name = node.items[0]
    if scope.domain.predicate(head) is None and _note_unsupported(node, head, scope):
        return None
    args = check_predicate(node, scope)
    return None if args is None else Literal(head, args, True, name.line, name.column)


def _note_unsupported(node: SList, head: str, scope: Scope) -> bool:
    """Reports PDDL that is not supported, or not in a condition; whether ``node`` is such."""
    if head == EQUALITY:
        numeric = next((arg for arg in node.items[1:] if _is_number(arg, scope)), None)
        if numeric is not None:
            scope.faults.add(node, "'=' of numbers (a numeric fluent) is not supported")
        return numeric is not None
    if head in ("when", "increase"):
        what = f"'{head}' is an effect and can't stand in a condition"
        scope.faults.add(node, what + ("; write (imply ...)" if head == "when" else ""))
        return True
    if head in _UNSUPPORTED:
        scope.faults.add(node, f"'{head}' ({_UNSUPPORTED[head]}) is not supported")
        return True
    return False


def _is_number(node: Node, scope: Scope) -> bool:
    if isinstance(node, Atom):
        is_term = node.text in scope.objects or node.text.startswith("?")
        return not is_term and scope.domain.function(node.text) is not None
    return True


def read_number(node: Node) -> float | None:
    """The value of a number, or None if ``node`` is none."""
    if isinstance(node, Atom) and len(node.text) < 400 and _NUMBER.fullmatch(node.text):
        return float(node.text)
    return None


def is_total_cost(node: Node) -> bool:
    """Whether ``node`` is ``(total-cost)``, or ``total-cost``, as PDDL 2.1 allows."""
    if isinstance(node, SList):
        return len(node.items) == 1 and node.head == TOTAL_COST
    return node.text == TOTAL_COST


def check_amount(number: float, where: Node, faults: SyntaxFaults) -> bool:
    """Whether a cost is finite and not negative; reports it if not."""
    if 0 <= number < math.inf:
        return True
    faults.add(where, f"a cost must be a finite number, 0 or more, got '{short(where)}'")
    return False


def read_term(node: Node, scope: Scope) -> FunctionTerm | None:
    """A function term; None after reporting an error."""
    name = node.items[0] if isinstance(node, SList) and node.items else node
    if not isinstance(name, Atom) or (name is node and scope.domain.function(name.text) is None):
        what = f"expected a number or a function such as (name ?x), got '{short(node)}'"
        scope.faults.add(node, what)
        return None
    if name.text in _ARITHMETIC:
        what = "arithmetic in a cost is not supported; give a number or one function of objects"
        scope.faults.add(node, what)
        return None
    if name.text == TOTAL_COST:
        scope.faults.add(node, f"({TOTAL_COST}) can't be an amount")
        return None
    args = check_function(name, node.items[1:] if isinstance(node, SList) else (), scope)
    return None if args is None else FunctionTerm(name.text, args, name.line, name.column)


_ACTION_KEYS = (":parameters", ":precondition", ":effect")
_REFUSED_KEYS = {
    ":vars": "use (exists (?x - type) ...) instead",
    ":duration": "durative actions are not supported",
    ":condition": "it belongs to durative actions; write :precondition",
}


def read_actions(
    parts: Definition, domain: Domain, faults: SyntaxFaults
) -> tuple[ActionSchema, ...]:
    """The actions of a domain, whose other declarations have been read."""
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
    section: Section, domain: Domain, constants: Mapping[str, tuple[str, ...]], faults: SyntaxFaults
) -> ActionSchema | None:
    if not section.body:
        faults.add(section.node, "an action needs a name")
        return None
    title = section.body[0]
    # If the name is missing, the first keyword stands in its place.
    unnamed = isinstance(title, Atom) and title.text in _ACTION_KEYS
    if unnamed:
        faults.add(section.node, "an action needs a name")
    name = None if unnamed else read_name(title, "an action's name", faults)
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


def _read_parameters(
    node: Node, domain: Domain, faults: SyntaxFaults
) -> tuple[Variable, ...] | None:
    if not isinstance(node, SList):
        what = f"expected a list of parameters such as (?x - object), got '{short(node)}'"
        faults.add(node, what)
        return None
    return read_variables(node.items, domain, faults)


def _read_fields(nodes: Sequence[Node], faults: SyntaxFaults) -> dict[str, Node]:
    """The ``:key value`` pairs of an action."""
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
            match = closest_match(key.text, _ACTION_KEYS)
            if match is not None:
                fields.setdefault(match, value)
        elif key.text in fields:
            faults.add(key, f"a second {key} in one action")
        else:
            fields[key.text] = value
    return fields


@dataclass
class _Costs:
    """Collects the cost terms of an action."""

    terms: list[float | FunctionTerm] = field(default_factory=list)
    inside: str = ""  # the enclosing `when` or `forall`, where costs are not allowed


def _read_effect(
    node: Node, scope: Scope
) -> tuple[tuple[Effect, ...], tuple[float | FunctionTerm, ...]]:
    """An effect with conjunctions flattened, and the action's cost."""
    costs = _Costs()
    effects = tuple(dict.fromkeys(_effects(node, scope, costs)))
    return effects, tuple(costs.terms)


def _effects(node: Node, scope: Scope, costs: _Costs) -> Iterator[Effect]:
    if isinstance(node, SList) and not node.items:
        return
    head = node.head if isinstance(node, SList) else ""
    effect: Effect | None = None
    if not isinstance(node, SList) or not head:
        what = f"expected an effect such as (predicate ...), got '{short(node)}'"
        scope.faults.add(node, what)
    elif head == "and":
        for each in node.items[1:]:
            yield from _effects(each, scope, costs)
    elif head == "when":
        effect = _read_when(node, scope, costs)
    elif head == "forall":
        variables, body, inner = scope.within(node)
        if body is not None:
            effect = pddl.ForEach(variables, _inside("forall", body, inner, costs))
    elif head == "increase" and costs.inside:
        what = f"'increase' inside '{costs.inside}' (a cost that depends on the state) is not "
        scope.faults.add(node, what + "supported; an action's cost must be fixed by its parameters")
    elif head == "increase":
        term = _read_cost(node, scope)
        if term is not None:
            costs.terms.append(term)
    else:
        effect = _read_simple(node, scope)
    if effect is not None:
        yield effect


def _inside(what: str, body: Node, scope: Scope, costs: _Costs) -> tuple[Effect, ...]:
    return tuple(dict.fromkeys(_effects(body, scope, replace(costs, inside=what))))


def _read_when(node: SList, scope: Scope, costs: _Costs) -> pddl.When | None:
    if len(node.items) != 3:
        count = len(node.items) - 1
        scope.faults.add(node, f"'when' takes a condition and an effect, got {count} parts")
        return None
    condition = read_condition(node.items[1], scope)
    return pddl.When(condition, _inside("when", node.items[2], scope, costs))


def _read_simple(node: SList, scope: Scope) -> Literal | None:
    """An effect on one fact: positive to add, negative to delete it."""
    fact: Node = node
    if node.head == "not":
        inner = node.items[1] if len(node.items) == 2 else None
        if not isinstance(inner, SList) or inner.head in (*CONNECTIVES, "when", "increase"):
            what = "an effect can negate only a single fact: (not (predicate ...))"
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
    """The amount of ``(increase (total-cost) ...)``; None after reporting an error."""
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
    declared = isinstance(amount, Atom) and scope.domain.function(amount.text) is not None
    number = None if declared else read_number(amount)
    if number is not None:
        return number if check_amount(number, amount, scope.faults) else None
    return read_term(amount, scope)
