"""Minimal unsatisfiable sets of goals, each of which is reachable by itself.

Two conflicting facts may be found before the search: one is the other's negation, or both belong to
one mutex group. The certificate is then that group: exactly one of its facts holds initially, and
every relaxed-reachable action that adds one needs and deletes another, so at most one ever holds.

Other conflicts need an exhaustive search. The certificate is then the number of states, and a
minimal set of goals that no reachable state satisfies together: a minimal hitting set of the goals
violated in each state (Reiter, "A theory of diagnosis from first principles", 1987).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from galley.domain.failure import Failure, FailureKind
from galley.domain.pddl.formula import Fact
from galley.planning.operators import bits_of
from galley.planning.task import Task

_SHOWN = 4  # facts of a group in a message
_COMPARISONS = 3_000_000  # of sets, before the exact search for a hitting set gives up


def explain_before_search(task: Task) -> Failure | None:
    """The failure of a task that is found unsolvable before any search, or None."""
    impossible = task.unreachable_goal()
    if impossible is not None:
        # Late imports here and below: most tasks don't need them.
        from galley.planning.explain.unreachable import explain_unreachable

        return explain_unreachable(task, impossible)
    return explain_contradiction(task)


def explain_contradiction(task: Task) -> Failure | None:
    """The failure for the first two goal facts that are mutually exclusive, or None.

    Considers facts of conjunctions and ``forall``, not of disjunctions. None does not mean that the
    goal is reachable.

    Returns:
        A failure whose certificate has the two as ``conflict``. Its ``reason`` is ``mutex``, with
        the mutex group as ``group``, or ``opposite`` if one is the other's negation.
    """
    goal_facts = _goal_facts(task)
    for _, condition in task.goals:
        for bit in bits_of(condition.neg & sum(goal_facts)):
            return _opposite(_names(task, [bit])[0])
    if not _may_share_a_group([task.facts[bit.bit_length() - 1] for bit in goal_facts]):
        return None
    from galley.planning.states.mutex import mutex_groups

    rank = {bit: index for index, bit in enumerate(goal_facts)}
    first: tuple[list[int], int] | None = None
    for group in sorted(mutex_groups(task), key=int.bit_count):
        pair = sorted(rank[bit] for bit in bits_of(group & sum(goal_facts)))[:2]
        if len(pair) == 2 and (first is None or pair < first[0]):
            first = pair, group
    if first is None:
        return None
    pair, group = first
    return _mutex(_names(task, bits_of(group)), _names(task, [goal_facts[i] for i in pair]))


def _goal_facts(task: Task) -> list[int]:
    """The bits of the facts that must hold in the goal, in the goal's order."""
    bits: dict[int, None] = {}
    for _, condition in task.goals:
        bits.update(dict.fromkeys(bits_of(condition.pre)))
    return list(bits)


def _names(task: Task, bits: list[int]) -> list[str]:
    return [str(task.facts[bit.bit_length() - 1]) for bit in bits]


def _may_share_a_group(facts: list[Fact]) -> bool:
    """A quick necessary condition for two of the facts to be in one mutex group.

    Facts of a group agree in all objects except at most one of each (see ``mutex``). That rules out
    many common goals, such as two items in two places.
    """
    earlier: set[tuple[str, ...]] = set()
    for fact in facts:
        ordered = tuple(sorted(fact.args))
        rests = {ordered, *(ordered[:i] + ordered[i + 1 :] for i in range(len(ordered)))}
        if not earlier.isdisjoint(rests):
            return True
        earlier |= rests
    return False


def _opposite(fact: str) -> Failure:
    conflict = [fact, f"(not {fact})"]
    return Failure(
        FailureKind.CONTRADICTION,
        f"no plan exists: the goal asks for {fact} and for {conflict[1]}",
        objects=tuple(conflict),
        certificate={"reason": "opposite", "conflict": conflict},
    )


def _mutex(group: list[str], conflict: list[str]) -> Failure:
    listed = [*conflict, *(fact for fact in group if fact not in conflict)]
    shown = ", ".join(listed[:_SHOWN])
    more = len(listed) - _SHOWN
    if more > 0:
        shown += f" and {more} more"
    one, other = conflict
    return Failure(
        FailureKind.CONTRADICTION,
        f"no plan exists: all reachable states have at most one of {shown} at a time, so none has "
        f"{one} and {other} together",
        objects=(one, other),
        certificate={"reason": "mutex", "group": group, "conflict": conflict},
    )


def explain_exhausted(
    task: Task, states: Iterable[int], count: int | None = None, *, whole: bool | None = None
) -> Failure:
    """The failure for an exhausted state space without a goal state.

    Args:
        task: the task.
        states: every reachable state, without irrelevant facts; if ``count`` is given, their
            projections onto the facts of the goal suffice.
        count: the number of reachable states; None for that of ``states``.
        whole: whether the states have all their facts; None: only the relevant ones.

    Returns:
        A failure whose certificate has ``states`` (how many), ``conflict`` (the goals),
        ``smallest`` (whether no smaller set conflicts) and ``whole_states`` (False if irrelevant
        facts were projected away).
    """
    goals = task.goals
    if whole is None:
        whole = task.relevant_facts == (1 << len(task.facts)) - 1
    read = 0
    for _, condition in goals:
        read |= condition.facts()
    projections: set[int] = set()  # onto the facts of the goal
    number = 0
    for state in states:
        number += 1
        projections.add(state & read)
    count = number if count is None else count
    violated = {
        frozenset(i for i, (_, condition) in enumerate(goals) if not condition.holds(state))
        for state in projections
    }
    chosen, smallest = smallest_conflict(violated)
    conflict = tuple(str(goals[i][0]) for i in chosen)
    together = " and ".join(conflict)
    searched = f"all {count} reachable states were searched" if count > 1 else "nothing can move"
    if not whole and count > 1:
        searched = f"all {count} states that differ in relevant facts were searched"
    what = f"{together} never holds" if len(conflict) == 1 else f"none has {together} together"
    return Failure(
        FailureKind.CONTRADICTION,
        f"no plan exists: {searched} and {what}",
        objects=conflict,
        numbers={"states": count},
        certificate={
            "reason": "exhausted",
            "states": count,
            "whole_states": whole,
            "conflict": list(conflict),
            "smallest": smallest,
        },
    )


class _GaveUp(Exception):
    """The exact search has exceeded its number of comparisons."""


def smallest_conflict(violations: Collection[frozenset[int]]) -> tuple[tuple[int, ...], bool]:
    """A minimal unsatisfiable set of goals: a minimum hitting set of ``violations``.

    Args:
        violations: for each state the non-empty set of goals it violates.

    Returns:
        The goals in ascending order, and whether no smaller set exists. If proving that takes too
        long it is False: then the set is irreducible, but another one may be smaller.
    """
    masks = {sum(1 << goal for goal in each) for each in violations}
    search = _ConflictSearch(_minimal(masks))
    try:
        for size in range(len(masks) + 1):
            hitting = search.hit(size, 0)
            if hitting is not None:
                return _members(hitting), True
    except _GaveUp:
        pass
    return _irreducible(search.sets), False


def _minimal(masks: Collection[int]) -> list[int]:
    """The sets without supersets of others, as far as time allows; small ones first."""
    # A superset is hit with its subset, and small sets branch least.
    kept: list[int] = []
    left = _COMPARISONS
    for mask in sorted(masks, key=lambda each: (each.bit_count(), each)):
        left -= len(kept)
        if left < 0 or not any(each & mask == each for each in kept):
            kept.append(mask)
    return kept


class _ConflictSearch:
    """Depth-first search for a hitting set of bounded size, by iterative deepening."""

    def __init__(self, sets: list[int]) -> None:
        self.sets = sets
        self.left = _COMPARISONS

    def hit(self, size: int, chosen: int) -> int | None:
        for missed in self.sets:
            self.left -= 1
            if not missed & chosen:
                break
        else:
            return chosen
        if self.left < 0:
            raise _GaveUp
        if size == 0:
            return None
        for goal in _members(missed):
            hitting = self.hit(size - 1, chosen | 1 << goal)
            if hitting is not None:
                return hitting
        return None


def _irreducible(sets: list[int]) -> tuple[int, ...]:
    """An irreducible hitting set: none of its members can be removed."""
    kept = 0
    for mask in sets:
        kept |= mask
    for goal in _members(kept):
        without = kept & ~(1 << goal)
        if all(mask & without for mask in sets):
            kept = without
    return _members(kept)


def _members(mask: int) -> tuple[int, ...]:
    return tuple(index for index in range(mask.bit_length()) if mask >> index & 1)
