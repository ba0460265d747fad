"""Ground actions, operators and plans. A state is an integer with one bit for each fact."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import lcm


@dataclass(frozen=True, order=True, slots=True)
class GroundAction:
    """An action applied to objects, such as ``(pick sugar burner h1)``.

    Attributes:
        name: the action's name.
        args: names of the objects, in the order of the action's parameters.
    """

    name: str
    args: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"({' '.join((self.name, *self.args))})"


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on states in negation normal form, over the bits of a Task.

    Attributes:
        pre: mask of the facts that must be true.
        neg: mask of the facts that must be false.
        any_of: disjunctions, of each of which one part must hold (an empty one never holds).
    """

    pre: int = 0
    neg: int = 0
    any_of: tuple[tuple[Condition, ...], ...] = ()

    def holds(self, state: int) -> bool:
        """Whether ``state`` satisfies the condition."""
        # One comparison tests both: of the facts named, exactly those of ``pre`` are true.
        if state & (self.pre | self.neg) != self.pre:
            return False
        return not self.any_of or all(
            any(part.holds(state) for part in choice) for choice in self.any_of
        )

    def facts(self) -> int:
        """Mask of the facts that the condition mentions."""
        facts = self.pre | self.neg
        for choice in self.any_of:
            for part in choice:
                facts |= part.facts()
        return facts


COST_DECIMALS = 9  # to which a sum of costs is rounded, which drops binary rounding errors


def cost_text(cost: float) -> str:
    """A sum of costs, written out exactly: ``1000001``, ``2.5``."""
    return f"{cost:.{COST_DECIMALS}f}".rstrip("0").rstrip(".")


NEVER = Condition(any_of=((),))  # holds in no state


def conjoin(conditions: Iterable[Condition]) -> Condition:
    """The conjunction of ``conditions``; NEVER if literals contradict each other."""
    pre = neg = 0
    any_of: dict[tuple[Condition, ...], None] = {}
    for condition in conditions:
        pre |= condition.pre
        neg |= condition.neg
        any_of.update(dict.fromkeys(condition.any_of))
    if pre & neg or () in any_of:
        return NEVER
    return Condition(pre, neg, tuple(any_of))


@dataclass(frozen=True, slots=True)
class ConditionalEffect:
    """Facts that an action adds and deletes only if a condition holds before it.

    Attributes:
        condition: the condition on the state before the action.
        add: mask of the facts that become true.
        delete: mask of the facts that become false.
    """

    condition: Condition
    add: int
    delete: int


@dataclass(frozen=True, slots=True)
class Operator:
    """A ground action as sets of facts, each a bit mask over ``Task.facts``.

    Attributes:
        action: the action's name and arguments.
        condition: the precondition.
        add: facts that become true, in whichever state the action is applied.
        delete: facts that become false likewise; disjoint from ``add``.
        conditional: effects that depend on the state.
        cost: the action's share of a plan's cost.
    """

    action: GroundAction
    condition: Condition
    add: int
    delete: int
    conditional: tuple[ConditionalEffect, ...] = ()
    cost: float = 1.0

    def applicable(self, state: int) -> bool:
        """Whether the precondition holds in ``state``."""
        return self.condition.holds(state)

    def apply(self, state: int) -> int:
        """The successor of ``state``; a fact both added and deleted holds."""
        add, delete = self.add, self.delete
        for effect in self.conditional:
            if effect.condition.holds(state):
                add |= effect.add
                delete |= effect.delete
        return state & ~delete | add

    def changes(self, facts: int) -> bool:
        """Whether the operator may change one of ``facts``."""
        if (self.add | self.delete) & facts:
            return True
        return any((effect.add | effect.delete) & facts for effect in self.conditional)


def bits_of(mask: int) -> list[int]:
    """The single bits of ``mask`` as masks, lowest first."""
    bits = []
    while mask:
        # In two's complement, -mask keeps the lowest bit and inverts all above it.
        lowest = mask & -mask
        bits.append(lowest)
        mask ^= lowest
    return bits


@dataclass(frozen=True)
class Plan:
    """A plan, with figures of the search that found it.

    Attributes:
        actions: the actions in order; empty if the goal holds initially.
        cost: the sum of the actions' costs.
        expanded: states whose successors were computed.
        generated: distinct states seen, the initial one included.
        seconds: wall time of the search with its preparation, without grounding.
    """

    actions: tuple[GroundAction, ...]
    cost: float
    expanded: int
    generated: int
    seconds: float

    def __str__(self) -> str:
        return "\n".join(map(str, self.actions))


def integer_costs(costs: Iterable[float]) -> list[int]:
    """Costs in the largest unit that makes them integers, so that sums and comparisons are exact.

    A cost is taken as the decimal it is written as: 0.1 is a tenth.
    """
    from fractions import Fraction  # late: a small task starts faster without it

    exact = [Fraction(repr(cost)) for cost in costs]
    scale = lcm(*(cost.denominator for cost in exact))
    return [int(cost * scale) for cost in exact]
