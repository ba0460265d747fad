"""Ground actions as operators on sets of facts, and plans of them.

A state is an integer, one bit a fact.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum


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


COST_DECIMALS = 9  # of a sum of costs; what is beyond is the dust of binary fractions

NEVER = Condition(any_of=((),))  # holds in no state


def all_of(conditions: Iterable[Condition]) -> Condition:
    """All of ``conditions`` at once."""
    pre = neg = 0
    any_of: dict[tuple[Condition, ...], None] = {}
    for each in conditions:
        pre |= each.pre
        neg |= each.neg
        any_of.update(dict.fromkeys(each.any_of))
    if pre & neg or () in any_of:
        return NEVER
    return Condition(pre, neg, tuple(any_of))


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

    def changes(self, facts: int) -> bool:
        """Whether it may change one of ``facts``."""
        if (self.add | self.delete) & facts:
            return True
        return any((effect.add | effect.delete) & facts for effect in self.conditional)


def bits_of(mask: int) -> list[int]:
    """The bits of ``mask``, lowest first."""
    bits = []
    while mask:
        lowest = mask & -mask
        bits.append(lowest)
        mask ^= lowest
    return bits


@dataclass(frozen=True)
class Plan:
    """A plan that a search found.

    Attributes:
        actions: the actions in order; empty where the goal holds already.
        cost: the sum of the actions' costs.
        expanded: states whose successors were computed.
        generated: distinct states seen, the initial one included.
        seconds: wall time of the search in seconds, its preparations included, without grounding.
    """

    actions: tuple[GroundAction, ...]
    cost: float
    expanded: int
    generated: int
    seconds: float

    def __str__(self) -> str:
        return "\n".join(map(str, self.actions))


def steps_to(state: int, reached: Mapping[int, tuple[int, int]]) -> list[int]:
    """The operators, by number, that led to ``state``.

    Args:
        state: where to end.
        reached: for each state the one before and the operator between; the start has none, or -1.
    """
    steps = []
    before, step = reached.get(state, (state, -1))
    while step >= 0:
        steps.append(step)
        before, step = reached.get(before, (before, -1))
    return steps[::-1]


def plan_of(
    operators: Sequence[Operator], *, expanded: int, generated: int, seconds: float
) -> Plan:
    """The plan that ``operators`` are."""
    return Plan(
        tuple(each.action for each in operators),
        round(fsum(each.cost for each in operators), COST_DECIMALS),
        expanded,
        generated,
        seconds,
    )
