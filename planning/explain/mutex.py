"""Mutex groups: sets of facts of which at most one holds in any reachable state.

An invariant candidate such as "for each item, at most one of (on item *), (inside item *) and
(grasp item)" is a set of predicates with patterns. It is an invariant if every operator that adds a
fact of a group needs and deletes another. A candidate that an operator threatens is refined by
further predicates that this operator deletes (guess, check and repair: Helmert, "Concise
finite-domain representations for PDDL planning tasks", 2009, section 5, but on ground operators,
which is simpler and more precise).
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from typing import NamedTuple

from galley.domain.pddl.formula import Fact
from galley.planning.operators import Operator
from galley.planning.task import Task

_MAX_CANDIDATES = 300  # refined ones included

_COUNTED = -1


class _InvariantPart(NamedTuple):
    """A predicate whose arguments are group parameters (by index) or counted."""

    predicate: str
    pattern: tuple[int, ...]


_Candidate = frozenset[_InvariantPart]
_Key = tuple[str, ...]  # an object for each parameter of the group


def mutex_groups(task: Task) -> list[int]:
    """Groups of facts of which at most one holds in any state that ``task`` can reach.

    Returns:
        Each group as a mask over ``task.facts``; they may overlap. Every group has at least two
        facts, one of which holds initially. Computed once per task.
    """
    if "mutex" not in task.cache:
        task.cache["mutex"] = _computed(task)
    return list(task.cache["mutex"])


def _computed(task: Task) -> tuple[int, ...]:
    search = _Invariants(task)
    groups: dict[int, None] = {}
    for candidate in search.invariants():
        for group in search.groups(candidate):
            if group.bit_count() > 1 and (group & task.init).bit_count() == 1:
                groups[group] = None
    return tuple(groups)


class _Change(NamedTuple):
    """Facts that an effect may add, and facts that it then surely deletes."""

    added: tuple[Fact, ...]
    deleted: tuple[Fact, ...]


class _Invariants:
    def __init__(self, task: Task) -> None:
        self.task = task
        self.arity: dict[str, int] = {}
        for fact in task.facts:
            self.arity[fact.predicate] = len(fact.args)
        # Operators with numbers for objects. Whether an operator threatens a candidate depends only
        # on which objects are equal, so a few forms represent all operators.
        forms: dict[tuple[_Change, ...], None] = {}
        for operator in task.operators:
            numbers: dict[str, str] = {}
            changes = [
                _Change(self._facts(added, numbers), self._facts(deleted, numbers))
                for added, deleted in _effects(operator)
            ]
            forms[tuple(changes)] = None
        # The forms that may add facts of each predicate.
        self.adding: dict[str, list[tuple[_Change, ...]]] = defaultdict(list)
        for form in forms:
            for predicate in dict.fromkeys(f.predicate for change in form for f in change.added):
                self.adding[predicate].append(form)

    def _facts(self, mask: int, numbers: dict[str, str]) -> tuple[Fact, ...]:
        """The facts of ``mask`` with objects numbered by first appearance."""
        all_facts = self.task.facts
        facts = []
        while mask:
            lowest = mask & -mask
            mask ^= lowest
            predicate, args = all_facts[lowest.bit_length() - 1]
            renamed = []
            for arg in args:
                number = numbers.get(arg)
                if number is None:
                    number = numbers[arg] = str(len(numbers))
                renamed.append(number)
            facts.append(Fact(predicate, tuple(renamed)))
        return tuple(facts)

    def invariants(self) -> Iterator[_Candidate]:
        """The candidates that are invariants, simplest first."""
        queue = deque(self._initial_candidates())
        seen = set(queue)
        while queue:
            candidate = queue.popleft()
            threat = self._threat(candidate)
            if threat is None:
                yield candidate
                continue
            for refined in self._refined(candidate, *threat):
                if refined not in seen and len(seen) < _MAX_CANDIDATES:
                    seen.add(refined)
                    queue.append(refined)

    def _initial_candidates(self) -> Iterator[_Candidate]:
        for predicate, arity in self.arity.items():
            yield frozenset((_InvariantPart(predicate, tuple(range(arity))),))
            for counted in range(arity):
                rest = iter(range(arity))
                pattern = (_COUNTED if i == counted else next(rest) for i in range(arity))
                yield frozenset((_InvariantPart(predicate, tuple(pattern)),))

    def _threat(self, candidate: _Candidate) -> tuple[_Key, tuple[Fact, ...]] | None:
        """A group whose weight an operator may increase, and the facts it deletes; or None."""
        parts = {part.predicate: part.pattern for part in candidate}
        for predicate in parts:
            for form in self.adding[predicate]:
                weight: dict[_Key, Fact] = {}
                for change in form:
                    for added in change.added:
                        key = _key(added, parts)
                        if key is None:
                            continue
                        if weight.setdefault(key, added) != added:
                            return key, ()  # too heavy: two facts at once
                        if not any(_key(fact, parts) == key for fact in change.deleted):
                            return key, change.deleted
        return None

    def _refined(
        self, candidate: _Candidate, key: _Key, deleted: tuple[Fact, ...]
    ) -> Iterator[_Candidate]:
        predicates = {part.predicate for part in candidate}
        for fact in deleted:
            if fact.predicate not in predicates:
                for pattern in _patterns(fact.args, key):
                    yield candidate | {_InvariantPart(fact.predicate, pattern)}

    def groups(self, candidate: _Candidate) -> Iterator[int]:
        """The groups of facts that a candidate stands for."""
        parts = {part.predicate: part.pattern for part in candidate}
        masks: dict[_Key, int] = defaultdict(int)
        for position, fact in enumerate(self.task.facts):
            key = _key(fact, parts)
            if key is not None:
                masks[key] |= 1 << position
        yield from masks.values()


def _effects(operator: Operator) -> Iterator[tuple[int, int]]:
    """For each effect, the facts that it may newly add and those that it then surely deletes."""
    pre = operator.condition.pre
    yield operator.add & ~pre, pre & operator.delete
    for effect in operator.conditional:
        both = pre | effect.condition.pre
        deleted = (pre & operator.delete) | both & (effect.delete | operator.delete) & ~effect.add
        yield effect.add & ~operator.add, deleted


def _key(fact: Fact, parts: dict[str, tuple[int, ...]]) -> _Key | None:
    """The group to which ``fact`` belongs; None if its predicate is not in the candidate."""
    pattern = parts.get(fact.predicate)
    if pattern is None:
        return None
    placed = sorted((p, arg) for p, arg in zip(pattern, fact.args, strict=True) if p != _COUNTED)
    return tuple(arg for _, arg in placed)


def _patterns(args: tuple[str, ...], key: _Key) -> Iterator[tuple[int, ...]]:
    """Every pattern of ``args`` that yields ``key``, with at most one counted argument."""

    def extend(pattern: tuple[int, ...], left: frozenset[int]) -> Iterator[tuple[int, ...]]:
        position = len(pattern)
        if position == len(args):
            if not left:
                yield pattern
            return
        for parameter in sorted(left):
            if key[parameter] == args[position]:
                yield from extend((*pattern, parameter), left - {parameter})
        if _COUNTED not in pattern:
            yield from extend((*pattern, _COUNTED), left)

    yield from extend((), frozenset(range(len(key))))
