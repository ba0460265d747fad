"""A ground planning task: states are integers, one bit a fact."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from galley.domain.pddl import Domain, Fact, Literal, Problem


@dataclass(frozen=True, order=True, slots=True)
class GroundAction:
    """An action applied to objects: ``(pick sugar burner h1)``."""

    name: str
    args: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"({' '.join((self.name, *self.args))})"


@dataclass(frozen=True, slots=True)
class Operator:
    """A ground action as four sets of facts, each a bit mask over ``Task.facts``.

    It is applicable in ``state`` where ``state & (pre | neg) == pre``, and leads to
    ``state & ~delete | add``; ``delete`` and ``add`` don't overlap.

    Attributes:
        action: what it is called.
        pre: facts that must hold.
        neg: facts that must not hold.
        add: facts that it makes true.
        delete: facts that it makes false.
        cost: what it adds to the cost of a plan.
    """

    action: GroundAction
    pre: int
    neg: int
    add: int
    delete: int
    cost: float = 1.0

    def applicable(self, state: int) -> bool:
        """Whether every precondition holds in ``state``."""
        return state & (self.pre | self.neg) == self.pre

    def apply(self, state: int) -> int:
        """The state that follows ``state``."""
        return state & ~self.delete | self.add


@dataclass(frozen=True)
class Task:
    """What a search needs, and the domain and problem it came from for explanations.

    Attributes:
        domain: the lifted domain.
        problem: the lifted problem.
        facts: the fact of each bit. Facts that can never change have no bit, except goal facts:
            those always have one, also where nothing can make them true.
        operators: relaxed-reachable ground actions, ordered as schemas and objects are declared.
        init: the initial state.
        goal: bits that must be set at the end.
        anti_goal: bits that must be clear at the end.
    """

    domain: Domain
    problem: Problem
    facts: tuple[Fact, ...]
    operators: tuple[Operator, ...]
    init: int
    goal: int
    anti_goal: int

    @cached_property
    def bits(self) -> Mapping[Fact, int]:
        """The mask of each fact; the inverse of ``facts``."""
        return {fact: 1 << position for position, fact in enumerate(self.facts)}

    def is_goal(self, state: int) -> bool:
        """Whether every goal literal holds in ``state``."""
        return state & (self.goal | self.anti_goal) == self.goal

    def holding(self, state: int) -> frozenset[Fact]:
        """The facts of ``state`` that have a bit."""
        return frozenset(fact for i, fact in enumerate(self.facts) if state >> i & 1)

    def mask(self, facts: Iterable[Fact]) -> int:
        """The set of those ``facts`` that have a bit."""
        found = 0
        for fact in facts:
            found |= self.bits.get(fact, 0)
        return found

    def impossible_goals(self) -> tuple[Literal, ...]:
        """Goal literals that are false at first and that no reachable action can make true."""
        addable = deletable = 0
        for operator in self.operators:
            addable |= operator.add
            deletable |= operator.delete
        never_true = self.goal & ~(self.init | addable)
        never_false = self.anti_goal & self.init & ~deletable
        doomed = never_true | never_false
        return tuple(g for g in self.problem.goal if self.bits.get(g.fact, 0) & doomed)
