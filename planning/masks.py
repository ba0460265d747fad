"""From conditions and effects on facts to those on bits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet

from galley.domain.formula import Fact
from galley.planning.normal_form import FactCondition
from galley.planning.operators import NEVER, Condition, ConditionalEffect, Operator
from galley.planning.schemas import Instance


class Masks:
    """Turns facts into bits, and evaluates those without a bit: they never change."""

    def __init__(self, bits: Mapping[Fact, int], init: AbstractSet[Fact]) -> None:
        self.bits = bits
        self.init = init

    def of(self, facts: Iterable[Fact]) -> int:
        """The set of those ``facts`` that have a bit."""
        bits = self.bits
        found = 0
        for fact in facts:
            found |= bits.get(fact, 0)
        return found

    def condition(self, condition: FactCondition | None) -> Condition:
        """The condition over bits; NEVER where a fact without a bit forbids it."""
        if condition is None:
            return NEVER
        bits, init = self.bits, self.init
        pre = neg = 0
        for fact in condition.pre:
            bit = bits.get(fact)
            if bit is not None:
                pre |= bit
            elif fact not in init:
                return NEVER
        for fact in condition.neg:
            bit = bits.get(fact)
            if bit is not None:
                neg |= bit
            elif fact in init:
                return NEVER
        any_of: list[tuple[Condition, ...]] = []
        for choice in condition.any_of:
            parts = [self.condition(part) for part in choice]
            parts = [part for part in dict.fromkeys(parts) if part != NEVER]
            if not parts:
                return NEVER
            if Condition() in parts:
                continue
            if len(parts) == 1:
                (part,) = parts
                pre, neg = pre | part.pre, neg | part.neg
                any_of += part.any_of
            else:
                any_of.append(tuple(parts))
        if pre & neg:
            return NEVER
        return Condition(pre, neg, tuple(dict.fromkeys(any_of)))

    def operator(self, instance: Instance, cost: float) -> Operator:
        """An action as masks; its condition is NEVER where it contradicts itself."""
        add, delete = self.of(instance.add), self.of(instance.delete)
        conditional = []
        for effect in instance.conditional:
            condition = self.condition(effect.condition)
            more, less = self.of(effect.add), self.of(effect.delete)
            if condition == NEVER or not (more | less):
                continue
            if condition == Condition():
                add, delete = add | more, delete | less
            else:
                conditional.append(ConditionalEffect(condition, more, less))
        return Operator(
            instance.action,
            self.condition(instance.condition),
            add=add,
            delete=delete & ~add,
            conditional=tuple(conditional),
            cost=cost,
        )
