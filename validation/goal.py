"""Whether a PDDL goal holds, each predicate looked up in the geometry."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from itertools import product

from galley.domain.formula import (
    EQUALITY,
    OBJECT,
    And,
    Exists,
    Fact,
    Forall,
    Formula,
    Imply,
    Literal,
    Not,
    Or,
    Variable,
)
from galley.domain.pddl import Domain, Problem
from galley.validation.facts import Final, seen
from galley.validation.verdict import GoalFact

Look = Callable[[Fact], bool]


@dataclass(frozen=True)
class Goal:
    """What was asked for.

    Attributes:
        domain, problem: whose goal it is.
        symbolic: facts that hold at the end as far as symbols tell, of the plan or of what was
            executed; they decide what has no meaning in metres, such as ``(empty h1)``.
    """

    domain: Domain
    problem: Problem
    symbolic: Collection[Fact] = ()


def judged(goal: Goal, final: Final) -> tuple[GoalFact, ...]:
    """Each part of the goal, with the figures that decided it."""
    return tuple(_judged(goal, final, part) for part in goal.problem.goal)


def _judged(goal: Goal, final: Final, part: Formula) -> GoalFact:
    whys: dict[Fact, str] = {}

    def look(fact: Fact) -> bool:
        found = seen(final, fact)
        if found is None:
            found = (
                fact in goal.symbolic,
                "has no geometric meaning; as the plan's symbols say",
            )
        whys[fact] = found[1]
        return found[0]

    if isinstance(part, Literal) and part.predicate == EQUALITY:
        return GoalFact(str(part), true(goal, part, {}, look), "the names of objects say so")
    holds = true(goal, part, {}, look)
    return GoalFact(str(part), holds, "; ".join(dict.fromkeys(whys.values())))


def true(goal: Goal, formula: Formula, binding: Mapping[str, str], look: Look) -> bool:
    """Whether a formula holds, its variables bound to objects, its facts looked up by ``look``."""

    def each(part: Formula, more: Mapping[str, str] = binding) -> bool:
        return true(goal, part, more, look)

    match formula:
        case Literal(predicate=predicate, positive=positive):
            fact = formula.ground(binding)
            if predicate == EQUALITY:
                return (fact.args[0] == fact.args[1]) == positive
            return look(fact) == positive
        case And(parts):
            return all(each(part) for part in parts)
        case Or(parts):
            return any(each(part) for part in parts)
        case Not(part):
            return not each(part)
        case Imply(premise, conclusion):
            return not each(premise) or each(conclusion)
        case Exists(variables, part):
            return any(each(part, {**binding, **more}) for more in _bindings(goal, variables))
        case Forall(variables, part):
            return all(each(part, {**binding, **more}) for more in _bindings(goal, variables))


def _bindings(goal: Goal, variables: tuple[Variable, ...]) -> list[dict[str, str]]:
    """Every way to put objects of the right types in place of variables."""
    candidates = [
        [thing.name for thing in goal.problem.objects if _is_a(goal.domain, thing.type, v.types)]
        for v in variables
    ]
    names = [v.name for v in variables]
    return [dict(zip(names, chosen, strict=True)) for chosen in product(*candidates)]


def _is_a(domain: Domain, name: str, wanted: tuple[str, ...]) -> bool:
    """Whether a type is one of those wanted, or under one."""
    if name in wanted or OBJECT in wanted:
        return True
    above = next((each.parents for each in domain.types if each.name == name), ())
    return any(parent != OBJECT and _is_a(domain, parent, wanted) for parent in above)
