"""Costs as Fast Downward takes them: whole, and one number or one function an action."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from itertools import product

from galley.domain.formula import Fact, FunctionTerm, Variable
from galley.domain.pddl import ActionSchema, Domain, Function, Problem
from galley.planning.pddl_writer import TOTAL_COST

_MOST_DECIMALS = 6
_LARGEST_COST = 10**8  # Fast Downward adds costs up in 31 bits


def whole_costs(domain: Domain, problem: Problem) -> tuple[Domain, Problem]:
    """The same task with whole costs, one number or function an action; none without a metric.

    Raises:
        ValueError: a cost has more than six decimals, or is too large.
    """
    if not problem.metric:
        actions = tuple(replace(each, cost=()) for each in domain.actions)
        return replace(domain, actions=actions, functions=()), replace(problem, values={})
    names = declared_names(domain)
    functions = [Function(TOTAL_COST, ())]
    values: dict[Fact, float] = {}
    costs: list[float | FunctionTerm] = []
    for action in domain.actions:
        terms = [each for each in action.cost if isinstance(each, FunctionTerm)]
        if not terms:
            numbers = [each for each in action.cost if not isinstance(each, FunctionTerm)]
            costs.append(_sum(numbers))
            continue
        cost = FunctionTerm(
            fresh_name(f"cost-of-{action.name}", names),
            tuple(dict.fromkeys(arg for each in terms for arg in each.args if arg[0] == "?")),
        )
        functions.append(Function(cost.function, tuple(map(Variable, cost.args))))
        values |= _sums(domain, problem, action, cost)
        costs.append(cost)
    unit = _unit([*values.values(), *(each for each in costs if isinstance(each, float | int))])
    actions = tuple(
        replace(action, cost=(cost if isinstance(cost, FunctionTerm) else _whole(cost, unit),))
        for action, cost in zip(domain.actions, costs, strict=True)
    )
    whole = {Fact(TOTAL_COST, ()): 0.0} | {term: _whole(v, unit) for term, v in values.items()}
    domain = replace(domain, actions=actions, functions=tuple(functions))
    return domain, replace(problem, values=whole)


def _sums(
    domain: Domain, problem: Problem, action: ActionSchema, cost: FunctionTerm
) -> Mapping[Fact, float]:
    """The cost of ``action`` for all objects for which every one of its terms has a value."""
    types = {each.name: each.types for each in action.parameters}
    allowed = [
        [each.name for each in problem.objects if domain.is_a(each.type, types[name])]
        for name in cost.args
    ]
    found: dict[Fact, float] = {}
    for args in product(*allowed):
        binding = dict(zip(cost.args, args, strict=True))
        parts = [
            problem.values.get(each.ground(binding)) if isinstance(each, FunctionTerm) else each
            for each in action.cost
        ]
        known = [each for each in parts if each is not None]
        if len(known) == len(parts):
            found[cost.ground(binding)] = _sum(known)
    return found


def _sum(numbers: Iterable[float]) -> float:
    """The sum of ``numbers`` as they are written: 0.1 and 0.2 make 0.3."""
    return float(sum(Decimal(repr(float(each))) for each in numbers))


def _unit(numbers: Iterable[float]) -> int:
    """The smallest power of ten that makes all of ``numbers`` whole."""
    exact = [Decimal(repr(each)).normalize() for each in numbers]
    decimals = 0
    for each in exact:
        exponent = each.as_tuple().exponent
        if not isinstance(exponent, int):
            raise ValueError(f"Fast Downward takes finite costs only, got {each}")
        decimals = max(decimals, -exponent)
    if decimals > _MOST_DECIMALS:
        longest = min(exact, key=lambda each: each.as_tuple().exponent)
        raise ValueError(
            f"Fast Downward takes whole costs only, and {longest} has more than "
            f"{_MOST_DECIMALS} decimals; round the costs"
        )
    unit: int = 10**decimals
    if any(each * unit > _LARGEST_COST for each in exact):
        raise ValueError(f"costs above {_LARGEST_COST / unit:g} are too large for Fast Downward")
    return unit


def _whole(number: float, unit: int) -> float:
    return float(Decimal(repr(number)) * unit)


def fresh_name(name: str, taken: Collection[str]) -> str:
    """``name``, with dashes at its end where it is taken."""
    while name in taken:
        name += "-"
    return name


def declared_names(domain: Domain) -> set[str]:
    """The names of a domain's predicates, types, functions and actions."""
    found = {each.name for each in domain.predicates} | {each.name for each in domain.types}
    found |= {each.name for each in domain.functions}
    return found | {each.name for each in domain.actions}
