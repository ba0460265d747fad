"""Which states follow a state."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from galley.planning.task import Task

Successors = Callable[[int], Iterator[tuple[int, int]]]


def scan(task: Task) -> Successors:
    """Tries every operator of ``task`` in turn.

    Returns:
        A function from a state to pairs (index of the operator, state that follows), in the
        order of ``task.operators``.
    """
    rows = [
        (index, op.pre | op.neg, op.pre, ~op.delete, op.add)
        for index, op in enumerate(task.operators)
    ]

    def successors(state: int) -> Iterator[tuple[int, int]]:
        for index, read, wanted, kept, added in rows:
            if state & read == wanted:
                yield index, state & kept | added

    return successors
