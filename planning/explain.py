"""Why there is no plan, in a sentence and with a certificate that can be checked.

Two kinds of no:

* A part of the goal that even the delete relaxation can't make true: see ``unreachable``.
* Every part of the goal is reachable on its own in the relaxation, yet the whole state space holds
  no goal state. Certificate: the number of states, and a smallest set of parts of the goal that no
  reachable state satisfies together.
"""

from __future__ import annotations

from collections.abc import Iterable

from galley.domain.failure import Failure, FailureKind
from galley.planning.conflict import smallest_conflict
from galley.planning.task import Task
from galley.planning.unreachable import explain_unreachable

__all__ = ["explain_exhausted", "explain_unreachable"]


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
