"""The landmark-cut heuristic of a state space, where Numba is installed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from galley.compiled.jit import first_use
from galley.planning.searches.relaxed import AUXILIARY, RelaxedOperator, RelaxedTask

_PART = "the landmark-cut heuristic"  # as the user reads it while it compiles
_DEAREST = 1 << 20  # dearer actions are rounded down to this grid; sums then fit 64 bits

Ints = NDArray[np.int32]


class LandmarkCut:
    """Estimates states by landmark cuts; never more than the cost that it takes."""

    def __init__(self, relaxed: RelaxedTask, costs: Sequence[int]) -> None:
        """Costs are whole numbers, one for each operator of the space."""
        self._relaxed = relaxed
        self._unit = max(1, -(-max(costs, default=0) // _DEAREST))
        rounded = [*(each // self._unit for each in costs), 0]
        goal = relaxed.count
        owners = len(costs)  # one more owns the auxiliary operators and the goal, for nothing
        operators = [*relaxed.operators, RelaxedOperator(relaxed.goal, (goal,), AUXILIARY)]
        owner = [owners if each.owner == AUXILIARY else each.owner for each in operators]
        table = np.zeros((len(operators) + 1, 3), np.int32)
        table[1:, 0] = np.cumsum([len(each.pre) for each in operators])
        table[1:, 1] = np.cumsum([len(each.add) for each in operators])
        table[:-1, 2] = owner
        pre = np.array([p for each in operators for p in each.pre], np.int32)
        add = np.array([p for each in operators for p in each.add], np.int32)
        self._tables = (
            goal,
            table,
            pre,
            add,
            *_inverse((each.pre for each in operators), relaxed.count + 1),
            *_inverse((each.add for each in operators), relaxed.count + 1),
            *_inverse(((each,) for each in owner), owners + 1),
            np.array([rounded[each] for each in owner], np.int64),
            # Each operator may be queued anew with each of its preconditions.
            np.empty(
                relaxed.count + 1 + sum((len(o.pre) + 1) * len(o.add) for o in operators), np.int64
            ),
        )
        self._true = np.empty(relaxed.count + 1, np.int32)
        self._kernel = _kernel()

    def estimate(self, state: int) -> int | None:
        """At most what a plan from ``state`` costs; None for a dead end."""
        true = self._relaxed.propositions(state)
        self._true[: len(true)] = true
        with first_use(_PART):
            found: int = self._kernel(self._true, len(true), *self._tables)
        return None if found < 0 else found * self._unit


def _inverse(rows: Iterable[Iterable[int]], count: int) -> tuple[Ints, Ints]:
    """For each number below ``count`` the rows that it stands in: (start, end), and the rows."""
    lists: list[list[int]] = [[] for _ in range(count)]
    for index, row in enumerate(rows):
        for each in row:
            lists[each].append(index)
    ends = np.cumsum([len(each) for each in lists])
    starts = ends - [len(each) for each in lists]
    flat = [index for each in lists for index in each]
    return np.stack([starts, ends], axis=1).astype(np.int32), np.array(flat, np.int32)


@cache
def _kernel() -> Callable[..., int]:
    """The compiled function; its module imports Numba, which takes time."""
    from galley.planning.searches.landmark_cut_kernel import landmark_cut

    return landmark_cut
