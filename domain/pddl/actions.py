"""Reads conditions, effects, costs and actions, and checks them against the declarations."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from galley.domain.pddl import formula as pddl
from galley.domain.pddl.declarations import read_variables
from galley.domain.pddl.formula import EQUALITY, Effect, Formula, FunctionTerm, Literal, Variable
from galley.domain.pddl.model import TOTAL_COST, ActionSchema, Domain, Function, Object, Predicate
from galley.domain.pddl.syntax import CONNECTIVES, Atom, Node, SList, SyntaxFaults, read_name, short

_EQUALITY = Predicate(EQUALITY, (Variable("?a"), Variable("?b")))
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII)

# Keywords of PDDL that is not read, unless they are declared as predicates.
_UNSUPPORTED = (
    *("<", ">", "<=", ">=", "decrease", "assign", "scale-up", "scale-down"),  # numeric fluents
    *("preference", "probabilistic", "oneof"),
    *("always", "sometime", "within", "at-most-once", "sometime-after", "sometime-before"),
)


@dataclass(frozen=True, slots=True)
class Scope:
    """The names that a formula may use.

    Attributes:
        domain: declares types, predicates and functions.
        objects: the types of each object, by name.
        variables: the types of each variable, by name.
        place: the enclosing section or action, for messages, such as ``:init``.
        faults: collects errors.
    """

    domain: Domain
    objects: Mapping[str, tuple[str, ...]]
    variables: Mapping[str, tuple[str, ...]]
    place: str
    faults: SyntaxFaults

    def within(self, node: SList) -> tuple[tuple[Variable, ...], Node | None, Scope]:
        """The variables of a quantifier, its body, and the scope of the body.

        The body is None after reporting a malformed quantifier. Variables may shadow outer ones.
        """
        if len(node.items) != 3 or not isinstance(node.items[1], SList):
            what = f"'{node.head}' takes a list of variables and one formula, "
            self.faults.add(node, what + f"({node.head} (?x - type) (...))")
            return (), None, self
        variables = read_variables(node.items[1].items, self.domain, self.faults)
        inner = {**self.variables, **{each.name: each.types for each in variables}}
        return variables, node.items[2], replace(self, variables=inner)


def object_types(objects: Sequence[Object]) -> dict[str, tuple[str, ...]]:
    """The types of each object by its name, as ``Scope.objects`` takes them."""
    return {each.name: (each.type,) for each in objects}


def _check_arguments(
    name: Node, args: Sequence[Node], declared: Predicate | Function, scope: Scope
) -> tuple[str, ...] | None:
    """The arguments of a fact or a function term; None after reporting errors."""
    parameters = declared.parameters
    if len(args) != len(parameters):
        plural = "argument" if len(parameters) == 1 else "arguments"
        names = " ".join(each.name for each in parameters)
        signature = f" ({names})" if names else ""
        what = f"'{declared.name}' takes {len(parameters)} {plural}{signature}, got {len(args)}"
        scope.faults.add(name, what)
        return None
    words = []
    for arg, parameter in zip(args, parameters, strict=True):
        if not isinstance(arg, Atom):
            what = f"an argument of '{short(name)}' must be a name, got '{short(arg)}'"
            scope.faults.add(arg, what)
            continue
        known = scope.variables if arg.text[0] == "?" else scope.objects
        types = known.get(arg.text)
        if types is None:
            _note_undeclared(arg, known, scope)
        elif not all(scope.domain.is_a(each, parameter.types) for each in types):
            expected, got = " or ".join(parameter.types), " or ".join(types)
            what = f"{parameter.name} of '{declared.name}' must be of type {expected}, "
            scope.faults.add(arg, what + f"'{short(arg)}' is {got}")
        else:
            words.append(arg.text)
    return tuple(words) if len(words) == len(args) else None


def _note_undeclared(word: Atom, known: Collection[str], scope: Scope) -> None:
    """Report an object or a variable that is not among the ``known`` names."""
    if not word.text.startswith("?"):
        scope.faults.add(word, f"object '{short(word)}' is not declared", word.text, known)
    elif scope.variables or scope.place.startswith("action"):
        scope.faults.add(word, f"variable '{short(word)}' is not declared", word.text, known)
    else:
        what = f"variable '{short(word)}' can't stand in {scope.place}; name an object"
        scope.faults.add(word, what)


def read_condition(node: Node, scope: Scope) -> tuple[Formula, ...]:
    """A condition with its top-level conjunction flattened; ``()`` and ``(and)`` are empty."""
    return tuple(dict.fromkeys(_conjuncts(node, scope)))


def _conjuncts(node: Node, scope: Scope) -> Iterator[Formula]:
    """The formulas of a condition, with nested conjunctions flattened."""
    if isinstance(node, SList) and not node.items:
        return
    if isinstance(node, SList) and node.head == "and":
        for conjunct in node.items[1:]:
            yield from _conjuncts(conjunct, scope)
        return
    formula = read_formula(node, scope)
    if formula is not None:
        yield formula


def read_formula(node: Node, scope: Scope) -> Formula | None:
    """One formula as the file has it; None after reporting an error."""
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
    if len(parts) < len(formulas):
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
    head, name = node.head, node.items[0]
    declared = _EQUALITY if head == EQUALITY else scope.domain.predicate(head)
    if declared is not None:
        args = _check_arguments(name, node.items[1:], declared, scope)
        return None if args is None else Literal(head, args, True, name.line, name.column)
    if head in ("when", "increase"):
        what = f"'{head}' is an effect and can't stand in a condition"
        scope.faults.add(node, what + ("; write (imply ...)" if head == "when" else ""))
    elif head in _UNSUPPORTED:
        scope.faults.add(node, f"'{head}' is not supported")
    elif scope.domain.function(head) is not None:
        scope.faults.add(name, f"'{head}' is a function; a fact needs a predicate")
    else:
        what = f"predicate '{short(name)}' is not declared"
        scope.faults.add(name, what, head, scope.domain.predicate_names)
    return None


def read_number(node: Node, scope: Scope, cost: bool = True) -> float | None:
    """The value of a number; None if the node is no number.

    With ``cost``, an infinite or negative number is reported as an error.
    """
    if not isinstance(node, Atom) or not _NUMBER.fullmatch(node.text):
        return None
    number = float(node.text)
    if cost and not 0 <= number < math.inf:
        what = f"a cost must be a finite number, 0 or more, got '{short(node)}'"
        scope.faults.add(node, what)
    return number


def is_total_cost(node: Node) -> bool:
    """Whether ``node`` is ``(total-cost)``, or ``total-cost``, as PDDL 2.1 allows."""
    return str(node) in (TOTAL_COST, f"({TOTAL_COST})")


def read_term(node: Node, scope: Scope) -> FunctionTerm | None:
    """A function term; None after reporting an error."""
    name = node.items[0] if isinstance(node, SList) and node.items else node
    if not isinstance(name, Atom) or is_total_cost(node):
        what = f"expected a number or a function such as (name ?x), got '{short(node)}'"
        scope.faults.add(node, what)
        return None
    declared = scope.domain.function(name.text)
    if declared is None:
        what = f"'{short(name)}' is neither a number nor a function that :functions declares"
        known = [each.name for each in scope.domain.functions]
        scope.faults.add(name, what, name.text, known)
        return None
    args = node.items[1:] if isinstance(node, SList) else ()
    words = _check_arguments(name, args, declared, scope)
    return None if words is None else FunctionTerm(name.text, words, name.line, name.column)


_ACTION_KEYS = (":parameters", ":precondition", ":effect")


def read_actions(
    sections: Sequence[SList], domain: Domain, faults: SyntaxFaults
) -> tuple[ActionSchema, ...]:
    """The actions of a domain, whose other declarations have been read."""
    actions: dict[str, ActionSchema] = {}
    constants = object_types(domain.constants)
    for section in sections:
        title: Node = section.items[1] if len(section.items) > 1 else section
        name = read_name(title, "an action's name", faults)
        if name is None:
            continue
        if name in actions:
            first = actions[name].line
            faults.add(title, f"action '{name}' is declared twice, first at line {first}")
        fields = _read_fields(section.items[2:], faults)
        parameters = fields.get(":parameters", SList((), 0, 0))
        if not isinstance(parameters, SList):
            what = f"expected a list of parameters such as (?x - object), got '{short(parameters)}'"
            faults.add(parameters, what)
            continue
        given = read_variables(parameters.items, domain, faults)
        variables = {each.name: each.types for each in given}
        scope = Scope(domain, constants, variables, f"action '{name}'", faults)
        pre = read_condition(fields[":precondition"], scope) if ":precondition" in fields else ()
        costs: list[float | FunctionTerm] = []
        effect = read_effect(fields[":effect"], scope, costs) if ":effect" in fields else ()
        actions[name] = ActionSchema(
            name, given, pre, effect, tuple(costs), line=title.line, column=title.column
        )
    return tuple(actions.values())


def _read_fields(nodes: Sequence[Node], faults: SyntaxFaults) -> dict[str, Node]:
    """The ``:key value`` pairs of an action, up to the first malformed one."""
    fields: dict[str, Node] = {}
    rest = iter(nodes)
    for key in rest:
        word = key.text if isinstance(key, Atom) else ""
        value = next(rest, None)
        if word not in _ACTION_KEYS:
            what = f"expected one of {', '.join(_ACTION_KEYS)}, got '{short(key)}'"
            faults.add(key, what, word, _ACTION_KEYS)
            break
        if value is None or str(value).startswith(":"):
            faults.add(key, f"{word} has no value; write () for none")
            break
        if word in fields:
            faults.add(key, f"a second {word} in one action")
        fields[word] = value
    return fields


def read_effect(
    node: Node, scope: Scope, costs: list[float | FunctionTerm] | None
) -> tuple[Effect, ...]:
    """An effect with conjunctions flattened.

    Args:
        node: the effect.
        scope: the names that it may use.
        costs: the terms of the effect's cost are appended to this list. None inside ``when`` and
            ``forall``, where the cost would depend on the state.
    """
    return tuple(dict.fromkeys(_effects(node, scope, costs)))


def _effects(
    node: Node, scope: Scope, costs: list[float | FunctionTerm] | None
) -> Iterator[Effect]:
    """The effects of a node, with nested conjunctions flattened; see ``read_effect``."""
    if isinstance(node, SList) and not node.items:
        return
    head = node.head if isinstance(node, SList) else ""
    effect: Effect | None = None
    if not isinstance(node, SList) or not head:
        what = f"expected an effect such as (predicate ...), got '{short(node)}'"
        scope.faults.add(node, what)
    elif head == "and":
        for conjunct in node.items[1:]:
            yield from _effects(conjunct, scope, costs)
    elif head == "when" and len(node.items) != 3:
        count = len(node.items) - 1
        scope.faults.add(node, f"'when' takes a condition and an effect, got {count} parts")
    elif head == "when":
        condition = read_condition(node.items[1], scope)
        effect = pddl.When(condition, read_effect(node.items[2], scope, None))
    elif head == "forall":
        variables, body, inner = scope.within(node)
        if body is not None:
            effect = pddl.ForEach(variables, read_effect(body, inner, None))
    elif head == "increase":
        _read_cost(node, scope, costs)
    else:
        effect = _read_simple(node, scope)
    if effect is not None:
        yield effect


def _read_simple(node: SList, scope: Scope) -> Literal | None:
    """An effect on one fact: positive to add, negative to delete it."""
    fact: Node = node
    if node.head == "not":
        fact = node.items[1] if len(node.items) == 2 else node
    if isinstance(fact, SList) and fact.head in (*CONNECTIVES, "when", "increase"):
        what = "an effect adds or deletes one fact: (predicate ...) or (not (predicate ...))"
        scope.faults.add(node, what)
        return None
    literal = read_literal(fact, scope)
    if literal is None:
        return None
    if literal.predicate == EQUALITY:
        scope.faults.add(fact, "an effect can't make objects equal")
        return None
    return replace(literal, positive=node is fact)


def _read_cost(node: SList, scope: Scope, costs: list[float | FunctionTerm] | None) -> None:
    """Appends the amount of ``(increase (total-cost) ...)``."""
    if len(node.items) != 3 or not is_total_cost(node.items[1]):
        what = f"only (increase ({TOTAL_COST}) amount) is supported, got '{short(node)}'"
        scope.faults.add(node, what)
    elif costs is None:
        what = "'increase' within 'when' or 'forall' is not supported: an action's cost must be "
        scope.faults.add(node, what + "fixed by its parameters")
    elif scope.domain.function(TOTAL_COST) is None:
        what = f"function '{TOTAL_COST}' is not declared; add (:functions ({TOTAL_COST}) - number)"
        scope.faults.add(node.items[1], what)
    else:
        amount = node.items[2]
        number = read_number(amount, scope)
        term = read_term(amount, scope) if number is None else number
        if term is not None:
            costs.append(term)
