"""How many combinations of objects an action has at least, without making them one by one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import prod

from galley.domain.pddl.formula import Fact
from galley.planning.grounding.schemas import Binding, CompiledSchema

_Parts = list[tuple[tuple[int, ...], tuple[int, ...]]]  # literals, and their variables


def least_bindings(schema: CompiledSchema, facts: Mapping[str, Sequence[Fact]], steps: int) -> int:
    """How many bindings make the positive literals of a schema's precondition true.

    Args:
        schema: the schema.
        facts: those that are reached, by predicate.
        steps: rows of the join to look at; if they don't suffice, the true number is larger.
    """
    counter = _Counter(schema, facts, steps)
    free = set(range(len(schema.candidates))).difference(*counter.variables)
    literals = tuple(range(len(counter.variables)))
    found = counter.count(literals, frozenset(), [None] * len(schema.candidates))
    return found * prod(len(schema.candidates[i]) for i in free)


class _Counter:
    """Counts the results of a join.

    Literals that share no unbound variable are counted apart, and a count is remembered with the
    objects that it depends on.
    """

    def __init__(
        self, schema: CompiledSchema, facts: Mapping[str, Sequence[Fact]], steps: int
    ) -> None:
        unbound: Binding = [None] * len(schema.candidates)
        patterns = list(dict.fromkeys(schema.positive))
        self.variables = [
            tuple(dict.fromkeys(i for i in pattern if isinstance(i, int)))
            for _, pattern in patterns
        ]
        self._rows: list[list[Binding]] = []
        for predicate, pattern in patterns:
            rows = (schema.unify(pattern, fact.args, unbound) for fact in facts.get(predicate, ()))
            self._rows.append([row for row in rows if row is not None])
        self._left = steps
        self._known: dict[tuple[tuple[int, ...], tuple[str | None, ...]], int] = {}
        self._parts = lru_cache(maxsize=None)(self._find_parts)
        self._grouped = lru_cache(maxsize=None)(self._group)

    def count(self, literals: tuple[int, ...], bound: frozenset[int], binding: Binding) -> int:
        """How many extensions of ``binding`` make ``literals`` true."""
        found = 1
        for part, variables in self._parts(literals, bound):
            key = part, tuple([binding[i] for i in variables])
            if key not in self._known:
                self._known[key] = self._count_part(part, bound, binding)
            found *= self._known[key]
        return found

    def _count_part(self, part: tuple[int, ...], bound: frozenset[int], binding: Binding) -> int:
        first = min(part, key=lambda each: len(set(self.variables[each]) - bound))
        variables = self.variables[first]
        shared = tuple(i for i in variables if i in bound)
        rows = self._grouped(first, shared).get(tuple([binding[i] for i in shared]), ())
        rest = tuple(each for each in part if each != first)
        if not rest:
            return len(rows)
        found, bound = 0, bound.union(variables)
        for row in rows:
            self._left -= 1
            if self._left < 0:
                break
            extended = [a or b for a, b in zip(binding, row, strict=True)]
            found += self.count(rest, bound, extended)
        return found

    def _group(
        self, literal: int, shared: tuple[int, ...]
    ) -> Mapping[tuple[str | None, ...], Sequence[Binding]]:
        """The rows of a literal by the objects for some of its variables."""
        groups: dict[tuple[str | None, ...], list[Binding]] = defaultdict(list)
        for row in self._rows[literal]:
            groups[tuple([row[i] for i in shared])].append(row)
        return groups

    def _find_parts(self, literals: tuple[int, ...], bound: frozenset[int]) -> _Parts:
        """The literals in groups that share no unbound variable."""
        parts: list[tuple[set[int], tuple[int, ...]]] = []
        for literal in literals:
            free = set(self.variables[literal]) - bound
            part: tuple[int, ...] = (literal,)
            for other in [each for each in parts if each[0] & free]:
                parts.remove(other)
                free, part = free | other[0], other[1] + part
            parts.append((free, part))
        return [
            (part, tuple({i: None for each in part for i in self.variables[each]}))
            for _, part in parts
        ]
