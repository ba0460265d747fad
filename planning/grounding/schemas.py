"""Action schemas made ready to be applied to objects, by the thousand.

Literals, most of what conditions and effects are made of, become patterns of argument positions;
only what is left goes through the general normal form.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum

from galley.domain.errors import BadInput
from galley.domain.pddl.formula import EQUALITY, Fact, Literal
from galley.domain.pddl.model import ActionSchema, Domain, Problem
from galley.planning.grounding.normal_form import (
    FactCondition,
    FactEffect,
    Objects,
    conjunction,
    ground_effects,
)
from galley.planning.operators import COST_DECIMALS, GroundAction

Pattern = tuple[int | str, ...]  # for each argument a parameter's position, or an object's name
Binding = list[str | None]  # one entry a parameter of the schema; None where still free


@dataclass(frozen=True, slots=True)
class Instance:
    """A ground action, its condition and what it does."""

    action: GroundAction
    condition: FactCondition
    add: tuple[Fact, ...]
    delete: tuple[Fact, ...]
    conditional: tuple[FactEffect, ...]


class Schema:
    """An action schema as patterns, in one problem."""

    def __init__(
        self, schema: ActionSchema, domain: Domain, problem: Problem, objects: Objects
    ) -> None:
        self.name = schema.name
        self.schema = schema
        self.domain = domain
        self.problem = problem
        self.objects = objects
        self.position = {p.name: i for i, p in enumerate(schema.parameters)}
        self.candidates = [objects.of(p.types) for p in schema.parameters]
        self.allowed = [frozenset(each) for each in self.candidates]
        self.positive: list[tuple[str, Pattern]] = []
        self.negative: list[tuple[str, Pattern]] = []
        self.equalities: list[tuple[Pattern, bool]] = []
        self.formulas = []
        for each in schema.precondition:
            if not isinstance(each, Literal):
                self.formulas.append(each)
            elif each.predicate == EQUALITY:
                self.equalities.append((self._pattern(each), each.positive))
            else:
                kept = self.positive if each.positive else self.negative
                kept.append((each.predicate, self._pattern(each)))
        simple = [each for each in schema.effect if isinstance(each, Literal)]
        self.adds = [(e.predicate, self._pattern(e)) for e in simple if e.positive]
        self.deletes = [(e.predicate, self._pattern(e)) for e in simple if not e.positive]
        self.effects = [each for each in schema.effect if not isinstance(each, Literal)]

    def _pattern(self, literal: Literal) -> Pattern:
        return tuple(self.position.get(arg, arg) for arg in literal.args)

    def unify(self, pattern: Pattern, args: tuple[str, ...], binding: Binding) -> Binding | None:
        """``binding`` extended so that ``pattern`` becomes ``args``, or None."""
        extended = list(binding)
        for item, arg in zip(pattern, args, strict=True):
            if isinstance(item, str):
                if item != arg:
                    return None
            elif extended[item] is None:
                if arg not in self.allowed[item]:
                    return None
                extended[item] = arg
            elif extended[item] != arg:
                return None
        return extended

    def instantiate(self, args: tuple[str, ...]) -> Instance | None:
        """The schema applied to ``args``; None where its precondition contradicts itself."""
        for (left, right), positive in self.equalities:
            a = left if isinstance(left, str) else args[left]
            b = right if isinstance(right, str) else args[right]
            if (a == b) != positive:
                return None
        pre = _facts(self.positive, args)
        neg = _facts(self.negative, args)
        if neg and not set(pre).isdisjoint(neg):  # (near ?from) (not (near ?to)), for one place
            return None
        condition = FactCondition(pre, neg)
        binding = {}
        if self.formulas or self.effects:
            parameters = self.schema.parameters
            binding = {p.name: arg for p, arg in zip(parameters, args, strict=True)}
        if self.formulas:
            rest = conjunction(self.schema.precondition, binding, self.objects)
            if rest is None:
                return None
            condition = rest
        if self.effects:
            add, delete, more = ground_effects(self.schema.effect, binding, self.objects)
        else:
            add, more = _facts(self.adds, args), ()
            delete = _facts(self.deletes, args)
            if not set(add).isdisjoint(delete):  # adding wins
                delete = tuple(fact for fact in delete if fact not in add)
        return Instance(GroundAction(self.name, args), condition, add, delete, more)

    def cost(self, args: tuple[str, ...]) -> float:
        """What the action adds to ``total-cost``; 1 where the problem has no metric.

        Raises:
            BadInput: the problem gives no value to a function that the cost names.
        """
        if not self.problem.metric:
            return 1.0
        binding = {p.name: arg for p, arg in zip(self.schema.parameters, args, strict=True)}
        terms = []
        for term in self.schema.cost:
            if isinstance(term, int | float):
                terms.append(float(term))
                continue
            key = term.ground(binding)
            value = self.problem.values.get(key)
            if value is None:
                action = GroundAction(self.name, args)
                what = f"the cost of {action} needs {key}, which {self.problem.file} does not give"
                raise BadInput.one(self.domain.file, what, term.line, term.column)
            terms.append(value)
        # Of 0.1 and 0.2 the sum is 0.3.
        return round(fsum(terms), COST_DECIMALS) if len(terms) > 1 else sum(terms)


def _facts(patterns: list[tuple[str, Pattern]], args: tuple[str, ...]) -> tuple[Fact, ...]:
    return tuple(
        dict.fromkeys(
            Fact(name, tuple([i if isinstance(i, str) else args[i] for i in pattern]))
            for name, pattern in patterns
        )
    )
