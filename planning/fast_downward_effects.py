"""Effects as Fast Downward takes them: for all objects, where a condition holds, one literal.

Its translator breaks off at quantified effects within quantified effects, and at variables that
hide others there. Here every effect is brought into the form
``(forall (variables) (when conditions literal))`` with variables of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import count

from galley.domain.formula import Effect, ForEach, Formula, Literal, Variable, When
from galley.domain.pddl import ActionSchema
from galley.planning.semantics import Binding, instantiate


def with_flat_effects(action: ActionSchema) -> ActionSchema:
    """The same action; literals without condition stay as they are."""
    if all(isinstance(each, Literal) for each in action.effect):
        return action
    flat = _Flattening(action)
    return replace(action, effect=tuple(flat.effects(action.effect, (), (), {})))


class _Flattening:
    def __init__(self, action: ActionSchema) -> None:
        text = " ".join(map(str, action.effect))
        self.taken = {each.name for each in action.parameters} | set(
            re.findall(r"\?[^\s()]+", text)
        )
        self.numbers = count(1)

    def effects(
        self,
        parts: Iterable[Effect],
        variables: tuple[Variable, ...],
        conditions: tuple[Formula, ...],
        names: Binding,
    ) -> Iterator[Effect]:
        """The flat form of ``parts`` within quantifiers and conditions.

        Args:
            parts: effects as they are written.
            variables: those of the quantifiers around them, renamed.
            conditions: those around them, renamed.
            names: what each variable in sight is called now, where that is another name.
        """
        for part in parts:
            match part:
                case When(condition, effects):
                    renamed = tuple(instantiate(each, names) for each in condition)
                    yield from self.effects(effects, variables, (*conditions, *renamed), names)
                case ForEach(own, effects):
                    fresh = tuple(replace(each, name=self.fresh(each.name)) for each in own)
                    called = {old.name: new.name for old, new in zip(own, fresh, strict=True)}
                    inner = {**names, **called}
                    yield from self.effects(effects, (*variables, *fresh), conditions, inner)
                case Literal():
                    literal = replace(part, args=part.ground(names).args)
                    guarded = When(conditions, (literal,)) if conditions else literal
                    yield ForEach(variables, (guarded,)) if variables else guarded

    def fresh(self, name: str) -> str:
        """A variable that the action does not know yet."""
        return next(
            each
            for each in (f"{name}-{number}" for number in self.numbers)
            if each not in self.taken
        )
