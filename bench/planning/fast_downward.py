"""Fast Downward as an oracle: the cheapest plan of a task, rewritten into its dialect of PDDL.

Its dialect is narrower than ours:

| PDDL | what Fast Downward 26.6 lacks | instead |
|---|---|---|
| types | ``either``, a type under two others | static facts that say what an object is |
| effects | quantifiers within quantifiers | each literal with all its quantifiers and conditions |
| costs | sums, fractions | one function an action; a power of ten as the unit |

Plans of the rewritten problem are plans of the original one, under the same names.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from decimal import Decimal
from functools import cache
from itertools import count, product
from pathlib import Path
from tempfile import TemporaryDirectory

from galley.bench.planning.pddl_writer import write_pddl
from galley.bench.planning.runs import Bench, Result
from galley.bench.planning.tasks import Case
from galley.domain.pddl.formula import (
    OBJECT,
    And,
    Effect,
    Exists,
    Fact,
    Forall,
    ForEach,
    Formula,
    FunctionTerm,
    Imply,
    Literal,
    Not,
    Or,
    Variable,
    When,
)
from galley.domain.pddl.model import TOTAL_COST, ActionSchema, Domain, Function, Predicate, Problem
from galley.planning import Validation, read_plan, validate_actions
from galley.planning.checks.semantics import Binding, instantiate

_REQUIREMENTS = (":adl", ":action-costs")
_MOST_DECIMALS = 6
_LARGEST_COST = 10**8  # Fast Downward adds costs up in 31 bits


class FastDownwardError(RuntimeError):
    """Fast Downward could not read a task, broke off, or gave a plan that does not hold."""


def cheapest(domain: Domain, problem: Problem, seconds: float = 60.0) -> Validation | None:
    """Our validator's verdict on Fast Downward's cheapest plan; None where it proves there is none.

    Args:
        domain: the domain.
        problem: a problem of that domain; without a metric every action costs 1.
        seconds: wall time that one configuration may take.

    Raises:
        FastDownwardError: it ran out of time or failed, or its plan does not hold.
        ValueError: a cost has more than six decimals, or is too large.
    """
    case = Case("task", *write_pddl(*dialect(domain, problem)))
    with TemporaryDirectory(prefix="galley-fd-") as name:
        folder = Path(name)
        result = _solved(replace(_bench(), folder=folder, seconds=seconds), case)
        if result["status"] == "unsolvable":
            return None
        if result["status"] != "solved":
            raise FastDownwardError(f"{result['status']}: {result.get('why', '')}")
        file = folder / "plan"
        file.write_text(result["plan"], encoding="utf-8")
        verdict = validate_actions(domain, problem, read_plan(file))
    if not verdict.valid:
        raise FastDownwardError(f"Fast Downward's plan does not hold: {verdict.message}")
    return verdict


@cache
def _bench() -> Bench:
    return Bench.start(sys.executable, Path(), 60.0, 1)


def _solved(bench: Bench, case: Case) -> Result:
    """The first configuration that settles the task.

    Landmark-cut knows no conditional effects and no axioms, which is what the translator makes of
    quantifiers; h^max is admissible without axioms; blind search always works.
    """
    result = bench.once("fd-lmcut", case)
    if result["status"] == "unsupported" and not result["axioms"]:
        result = bench.once("fd-hmax", case)
    if result["status"] == "unsupported":
        result = bench.once("fd-blind", case)
    return result


def dialect(domain: Domain, problem: Problem) -> tuple[Domain, Problem]:
    """The same task for Fast Downward; costs in another unit, or none where nothing minimises them.

    Raises:
        ValueError: a cost has more than six decimals, or is too large.
    """
    domain, problem = _whole_costs(domain, problem)
    domain = replace(domain, actions=tuple(map(_with_flat_effects, domain.actions)))
    if any(len(types) > 1 for types in _types(domain, problem)) or any(
        len(each.parents) > 1 for each in domain.types
    ):
        domain, problem = _untyped(domain, problem)
    return replace(domain, requirements=_REQUIREMENTS), problem


# Types


def _types(domain: Domain, problem: Problem) -> Iterator[tuple[str, ...]]:
    """The types of every variable that is bound by an action or a quantifier."""
    seen: list[tuple[str, ...]] = []

    def note(variables: tuple[Variable, ...]) -> tuple[Variable, ...]:
        seen.extend(each.types for each in variables)
        return variables

    walk = _Rewriting(note, lambda variables: ())
    for action in domain.actions:
        note(action.parameters)
        walk.formulas(action.precondition)
        walk.effects(action.effect)
    walk.formulas(problem.goal)
    yield from seen


def _untyped(domain: Domain, problem: Problem) -> tuple[Domain, Problem]:
    """Facts in place of types: whatever the hierarchy, they say which objects are meant."""
    names = _declared_names(domain)
    wanted = dict.fromkeys(types for types in _types(domain, problem) if types != (OBJECT,))
    said = {types: _fresh_name(f"is-{'-or-'.join(types)}", names) for types in wanted}

    def bare(variables: tuple[Variable, ...]) -> tuple[Variable, ...]:
        return tuple(Variable(each.name) for each in variables)

    def guards(variables: tuple[Variable, ...]) -> tuple[Literal, ...]:
        found = [(said[each.types], each.name) for each in variables if each.types in said]
        return tuple(Literal(predicate, (name,)) for predicate, name in found)

    rewriting = _Rewriting(bare, guards)
    actions = tuple(
        replace(
            each,
            parameters=bare(each.parameters),
            precondition=(*guards(each.parameters), *rewriting.formulas(each.precondition)),
            effect=rewriting.effects(each.effect),
        )
        for each in domain.actions
    )
    facts = [
        Fact(predicate, (each.name,))
        for types, predicate in said.items()
        for each in problem.objects
        if domain.is_a(each.type, types)
    ]
    declared = [replace(each, parameters=bare(each.parameters)) for each in domain.predicates]
    declared += [Predicate(each, (Variable("?x"),)) for each in said.values()]
    changed_domain = replace(
        domain,
        types=(),
        constants=tuple(replace(each, type=OBJECT) for each in domain.constants),
        predicates=tuple(declared),
        functions=tuple(replace(f, parameters=bare(f.parameters)) for f in domain.functions),
        actions=actions,
    )
    changed_problem = replace(
        problem,
        objects=tuple(replace(each, type=OBJECT) for each in problem.objects),
        init=(*problem.init, *facts),
        goal=rewriting.formulas(problem.goal),
    )
    return changed_domain, changed_problem


class _Rewriting:
    """Replaces the variables that quantifiers bind, and restricts each to its guards."""

    def __init__(
        self,
        bare: Callable[[tuple[Variable, ...]], tuple[Variable, ...]],
        guards: Callable[[tuple[Variable, ...]], tuple[Literal, ...]],
    ) -> None:
        self.bare = bare
        self.guards = guards

    def formulas(self, parts: Iterable[Formula]) -> tuple[Formula, ...]:
        return tuple(map(self.formula, parts))

    def formula(self, node: Formula) -> Formula:
        match node:
            case And(parts):
                return And(self.formulas(parts))
            case Or(parts):
                return Or(self.formulas(parts))
            case Not(part):
                return Not(self.formula(part))
            case Imply(premise, conclusion):
                return Imply(self.formula(premise), self.formula(conclusion))
            case Exists(variables, part):
                guards, inner = self.guards(variables), self.formula(part)
                return Exists(self.bare(variables), And((*guards, inner)) if guards else inner)
            case Forall(variables, part):
                guards, inner = self.guards(variables), self.formula(part)
                return Forall(self.bare(variables), Imply(And(guards), inner) if guards else inner)
        return node

    def effects(self, parts: Iterable[Effect]) -> tuple[Effect, ...]:
        return tuple(map(self.effect, parts))

    def effect(self, node: Effect) -> Effect:
        match node:
            case When(condition, effects):
                return When(self.formulas(condition), self.effects(effects))
            case ForEach(variables, effects):
                guards, inner = self.guards(variables), self.effects(effects)
                return ForEach(self.bare(variables), (When(guards, inner),) if guards else inner)
        return node


# Effects


def _with_flat_effects(action: ActionSchema) -> ActionSchema:
    """The action with effects as Fast Downward takes them.

    Its translator breaks off at quantified effects within quantified effects, and at variables
    that hide others there. So every effect is brought into the form
    ``(forall (variables) (when conditions literal))`` with variables of its own; literals without
    condition stay as they are.
    """
    if all(isinstance(each, Literal) for each in action.effect):
        return action
    flat = _Flattening(action)
    return replace(action, effect=tuple(flat.effects(action.effect, (), (), {})))


class _Flattening:
    def __init__(self, action: ActionSchema) -> None:
        text = " ".join(map(str, action.effect))
        self.taken = {each.name for each in action.parameters} | set(
            re.findall(r"\?[^\s()]+", text)
        )
        self.numbers = count(1)

    def effects(
        self,
        parts: Iterable[Effect],
        variables: tuple[Variable, ...],
        conditions: tuple[Formula, ...],
        names: Binding,
    ) -> Iterator[Effect]:
        """The flat form of ``parts`` within quantifiers and conditions.

        Args:
            parts: effects as they are written.
            variables: those of the quantifiers around them, renamed.
            conditions: those around them, renamed.
            names: what each variable in sight is called now, where that is another name.
        """
        for part in parts:
            match part:
                case When(condition, effects):
                    renamed = tuple(instantiate(each, names) for each in condition)
                    yield from self.effects(effects, variables, (*conditions, *renamed), names)
                case ForEach(own, effects):
                    fresh = tuple(replace(each, name=self.fresh(each.name)) for each in own)
                    called = {old.name: new.name for old, new in zip(own, fresh, strict=True)}
                    inner = {**names, **called}
                    yield from self.effects(effects, (*variables, *fresh), conditions, inner)
                case Literal():
                    literal = replace(part, args=part.ground(names).args)
                    guarded = When(conditions, (literal,)) if conditions else literal
                    yield ForEach(variables, (guarded,)) if variables else guarded

    def fresh(self, name: str) -> str:
        """A variable that the action does not know yet."""
        return next(
            each
            for each in (f"{name}-{number}" for number in self.numbers)
            if each not in self.taken
        )


# Costs


def _whole_costs(domain: Domain, problem: Problem) -> tuple[Domain, Problem]:
    """The same task with whole costs, one number or function an action; none without a metric.

    Raises:
        ValueError: a cost has more than six decimals, or is too large.
    """
    if not problem.metric:
        actions = tuple(replace(each, cost=()) for each in domain.actions)
        return replace(domain, actions=actions, functions=()), replace(problem, values={})
    names = _declared_names(domain)
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
            _fresh_name(f"cost-of-{action.name}", names),
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


def _fresh_name(name: str, taken: AbstractSet[str]) -> str:
    """``name``, with dashes at its end where it is taken."""
    while name in taken:
        name += "-"
    return name


def _declared_names(domain: Domain) -> set[str]:
    """The names of a domain's predicates, types, functions and actions."""
    found = {each.name for each in domain.predicates} | {each.name for each in domain.types}
    found |= {each.name for each in domain.functions}
    return found | {each.name for each in domain.actions}
