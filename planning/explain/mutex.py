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
from itertools import permutations
from typing import NamedTuple

from galley.domain.pddl.formula import Fact
from galley.planning.operators import Operator, bits_of
from galley.planning.task import Task

_MAX_CANDIDATES = 300  # invariant candidates tried, refined ones included

# A predicate and the positions of the arguments that name the group, in the order of the group's
# key. At most one argument is left out: over that one the facts are counted.
_Part = tuple[str, tuple[int, ...]]
_Candidate = frozenset[_Part]
_Key = tuple[str, ...]  # the objects that name a group


class _Change(NamedTuple):
    """The change that an effect may make.

    Attributes:
        added: facts that the effect may add.
        deleted: facts that it surely deletes if it adds those.
    """

    added: tuple[Fact, ...]
    deleted: tuple[Fact, ...]


def mutex_groups(task: Task) -> list[int]:
    """Groups of facts of which at most one holds in any state that ``task`` can reach.

    Returns:
        Each group as a mask over ``task.facts``; they may overlap. Every group has at least two
        facts, one of which holds initially.
    """
    groups: dict[int, None] = {}
    for candidate in _invariants(task):
        masks: dict[_Key, int] = defaultdict(int)
        for position, fact in enumerate(task.facts):
            key = _key(fact, candidate)
            if key is not None:
                masks[key] |= 1 << position
        for group in masks.values():
            if group.bit_count() > 1 and (group & task.init).bit_count() == 1:
                groups[group] = None
    return list(groups)


def _invariants(task: Task) -> Iterator[_Candidate]:
    """The candidates that are invariants, simplest first."""
    adding: dict[str, dict[tuple[_Change, ...], None]] = defaultdict(dict)
    for operator in task.operators:
        changes = _changes(task, operator)
        for change in changes:
            for fact in change.added:
                adding[fact.predicate][changes] = None
    queue = deque(_first_candidates(task))
    seen = set(queue)
    while queue:
        candidate = queue.popleft()
        threat = _threat(candidate, adding)
        # No operator adds a fact of a group without deleting another: an invariant.
        if threat is None:
            yield candidate
            continue
        # Repair: count one of the facts that the operator deletes as well.
        for part in _further_parts(candidate, *threat):
            refined = candidate | {part}
            if refined not in seen and len(seen) < _MAX_CANDIDATES:
                seen.add(refined)
                queue.append(refined)


def _changes(task: Task, operator: Operator) -> tuple[_Change, ...]:
    """The changes of an operator, one for each effect.

    Objects are numbered by first appearance: whether an operator threatens a candidate depends only
    on which objects are equal, so a few forms represent all operators.
    """
    numbers: dict[str, str] = {}

    def facts(mask: int) -> tuple[Fact, ...]:
        unnumbered = [task.facts[fact.bit_length() - 1] for fact in bits_of(mask)]
        return tuple(
            Fact(name, tuple([numbers.setdefault(arg, str(len(numbers))) for arg in args]))
            for name, args in unnumbered
        )

    pre = operator.condition.pre
    changes = [_Change(facts(operator.add & ~pre), facts(pre & operator.delete))]
    for effect in operator.conditional:
        both = pre | effect.condition.pre
        deleted = (pre & operator.delete) | both & (effect.delete | operator.delete) & ~effect.add
        changes.append(_Change(facts(effect.add & ~operator.add), facts(deleted)))
    return tuple(changes)


def _first_candidates(task: Task) -> Iterator[_Candidate]:
    """The candidates of one predicate: all its arguments name the group, or all but one."""
    for predicate, arity in {fact.predicate: len(fact.args) for fact in task.facts}.items():
        yield frozenset({(predicate, tuple(range(arity)))})
        for counted in range(arity):
            yield frozenset({(predicate, tuple(i for i in range(arity) if i != counted))})


def _threat(
    candidate: _Candidate, adding: dict[str, dict[tuple[_Change, ...], None]]
) -> tuple[_Key, tuple[Fact, ...]] | None:
    """A group of which an operator may add a second fact, and the facts it deletes; or None."""
    for predicate, _ in sorted(candidate):
        for changes in adding[predicate]:
            weight: dict[_Key, Fact] = {}
            for change in changes:
                for added in change.added:
                    key = _key(added, candidate)
                    if key is None:
                        continue
                    if weight.setdefault(key, added) != added:
                        return key, ()  # two facts of one group at once: beyond repair
                    if not any(_key(fact, candidate) == key for fact in change.deleted):
                        return key, change.deleted
    return None


def _further_parts(candidate: _Candidate, key: _Key, deleted: tuple[Fact, ...]) -> Iterator[_Part]:
    """The parts that make a deleted fact one of the group ``key``."""
    predicates = {predicate for predicate, _ in candidate}
    for predicate, args in deleted:
        if predicate not in predicates and len(args) - len(key) in (0, 1):
            for positions in permutations(range(len(args)), len(key)):
                if tuple(args[i] for i in positions) == key:
                    yield predicate, positions


def _key(fact: Fact, candidate: _Candidate) -> _Key | None:
    """The group to which ``fact`` belongs; None if its predicate is not in the candidate."""
    for predicate, positions in candidate:
        if predicate == fact.predicate:
            return tuple([fact.args[i] for i in positions])
    return None
