"""A ground planning task: states are integers, one bit a fact."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from galley.domain.formula import Fact, Formula
from galley.domain.pddl import Domain, Problem

if TYPE_CHECKING:
    from galley.planning.relaxation import Fixpoint, Reach


@dataclass(frozen=True, order=True, slots=True)
class GroundAction:
    """An action applied to objects: ``(pick sugar burner h1)``."""

    name: str
    args: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"({' '.join((self.name, *self.args))})"


@dataclass(frozen=True, slots=True)
class Condition:
    """What a state must be like, in negation normal form over the bits of a Task.

    Attributes:
        pre: facts that must hold.
        neg: facts that must not hold.
        any_of: disjunctions: of each, one condition must hold (an empty one never does).
    """

    pre: int = 0
    neg: int = 0
    any_of: tuple[tuple[Condition, ...], ...] = ()

    def holds(self, state: int) -> bool:
        """Whether ``state`` satisfies it."""
        if state & (self.pre | self.neg) != self.pre:
            return False
        return all(any(part.holds(state) for part in choice) for choice in self.any_of)

    def read(self) -> int:
        """Every fact it speaks of."""
        found = self.pre | self.neg
        for choice in self.any_of:
            for part in choice:
                found |= part.read()
        return found


NEVER = Condition(any_of=((),))  # holds in no state


@dataclass(frozen=True, slots=True)
class ConditionalEffect:
    """Facts that an action adds and deletes only where ``condition`` holds before it."""

    condition: Condition
    add: int
    delete: int


@dataclass(frozen=True, slots=True)
class Operator:
    """A ground action as sets of facts, each a bit mask over ``Task.facts``.

    Attributes:
        action: what it is called.
        condition: its precondition.
        add: facts that it makes true whatever the state.
        delete: facts that it makes false whatever the state; disjoint from ``add``.
        conditional: effects that depend on the state.
        cost: what it adds to the cost of a plan.
    """

    action: GroundAction
    condition: Condition
    add: int
    delete: int
    conditional: tuple[ConditionalEffect, ...] = ()
    cost: float = 1.0

    def applicable(self, state: int) -> bool:
        """Whether its precondition holds in ``state``."""
        return self.condition.holds(state)

    def apply(self, state: int) -> int:
        """The state that follows ``state``; adding wins over deleting."""
        add, delete = self.add, self.delete
        for effect in self.conditional:
            if effect.condition.holds(state):
                add |= effect.add
                delete |= effect.delete
        return state & ~delete | add


@dataclass(frozen=True)
class Task:
    """What a search needs, and the domain and problem it stands for.

    ``forbid``, ``with_facts`` and ``with_goal`` make a changed task out of this one without
    grounding anew; ``problem`` always says what the task now is.

    Attributes:
        domain: the lifted domain.
        problem: the lifted problem.
        facts: the fact of each bit. Facts that can never change have no bit, except those of the
            goal: they always have one, also where nothing can make them true.
        operators: relaxed-reachable ground actions, ordered as schemas and objects are declared.
        init: the initial state.
        goal: what must hold at the end.
        goals: the same by parts: each formula of ``problem.goal`` as a condition.
        forbidden: actions that no plan may hold; ``operators`` has none of them.
        reach: what is relaxed-reachable from its initial state.
        fixpoint: the computation behind it, which goes on where a changed task has more facts.
    """

    domain: Domain
    problem: Problem
    facts: tuple[Fact, ...]
    operators: tuple[Operator, ...]
    init: int
    goal: Condition
    goals: tuple[tuple[Formula, Condition], ...]
    reach: Reach = field(repr=False, compare=False)
    fixpoint: Fixpoint = field(repr=False, compare=False)
    forbidden: frozenset[GroundAction] = frozenset()

    @cached_property
    def bits(self) -> Mapping[Fact, int]:
        """The mask of each fact; the inverse of ``facts``."""
        return {fact: 1 << position for position, fact in enumerate(self.facts)}

    def is_goal(self, state: int) -> bool:
        """Whether the goal holds in ``state``."""
        return self.goal.holds(state)

    def holding(self, state: int) -> frozenset[Fact]:
        """The facts of ``state`` that have a bit."""
        return frozenset(fact for i, fact in enumerate(self.facts) if state >> i & 1)

    def mask(self, facts: Iterable[Fact]) -> int:
        """The set of those ``facts`` that have a bit."""
        found = 0
        for fact in facts:
            found |= self.bits.get(fact, 0)
        return found

    def forbid(self, *actions: GroundAction | str) -> Task:
        """The same task without ``actions``.

        Args:
            actions: ground actions, or their text: ``"(pick sugar burner h1)"``.

        Raises:
            ValueError: the domain has no such action, or the problem no such object.
        """
        from galley.planning.naming import action_of

        named = frozenset(action_of(self.domain, self.problem, each) for each in actions)
        kept = tuple(each for each in self.operators if each.action not in named)
        return replace(self, operators=kept, forbidden=self.forbidden | named)

    def with_facts(self, *facts: Fact | str, without: Iterable[Fact | str] = ()) -> Task:
        """The same task from an initial state with ``facts`` added.

        Args:
            facts: facts, or their text: ``"(blocked-by spam sugar)"``.
            without: facts that no longer hold at the start.

        Raises:
            ValueError: the domain has no such predicate, or the problem no such object.
        """
        from galley.planning.grounding import changed_init
        from galley.planning.naming import fact_of

        added = [fact_of(self.domain, self.problem, each) for each in facts]
        removed = [fact_of(self.domain, self.problem, each) for each in without]
        return changed_init(self, added, removed)

    def with_goal(self, *goal: Formula | Fact | str) -> Task:
        """The same task with another goal: all of ``goal`` must hold.

        Args:
            goal: formulas without free variables, facts, or the text of either.

        Raises:
            ValueError: a name in it is not declared, or it asks for a fact and its negation.
        """
        from galley.planning.grounding import changed_goal
        from galley.planning.naming import goal_of

        return changed_goal(self, goal_of(self.domain, self.problem, goal))
