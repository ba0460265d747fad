"""What a goal can depend on; the rest of a task need not be searched."""

from __future__ import annotations

from collections import defaultdict

from galley.planning.operators import Operator
from galley.planning.task import Task


def relevant_facts(task: Task) -> int:
    """The facts on which reaching the goal may depend.

    These are the facts that the goal speaks of, and what the conditions speak of under which an
    operator changes such a fact. Leaving out the others neither adds nor takes away a plan, except
    for actions that change nothing that matters.

    Returns:
        A mask over ``task.facts``.
    """
    changers: dict[int, list[int]] = defaultdict(list)  # by fact
    reads: list[int] = []  # what must be known where an effect matters
    for operator in task.operators:
        precondition = operator.condition.read()
        _index(changers, reads, operator.add | operator.delete, precondition)
        for effect in operator.conditional:
            read = precondition | effect.condition.read()
            _index(changers, reads, effect.add | effect.delete, read)
    relevant = 0
    open_facts = task.goal.read()
    # Where its parts contradict each other the goal as a whole reads nothing; the parts matter
    # still, to say which of them do.
    for _, part in task.goals:
        open_facts |= part.read()
    while open_facts:
        fact = open_facts & -open_facts
        relevant |= fact
        # Each effect's conditions are looked at once for each fact it changes.
        for place in changers.pop(fact, ()):
            open_facts |= reads[place]
        open_facts &= ~relevant
    return relevant


def _index(changers: dict[int, list[int]], reads: list[int], changed: int, read: int) -> None:
    reads.append(read)
    while changed:
        fact = changed & -changed
        changers[fact].append(len(reads) - 1)
        changed ^= fact


def changes(operator: Operator, facts: int) -> bool:
    """Whether ``operator`` may change one of ``facts``."""
    if (operator.add | operator.delete) & facts:
        return True
    return any((effect.add | effect.delete) & facts for effect in operator.conditional)
