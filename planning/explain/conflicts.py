"""Conflicts: minimal sets of goals that no state satisfies together, each reachable by itself.

Two conflicting facts may be found before the search: one is the other's negation, or both belong to
one mutex group. The certificate is then that group: exactly one of its facts holds initially, and
every relaxed-reachable action that adds one needs and deletes another, so at most one ever holds.

Other conflicts need an exhaustive search. The certificate is then the number of states, and a
minimal set of goals that no reachable state satisfies together. It is a hitting set: it contains
at least one goal that each state violates, and none of it can be left out.
"""

from __future__ import annotations

from collections.abc import Collection

from galley.domain.failure import Failure, FailureKind
from galley.planning.explain.mutex import mutex_groups
from galley.planning.explain.unreachable import explain_unreachable
from galley.planning.operators import bits_of
from galley.planning.task import Task

_SHOWN = 4  # facts of a mutex group that a message names


def explain_before_search(task: Task) -> Failure | None:
    """The failure of a task that can be proven unsolvable without a search, or None."""
    return explain_unreachable(task) or explain_contradiction(task)


def explain_contradiction(task: Task) -> Failure | None:
    """The failure for the first two goal facts that are mutually exclusive, or None.

    It considers facts in conjunctions and ``forall``, not in disjunctions. None does not mean that
    the goal is reachable.

    Returns:
        A failure whose certificate has the two as ``conflict``. Its ``reason`` is ``mutex``, with
        the mutex group as ``group``, or ``opposite`` if one is the other's negation.
    """
    # The bits of the facts that must hold in the goal, in the goal's order.
    goal_facts = [bit for _, condition in task.goals for bit in bits_of(condition.pre)]
    rank = {bit: index for index, bit in enumerate(dict.fromkeys(goal_facts))}
    for _, condition in task.goals:
        for bit in bits_of(condition.neg & sum(rank)):
            fact = _names(task, [bit])[0]
            message = f"no plan exists: the goal requires both {fact} and (not {fact})"
            return _contradiction(message, "opposite", [fact, f"(not {fact})"])
    if len(rank) < 2:
        return None  # without looking for groups
    pairs = [
        (sorted(rank[bit] for bit in bits_of(group & sum(rank)))[:2], group)
        for group in sorted(mutex_groups(task), key=int.bit_count)
    ]
    pairs = [pair for pair in pairs if len(pair[0]) == 2]
    if not pairs:
        return None
    pair, group = min(pairs, key=lambda pair: pair[0])
    return _mutex(_names(task, bits_of(group)), _names(task, [[*rank][i] for i in pair]))


def _names(task: Task, bits: list[int]) -> list[str]:
    """The facts of ``bits``, as PDDL writes them."""
    return [str(task.facts[bit.bit_length() - 1]) for bit in bits]


def _mutex(group: list[str], conflict: list[str]) -> Failure:
    """The failure for two goal facts, ``conflict``, of one mutex group."""
    listed = [*conflict, *(fact for fact in group if fact not in conflict)]
    shown = ", ".join(listed[:_SHOWN])
    more = len(listed) - _SHOWN
    if more > 0:
        shown += f" and {more} more"
    message = (
        f"no plan exists: all reachable states have at most one of {shown} at a time, so none has "
        f"{conflict[0]} and {conflict[1]} together"
    )
    return _contradiction(message, "mutex", conflict, group=group)


def _contradiction(message: str, reason: str, conflict: list[str], **more: object) -> Failure:
    """The failure with a certificate of ``reason``, ``conflict`` and ``more`` entries."""
    certificate = {"reason": reason, **more, "conflict": conflict}
    objects = tuple(conflict)
    return Failure(FailureKind.CONTRADICTION, message, objects, certificate=certificate)


def explain_exhausted(task: Task, states: Collection[int], facts: int) -> Failure:
    """The failure for an exhausted state space without a goal state.

    Args:
        task: the task.
        states: every reachable state.
        facts: the facts that the states have, as a mask over ``task.facts``.

    Returns:
        A failure whose certificate has ``states`` (how many), ``conflict`` (the goals) and
        ``whole_states`` (False if irrelevant facts were left out).
    """
    goals = task.goals
    whole = facts == (1 << len(task.facts)) - 1
    read = 0
    for _, condition in goals:
        read |= condition.facts()
    violated = {
        frozenset(i for i, (_, condition) in enumerate(goals) if not condition.holds(state))
        for state in {state & read for state in states}
    }
    chosen = irreducible_conflict(violated, len(goals))
    conflict = tuple(str(goals[i][0]) for i in chosen)
    together = " and ".join(conflict)
    count = len(states)
    searched = f"all {count} reachable states were searched" if count > 1 else "nothing can move"
    if not whole and count > 1:
        searched = f"all {count} states that differ in relevant facts were searched"
    result = f"{together} never holds" if len(conflict) == 1 else f"none has {together} together"
    return Failure(
        FailureKind.CONTRADICTION,
        f"no plan exists: {searched} and {result}",
        objects=conflict,
        numbers={"states": count},
        certificate={
            "reason": "exhausted",
            "states": count,
            "whole_states": whole,
            "conflict": list(conflict),
        },
    )


def irreducible_conflict(violations: Collection[frozenset[int]], count: int) -> tuple[int, ...]:
    """A minimal unsatisfiable set of goals: a hitting set of which no member can be removed.

    Args:
        violations: for each state the non-empty set of goals it violates.
        count: the number of goals.

    Returns:
        The goals in ascending order; the first ones where there is a choice.
    """
    conflict = set(range(count))
    # From the last goal on: so the first ones stay if there is a choice.
    for goal in reversed(range(count)):
        if not any(violation.isdisjoint(conflict - {goal}) for violation in violations):
            conflict.remove(goal)
    return tuple(sorted(conflict))
