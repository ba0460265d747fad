"""Formulas over objects in negation normal form: quantifiers expanded, equality evaluated.

What remains is a conjunction of facts, negated facts and disjunctions of the same. Facts that
never change are kept: which those are is known only after relaxed reachability.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from galley.domain.pddl.formula import (
    EQUALITY,
    And,
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
from galley.domain.pddl.model import Domain, Problem
from galley.planning.limits import Allowance

Binding = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class FactCondition:
    """A condition on facts; of each of ``any_of`` one part must hold."""

    pre: tuple[Fact, ...] = ()
    neg: tuple[Fact, ...] = ()
    any_of: tuple[tuple[FactCondition, ...], ...] = ()


TRUE = FactCondition()


class Objects:
    """The objects of a problem by type; quantifiers and parameters range over them."""

    def __init__(self, domain: Domain, problem: Problem, allowance: Allowance) -> None:
        self.allowance = allowance
        self._domain = domain
        self._objects = problem.objects
        self.of = lru_cache(maxsize=None)(self._of)

    def _of(self, types: tuple[str, ...]) -> tuple[str, ...]:
        """Names of the objects of one of ``types``, in order of declaration."""
        return tuple(o.name for o in self._objects if self._domain.is_a(o.type, types))

    def bindings(self, variables: tuple[Variable, ...], outer: Binding) -> Iterator[Binding]:
        """``outer`` extended by every choice of objects for ``variables``."""
        names = [each.name for each in variables]
        spend = self.allowance.spend
        for chosen in product(*(self.of(each.types) for each in variables)):
            spend()
            yield {**outer, **dict(zip(names, chosen, strict=True))}


def conjunction(
    formulas: Iterable[Formula], binding: Binding, objects: Objects
) -> FactCondition | None:
    """All of ``formulas`` under ``binding``; None where they contradict themselves."""
    parts = _all(_normal(each, binding, objects, True) for each in formulas)
    if isinstance(parts, bool):
        return TRUE if parts else None
    return parts


@dataclass(frozen=True, slots=True)
class FactEffect:
    """Facts added and deleted where ``condition`` holds; adding wins."""

    condition: FactCondition
    add: tuple[Fact, ...]
    delete: tuple[Fact, ...]


def ground_effects(
    effects: Iterable[Literal | When | ForEach], binding: Binding, objects: Objects
) -> tuple[tuple[Fact, ...], tuple[Fact, ...], tuple[FactEffect, ...]]:
    """What effects do: facts added, facts deleted (both whatever the state), and the rest."""
    add: dict[Fact, None] = {}
    delete: dict[Fact, None] = {}
    conditional: dict[FactCondition, tuple[list[Fact], list[Fact]]] = {}
    for condition, literal, inner in _simple_effects(effects, TRUE, binding, objects):
        fact = literal.ground(inner)
        if condition == TRUE:
            (add if literal.positive else delete)[fact] = None
        else:
            pair = conditional.setdefault(condition, ([], []))
            pair[not literal.positive].append(fact)
    kept = tuple(fact for fact in delete if fact not in add)
    rest = []
    for condition, (more, less) in conditional.items():
        # What is added anyway can't be deleted, and need not be added twice.
        more = [fact for fact in dict.fromkeys(more) if fact not in add]
        less = [fact for fact in dict.fromkeys(less) if fact not in add and fact not in more]
        if more or less:
            rest.append(FactEffect(condition, tuple(more), tuple(less)))
    return tuple(add), kept, tuple(rest)


def _simple_effects(
    effects: Iterable[Literal | When | ForEach],
    condition: FactCondition,
    binding: Binding,
    objects: Objects,
) -> Iterator[tuple[FactCondition, Literal, Binding]]:
    for effect in effects:
        if isinstance(effect, Literal):
            yield condition, effect, binding
        elif isinstance(effect, ForEach):
            for inner in objects.bindings(effect.variables, binding):
                yield from _simple_effects(effect.effects, condition, inner, objects)
        else:
            premise = conjunction(effect.condition, binding, objects)
            both = _all([condition, premise if premise is not None else False])
            if both is not False:
                reached = TRUE if both is True else both
                yield from _simple_effects(effect.effects, reached, binding, objects)


_Part = FactCondition | bool


def _normal(formula: Formula, binding: Binding, objects: Objects, wanted: bool) -> _Part:
    """``formula`` (``wanted``) or its negation, with negation pushed down to the facts."""
    if isinstance(formula, Literal):
        fact = formula.ground(binding)
        positive = formula.positive == wanted
        if formula.predicate == EQUALITY:
            return (fact.args[0] == fact.args[1]) == positive
        return FactCondition(pre=(fact,)) if positive else FactCondition(neg=(fact,))
    if isinstance(formula, Not):
        return _normal(formula.part, binding, objects, not wanted)
    if isinstance(formula, Imply):
        premise = _normal(formula.premise, binding, objects, not wanted)
        conclusion = _normal(formula.conclusion, binding, objects, wanted)
        return (_any if wanted else _all)([premise, conclusion])
    if isinstance(formula, And | Or):
        parts = (_normal(each, binding, objects, wanted) for each in formula.parts)
        return (_all if isinstance(formula, And) == wanted else _any)(parts)
    # Forall, or Exists.
    choices = objects.bindings(formula.variables, binding)
    parts = (_normal(formula.part, inner, objects, wanted) for inner in choices)
    return (_all if isinstance(formula, Forall) == wanted else _any)(parts)


def _all(parts: Iterable[_Part]) -> _Part:
    pre: dict[Fact, None] = {}
    neg: dict[Fact, None] = {}
    any_of: dict[tuple[FactCondition, ...], None] = {}
    for part in parts:
        if part is False:
            return False
        if part is not True:
            pre.update(dict.fromkeys(part.pre))
            neg.update(dict.fromkeys(part.neg))
            any_of.update(dict.fromkeys(part.any_of))
    if not pre.keys().isdisjoint(neg):  # (near ?from) (not (near ?to)), for one and the same place
        return False
    if not pre and not neg and not any_of:
        return True
    return FactCondition(tuple(pre), tuple(neg), tuple(any_of))


def _any(parts: Iterable[_Part]) -> _Part:
    choices: dict[FactCondition, None] = {}
    for part in parts:
        if part is True:
            return True
        if part is not False:
            # A disjunction within a disjunction is one.
            if not part.pre and not part.neg and len(part.any_of) == 1:
                choices.update(dict.fromkeys(part.any_of[0]))
            else:
                choices[part] = None
    if not choices:
        return False
    if len(choices) == 1:
        return next(iter(choices))
    return FactCondition(any_of=(tuple(choices),))
