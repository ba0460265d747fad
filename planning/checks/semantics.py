"""Semantics of PDDL formulas and effects, evaluated on their syntax trees over sets of facts.

It is the reference for the bit masks of the search, so it stays close to the definition of PDDL,
and precomputes only the objects of each type.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product

from galley.domain.pddl import formula as pddl
from galley.domain.pddl.formula import EQUALITY, Effect, Fact, Formula, Literal, Variable
from galley.domain.pddl.model import Domain, Problem

State = frozenset[Fact]
Binding = Mapping[str, str]


@dataclass(frozen=True)
class Semantics:
    """Evaluates formulas and effects over the objects of one problem.

    Attributes:
        domain: declares the types.
        problem: declares the objects.
    """

    domain: Domain
    problem: Problem
    _members: dict[tuple[str, ...], tuple[str, ...]] = field(
        default_factory=dict, repr=False, compare=False
    )

    def objects(self, types: tuple[str, ...]) -> tuple[str, ...]:
        """The objects of one of ``types``, in the order of declaration."""
        members = self._members.get(types)
        if members is None:
            is_a = self.domain.is_a
            fitting = {t: is_a(t, types) for t in {item.type for item in self.problem.objects}}
            members = tuple(item.name for item in self.problem.objects if fitting[item.type])
            self._members[types] = members
        return members

    def bindings(self, variables: tuple[Variable, ...], outer: Binding) -> Iterator[Binding]:
        """``outer`` extended by each binding of ``variables`` in turn.

        Yields the same mapping each time, changed in place: don't keep it.
        """
        names = [variable.name for variable in variables]
        inner = dict(outer)
        for choice in product(*(self.objects(variable.types) for variable in variables)):
            inner.update(zip(names, choice, strict=True))
            yield inner

    def holds(self, formula: Formula, binding: Binding, state: Container[Fact]) -> bool:
        """Whether ``formula`` holds in ``state``; ``binding`` binds its free variables."""
        match formula:
            case Literal():
                fact = formula.ground(binding)
                if formula.predicate == EQUALITY:
                    return (fact.args[0] == fact.args[1]) == formula.positive
                return (fact in state) == formula.positive
            case pddl.And(parts):
                return all(self.holds(part, binding, state) for part in parts)
            case pddl.Or(parts):
                return any(self.holds(part, binding, state) for part in parts)
            case pddl.Not(part):
                return not self.holds(part, binding, state)
            case pddl.Imply(premise, conclusion):
                either = pddl.Or((pddl.Not(premise), conclusion))
                return self.holds(either, binding, state)
            case pddl.Exists(variables, part):
                inner = self.bindings(variables, binding)
                return any(self.holds(part, extended, state) for extended in inner)
            case pddl.Forall(variables, part):
                inner = self.bindings(variables, binding)
                return all(self.holds(part, extended, state) for extended in inner)

    def failing_parts(
        self, formula: Formula, binding: Binding, state: Container[Fact]
    ) -> tuple[Formula, ...]:
        """The smallest ground parts that make ``formula`` false; none if it is true.

        They explain the failure to a user. For a conjunction they are the parts that fail, for a
        universal formula the failing parts of one counterexample, for a negated disjunction or
        existential formula the parts that should not hold. Any other formula is returned whole.
        """
        if self.holds(formula, binding, state):
            return ()
        match formula:
            case pddl.And(parts):
                groups = (self.failing_parts(part, binding, state) for part in parts)
                return tuple(failing for group in groups for failing in group)
            case pddl.Or((part,)):
                return self.failing_parts(part, binding, state)
            case pddl.Forall(variables, part):
                for inner in self.bindings(variables, binding):
                    failing_parts = self.failing_parts(part, inner, state)
                    if failing_parts:
                        return failing_parts
            case pddl.Not(pddl.Not(part)):
                return self.failing_parts(part, binding, state)
            case pddl.Not(pddl.Or(parts)):
                groups = (self.failing_parts(_negation(part), binding, state) for part in parts)
                return tuple(failing for group in groups for failing in group)
            case pddl.Not(pddl.Exists(variables, part)):
                return self.failing_parts(pddl.Forall(variables, _negation(part)), binding, state)
        return (instantiate(formula, binding),)

    def changes(
        self, effects: Iterable[Effect], binding: Binding, state: State
    ) -> tuple[set[Fact], set[Fact]]:
        """The facts that ``effects`` add and delete in ``state``."""
        added: set[Fact] = set()
        deleted: set[Fact] = set()

        def collect(effects: Iterable[Effect], binding: Binding) -> None:
            for effect in effects:
                match effect:
                    case Literal():
                        (added if effect.positive else deleted).add(effect.ground(binding))
                    case pddl.When(condition, inner):
                        if all(self.holds(formula, binding, state) for formula in condition):
                            collect(inner, binding)
                    case pddl.ForEach(variables, inner):
                        for inner_binding in self.bindings(variables, binding):
                            collect(inner, inner_binding)

        collect(effects, binding)
        return added, deleted


def instantiate(formula: Formula, binding: Binding) -> Formula:
    """``formula`` with its free variables replaced by objects."""
    match formula:
        case Literal():
            return replace(formula, args=formula.ground(binding).args)
        case pddl.And(parts) | pddl.Or(parts):
            return type(formula)(tuple(instantiate(part, binding) for part in parts))
        case pddl.Not(part):
            return pddl.Not(instantiate(part, binding))
        case pddl.Imply(premise, conclusion):
            return pddl.Imply(instantiate(premise, binding), instantiate(conclusion, binding))
        case pddl.Exists(variables, part) | pddl.Forall(variables, part):
            bound = {variable.name for variable in variables}
            free = {name: value for name, value in binding.items() if name not in bound}
            return type(formula)(variables, instantiate(part, free))


def _negation(formula: Formula) -> Formula:
    """The negation of ``formula``; of a literal, the literal of the other sign."""
    if isinstance(formula, Literal):
        return replace(formula, positive=not formula.positive)
    return pddl.Not(formula)
