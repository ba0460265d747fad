"""Parts of a goal that exclude each other, though each of them can be reached on its own.

Two of them may be told before any search: one is the other's negation, or both are of one mutex
group. Then the certificate is that group: exactly one of its facts holds at the start, and every
action that makes one true takes another away that it needs; hence at most one ever holds. (Every
action, that is, which could be applied if nothing were ever taken away; the others never are.)

Others show once the whole state space is searched and holds no goal state. The certificate is then
the number of states, and a smallest set of parts of the goal that no reachable state satisfies
together. That is a hitting set: of what each state violates, it has a part (Reiter, "A theory of
diagnosis from first principles", 1987).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from galley.domain.failure import Failure, FailureKind
from galley.domain.pddl.formula import Fact
from galley.planning.operators import bits_of
from galley.planning.task import Task

_SHOWN = 4  # facts of a group in a message
_COMPARISONS = 3_000_000  # of two sets with each other, before the exact search settles for less


def explain_at_once(task: Task) -> Failure | None:
    """The failure of a task of which it can be told before any search that it has no plan."""
    impossible = task.impossible_goal()
    if impossible is not None:
        # Late, as what else is imported late here: a small task can do without.
        from galley.planning.explain.unreachable import explain_unreachable

        return explain_unreachable(task, impossible)
    return explain_contradiction(task)


def explain_contradiction(task: Task) -> Failure | None:
    """The failure for the first two facts of the goal that never hold together; None: none found.

    Only facts that the goal asks for outright are looked at (those of a conjunction or ``forall``
    too), not the choices of a disjunction. None does not mean that the goal can be reached.

    Returns:
        A failure whose certificate has ``conflict``, the two; its ``reason`` is ``mutex``, with
        ``group``, facts of which at most one ever holds; or it is ``opposite`` where one of the two
        is the other's negation.
    """
    wanted = _wanted(task)
    for _, condition in task.goals:
        for bit in bits_of(condition.neg & sum(wanted)):
            return _opposite(_names(task, [bit])[0])
    if not _may_share_a_group([task.facts[bit.bit_length() - 1] for bit in wanted]):
        return None
    # Late: most goals need no groups.
    from galley.planning.states.mutex import mutex_groups

    place = {bit: position for position, bit in enumerate(wanted)}
    asked = sum(wanted)
    found: tuple[list[int], int] | None = None
    for group in sorted(mutex_groups(task), key=int.bit_count):
        pair = sorted(place[bit] for bit in bits_of(group & asked))[:2]
        if len(pair) == 2 and (found is None or pair < found[0]):
            found = pair, group
    if found is None:
        return None
    pair, group = found
    return _failure(_names(task, bits_of(group)), _names(task, [wanted[i] for i in pair]))


def _wanted(task: Task) -> list[int]:
    """The bits of the facts that the goal asks for, in the goal's order."""
    found: dict[int, None] = {}
    for _, condition in task.goals:
        found.update(dict.fromkeys(bits_of(condition.pre)))
    return list(found)


def _names(task: Task, bits: list[int]) -> list[str]:
    return [str(task.facts[bit.bit_length() - 1]) for bit in bits]


def _may_share_a_group(facts: list[Fact]) -> bool:
    """Whether a group could hold two of the facts, going by their objects alone.

    The facts of a group agree in all objects but one of each at most (see ``mutex``). That rules
    out many a usual goal, such as two items in two places, at no cost.
    """
    met: set[tuple[str, ...]] = set()
    for fact in facts:
        ordered = tuple(sorted(fact.args))
        rests = {ordered, *(ordered[:i] + ordered[i + 1 :] for i in range(len(ordered)))}
        if not met.isdisjoint(rests):
            return True
        met |= rests
    return False


def _opposite(fact: str) -> Failure:
    conflict = [fact, f"(not {fact})"]
    return Failure(
        FailureKind.CONTRADICTION,
        f"no plan exists: the goal asks for {fact} and for {conflict[1]}",
        objects=tuple(conflict),
        certificate={"reason": "opposite", "conflict": conflict},
    )


def _failure(group: list[str], conflict: list[str]) -> Failure:
    # The two first, then what else is in the group.
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
    search = _ConflictSearch(_minimal(masks))
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


class _ConflictSearch:
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
