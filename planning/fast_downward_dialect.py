"""A domain and a problem, rewritten into the part of PDDL that Fast Downward reads.

| PDDL | what Fast Downward 26.6 lacks | instead |
|---|---|---|
| types | ``either``, a type under two others | static facts that say what an object is |
| effects | quantifiers within quantifiers | each literal with all its quantifiers and conditions |
| costs | sums, fractions | one function an action; a power of ten as the unit |
| forbidden actions | (not PDDL) | static facts, negated in preconditions |

Plans of the rewritten problem are plans of the original one, under the same names.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace

from galley.domain.formula import (
    OBJECT,
    And,
    Effect,
    Exists,
    Fact,
    Forall,
    ForEach,
    Formula,
    Imply,
    Literal,
    Not,
    Or,
    Variable,
    When,
)
from galley.domain.pddl import Domain, Predicate, Problem
from galley.planning.fast_downward_costs import declared_names, fresh_name, whole_costs
from galley.planning.fast_downward_effects import with_flat_effects
from galley.planning.operators import GroundAction

_REQUIREMENTS = (":adl", ":action-costs")


def dialect(
    domain: Domain, problem: Problem, forbidden: Collection[GroundAction] = ()
) -> tuple[Domain, Problem]:
    """The same task for Fast Downward; costs in another unit, or none where nothing minimises them.

    Args:
        domain: the domain.
        problem: a problem of that domain.
        forbidden: actions that no plan may hold.

    Raises:
        ValueError: a cost has more than six decimals, or is too large.
    """
    domain, problem = whole_costs(domain, problem)
    domain = replace(domain, actions=tuple(map(with_flat_effects, domain.actions)))
    domain, problem = _without(domain, problem, forbidden)
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
    names = declared_names(domain)
    wanted = dict.fromkeys(types for types in _types(domain, problem) if types != (OBJECT,))
    said = {types: fresh_name(f"is-{'-or-'.join(types)}", names) for types in wanted}

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


# Forbidden actions


def _without(
    domain: Domain, problem: Problem, forbidden: Collection[GroundAction]
) -> tuple[Domain, Problem]:
    names = declared_names(domain)
    actions, predicates, facts = [], list(domain.predicates), list(problem.init)
    for action in domain.actions:
        barred = sorted(each.args for each in forbidden if each.name == action.name)
        if barred:
            predicate = fresh_name(f"forbidden-{action.name}", names)
            arguments = tuple(each.name for each in action.parameters)
            bar = Literal(predicate, arguments, positive=False)
            action = replace(action, precondition=(*action.precondition, bar))
            predicates.append(Predicate(predicate, tuple(map(Variable, arguments))))
            facts += [Fact(predicate, args) for args in barred]
        actions.append(action)
    domain = replace(domain, actions=tuple(actions), predicates=tuple(predicates))
    return domain, replace(problem, init=tuple(facts))
