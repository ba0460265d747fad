"""Why there is no plan although every part of the goal is reachable on its own.

The whole state space holds no goal state. The certificate is the number of states, and a smallest
set of parts of the goal that no reachable state satisfies together. That is a hitting set: of what
each state violates, it has a part (Reiter, "A theory of diagnosis from first principles", 1987).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from galley.domain.failure import Failure, FailureKind
from galley.planning.task import Task

_COMPARISONS = 3_000_000  # of two sets with each other, before the exact search settles for less


def explain_exhausted(
    task: Task, states: Iterable[int], count: int | None = None, *, whole: bool | None = None
) -> Failure:
    """The failure for a fully explored space without a goal state.

    Args:
        task: the task.
        states: every state reachable from the initial one, as far as the goal depends on it; where
            ``count`` is given, what the goal reads of them will do, each once.
        count: how many states were reached; None: as many as there are ``states``.
        whole: whether states were told apart by all their facts; None: only by what matters.

    Returns:
        A failure whose certificate has ``states`` (how many), ``conflict`` (the parts of the goal),
        ``smallest`` (no smaller set conflicts) and ``whole_states`` (False where facts on which
        the goal doesn't depend were left out, so that states differ only in the others).
    """
    goals = task.goals
    if whole is None:
        whole = task.relevant == (1 << len(task.facts)) - 1
    read = 0
    for _, condition in goals:
        read |= condition.read()
    projections: set[int] = set()  # what the states say about facts of the goal
    given = 0
    for state in states:
        given += 1
        projections.add(state & read)
    count = given if count is None else count
    violated = {
        frozenset(i for i, (_, condition) in enumerate(goals) if not condition.holds(seen))
        for seen in projections
    }
    chosen, smallest = smallest_conflict(violated)
    conflict = tuple(str(goals[i][0]) for i in chosen)
    together = " and ".join(conflict)
    states_said = f"all {count} reachable states were searched" if count > 1 else "nothing can move"
    if not whole and count > 1:
        states_said = f"all {count} states that differ in what matters to the goal were searched"
    what = f"{together} never holds" if len(conflict) == 1 else f"none has {together} together"
    return Failure(
        FailureKind.CONTRADICTION,
        f"no plan exists: {states_said} and {what}",
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
    """The exact search has used its comparisons."""


def smallest_conflict(violations: Collection[frozenset[int]]) -> tuple[tuple[int, ...], bool]:
    """A smallest set of wishes that meets every one of ``violations``.

    Args:
        violations: for each thing that can happen, the non-empty set of wishes it violates.

    Returns:
        The wishes in ascending order; and True where no smaller set exists. It is False where
        proving that would take too long: then no wish can be left out of the set, though another
        set may be smaller.
    """
    masks = {sum(1 << wish for wish in each) for each in violations}
    search = _Search(_minimal(masks))
    try:
        for size in range(len(masks) + 1):
            found = search.hit(size, 0)
            if found is not None:
                return _members(found), True
    except _GaveUp:
        pass
    return _irreducible(search.sets), False


def _minimal(masks: Collection[int]) -> list[int]:
    """The sets that contain no other, as far as that can be told in time; short ones first."""
    # A superset is hit with its subset. Short sets first: they branch least.
    kept: list[int] = []
    left = _COMPARISONS
    for mask in sorted(masks, key=lambda each: (each.bit_count(), each)):
        left -= len(kept)
        if left < 0 or not any(each & mask == each for each in kept):
            kept.append(mask)
    return kept


class _Search:
    """Depth-first search for a hitting set of bounded size; sizes are tried in ascending order."""

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
        for wish in _members(missed):
            found = self.hit(size - 1, chosen | 1 << wish)
            if found is not None:
                return found
        return None


def _irreducible(sets: list[int]) -> tuple[int, ...]:
    """A hitting set none of whose members can be left out."""
    kept = 0
    for mask in sets:
        kept |= mask
    for wish in _members(kept):
        without = kept & ~(1 << wish)
        if all(mask & without for mask in sets):
            kept = without
    return _members(kept)


def _members(mask: int) -> tuple[int, ...]:
    return tuple(place for place in range(mask.bit_length()) if mask >> place & 1)
