"""How many combinations of objects an action has at least, without making them one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from galley.domain.pddl.formula import Fact
from galley.planning.grounding.schemas import Binding, CompiledSchema, Pattern

Condition = tuple[str, Pattern]  # a predicate and its arguments


class Forecast:
    """Counts the bindings that make a schema's conditions true.

    Conditions that share no unbound parameter are counted apart, and a count is remembered with the
    objects that it depends on.

    Attributes:
        schema: the schema.
        matches: facts that may satisfy a condition under a binding.
        steps: how many facts are looked at; if they don't suffice, the true number is larger.
    """

    def __init__(
        self,
        schema: CompiledSchema,
        matches: Callable[[Condition, Binding], Iterable[tuple[int, Fact]]],
        steps: int,
    ) -> None:
        self.schema, self.matches, self.steps = schema, matches, steps
        self._known: dict[tuple[object, ...], int] = {}

    def count(self, conditions: Sequence[Condition], binding: Binding) -> int:
        """How many extensions of ``binding`` make ``conditions`` true."""
        found = 1
        for part in _parts(conditions, binding):
            key = (*part, *(binding[i] for _, pattern in part for i in _parameters(pattern)))
            if key not in self._known:
                self._known[key] = self._count_part(part, binding)
            found *= self._known[key]
        return found

    def _count_part(self, part: Sequence[Condition], binding: Binding) -> int:
        first, *rest = sorted(part, key=lambda each: len(_unbound(each, binding)))
        found = 0
        for _, fact in self.matches(first, binding):
            self.steps -= 1
            if self.steps < 0:
                break
            extended = self.schema.unify(first[1], fact.args, binding)
            if extended is not None:
                found += self.count(rest, extended)
        return found


def _parameters(pattern: Pattern) -> list[int]:
    return [each for each in pattern if isinstance(each, int)]


def _unbound(condition: Condition, binding: Binding) -> set[int]:
    return {i for i in _parameters(condition[1]) if binding[i] is None}


def _parts(conditions: Sequence[Condition], binding: Binding) -> list[list[Condition]]:
    """The conditions in groups that share no unbound parameter."""
    parts: list[tuple[set[int], list[Condition]]] = []
    for each in conditions:
        joined = (_unbound(each, binding), [each])
        for other in [part for part in parts if part[0] & joined[0]]:
            parts.remove(other)
            joined = (joined[0] | other[0], other[1] + joined[1])
        parts.append(joined)
    return [part for _, part in parts]
