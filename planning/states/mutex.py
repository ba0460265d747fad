"""Mutex groups: sets of facts of which at most one holds in any reachable state.

A group is guessed from predicates and checked on the ground operators. A guess such as "for each
item, one of (on item *), (inside item *) or (grasp item)" is a set of patterns; it is an invariant
where every operator that adds a fact of a group takes one away that it needs. A guess that fails
on an operator is repaired by a further predicate that this operator takes away (guess, check and
repair: Helmert, "Concise finite-domain representations for PDDL planning tasks", 2009, section 5,
but checked on ground operators, which is simpler and sees more).
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from typing import NamedTuple

from galley.domain.pddl.formula import Fact
from galley.planning.operators import Operator
from galley.planning.task import Task

_CANDIDATES = 300  # guesses looked at, repairs included

_COUNTED = -1


class _InvariantPart(NamedTuple):
    """A predicate whose arguments are parameters of the group (by number), or counted."""

    predicate: str
    pattern: tuple[int, ...]


_Candidate = frozenset[_InvariantPart]
_Key = tuple[str, ...]  # an object for each parameter of the group


def mutex_groups(task: Task) -> list[int]:
    """Groups of facts of which at most one holds in any state that ``task`` can reach.

    Returns:
        Each group as a mask over ``task.facts``; they may overlap. Every group has two facts or
        more, and one that holds at the start. Computed once for each task.
    """
    found = task.prepared.get("mutex")
    if found is None:
        found = task.prepared["mutex"] = _computed(task)
    return list(found)


def _computed(task: Task) -> tuple[int, ...]:
    search = _Invariants(task)
    groups: dict[int, None] = {}
    for candidate in search.found():
        for group in search.groups(candidate):
            if group.bit_count() > 1 and (group & task.init).bit_count() == 1:
                groups[group] = None
    return tuple(groups)


class _Change(NamedTuple):
    """Facts that an effect may add, and facts that it surely takes away when it does."""

    added: tuple[Fact, ...]
    taken: tuple[Fact, ...]


class _Invariants:
    def __init__(self, task: Task) -> None:
        self.task = task
        self.arity: dict[str, int] = {}
        for fact in task.facts:
            self.arity[fact.predicate] = len(fact.args)
        # What operators do, with numbers for objects. Whether it breaks a guess depends on which
        # objects are the same, not on which they are: a few forms stand for all operators.
        forms: dict[tuple[_Change, ...], None] = {}
        for operator in task.operators:
            numbers: dict[str, str] = {}
            changes = [
                _Change(self._facts(added, numbers), self._facts(taken, numbers))
                for added, taken in _effects(operator)
            ]
            forms[tuple(changes)] = None
        # For each predicate, the forms that may add such facts.
        self.adding: dict[str, list[tuple[_Change, ...]]] = defaultdict(list)
        for form in forms:
            for predicate in dict.fromkeys(f.predicate for change in form for f in change.added):
                self.adding[predicate].append(form)

    def _facts(self, mask: int, numbers: dict[str, str]) -> tuple[Fact, ...]:
        """The facts of ``mask`` with numbers for objects, given in order of appearance."""
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

    def found(self) -> Iterator[_Candidate]:
        """The guesses that hold, simplest first."""
        queue = deque(self._first_guesses())
        seen = set(queue)
        while queue:
            candidate = queue.popleft()
            broken = self._broken(candidate)
            if broken is None:
                yield candidate
                continue
            for repaired in self._repairs(candidate, *broken):
                if repaired not in seen and len(seen) < _CANDIDATES:
                    seen.add(repaired)
                    queue.append(repaired)

    def _first_guesses(self) -> Iterator[_Candidate]:
        for predicate, arity in self.arity.items():
            yield frozenset((_InvariantPart(predicate, tuple(range(arity))),))
            for counted in range(arity):
                rest = iter(range(arity))
                pattern = (_COUNTED if i == counted else next(rest) for i in range(arity))
                yield frozenset((_InvariantPart(predicate, tuple(pattern)),))

    def _broken(self, candidate: _Candidate) -> tuple[_Key, tuple[Fact, ...]] | None:
        """A group that an operator may make heavier, and the facts it takes away; None: none."""
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
                            return key, ()  # two facts of a group at once: beyond repair
                        if not any(_key(fact, parts) == key for fact in change.taken):
                            return key, change.taken
        return None

    def _repairs(
        self, candidate: _Candidate, key: _Key, taken: tuple[Fact, ...]
    ) -> Iterator[_Candidate]:
        predicates = {part.predicate for part in candidate}
        for fact in taken:
            if fact.predicate not in predicates:
                for pattern in _patterns(fact.args, key):
                    yield candidate | {_InvariantPart(fact.predicate, pattern)}

    def groups(self, candidate: _Candidate) -> Iterator[int]:
        """The groups of facts that a guess stands for."""
        parts = {part.predicate: part.pattern for part in candidate}
        masks: dict[_Key, int] = defaultdict(int)
        for position, fact in enumerate(self.task.facts):
            key = _key(fact, parts)
            if key is not None:
                masks[key] |= 1 << position
        yield from masks.values()


def _effects(operator: Operator) -> Iterator[tuple[int, int]]:
    """Of each effect the facts that it may add anew, and those that it then surely takes away."""
    pre = operator.condition.pre
    yield operator.add & ~pre, pre & operator.delete
    for effect in operator.conditional:
        known = pre | effect.condition.pre
        gone = (pre & operator.delete) | known & (effect.delete | operator.delete) & ~effect.add
        yield effect.add & ~operator.add, gone


def _key(fact: Fact, parts: dict[str, tuple[int, ...]]) -> _Key | None:
    """The group to which ``fact`` belongs; None where its predicate is not part of the guess."""
    pattern = parts.get(fact.predicate)
    if pattern is None:
        return None
    placed = sorted((p, arg) for p, arg in zip(pattern, fact.args, strict=True) if p != _COUNTED)
    return tuple(arg for _, arg in placed)


def _patterns(args: tuple[str, ...], key: _Key) -> Iterator[tuple[int, ...]]:
    """Every way to read the objects of ``key`` off ``args``, with at most one argument left."""

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
