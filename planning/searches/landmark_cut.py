"""A* with landmark cuts, in turns; where Numba is installed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from galley.compiled.build import LANDMARKS, ensure
from galley.planning.limits import Meter
from galley.planning.operators import Operator, steps_to
from galley.planning.searches.relaxed import AUXILIARY, RelaxedOperator, RelaxedTask
from galley.planning.states.space import StateSpace

_LOOK_EVERY = 16  # expansions with landmark cuts between two looks at the clock
_DEAREST = 1 << 20  # dearer actions are rounded down to this grid; sums then fit 64 bits


class InformedSearch:
    """A* with landmark cuts, which can be interrupted and goes on where it stopped.

    Hart, Nilsson and Raphael, "A formal basis for the heuristic determination of minimum cost
    paths" (1968). The heuristic is not consistent: a state that is reached more cheaply later is
    expanded again.

    Attributes:
        expanded: states expanded so far.
        goal: a goal state of least cost, once found.
        done: whether a goal is found, or none can be reached.
    """

    def __init__(self, space: StateSpace, costs: Sequence[int]) -> None:
        """Costs are whole numbers, one for each operator of the space."""
        self.space = space
        self.expanded = 0
        self.goal: int | None = None
        self.done = False
        self._costs = costs
        self._heuristic = LandmarkCut(RelaxedTask(space), costs)
        self._cost: dict[int, int] = {space.init: 0}
        self._before: dict[int, tuple[int, int]] = {}  # the state before, and the operator
        self._to_go: dict[int, int | None] = {}
        self._open: list[tuple[int, int, int, int]] = []  # cost in all, to go, number, state
        self._pushed = 0
        self._push(space.init, 0)

    @property
    def generated(self) -> int:
        """Distinct states seen."""
        return len(self._cost)

    def run(self, expansions: int, meter: Meter, others: int = 0) -> str | None:
        """Expands about so many states more; see ``UniformCost.run``."""
        stop = self.expanded + expansions
        cost, before = self._cost, self._before
        while self._open and self.expanded < stop:
            total, to_go, _, state = self._open[0]
            so_far = cost[state]
            if total != so_far + to_go:
                heappop(self._open)  # it was reached more cheaply since
                continue
            if self.space.is_goal(state):
                self.goal = state
                break
            over = meter.exceeded(self.expanded + others, _LOOK_EVERY)
            if over is not None:
                return over
            heappop(self._open)
            self.expanded += 1
            for index, after in self.space.successors(state):
                reached = so_far + self._costs[index]
                known = cost.get(after)
                if known is None or reached < known:
                    cost[after] = reached
                    before[after] = state, index
                    self._push(after, reached)
        self.done = self.goal is not None or not self._open
        return None

    def _push(self, state: int, reached: int) -> None:
        if state not in self._to_go:
            self._to_go[state] = self._heuristic.estimate(state)
        to_go = self._to_go[state]
        if to_go is not None:
            self._pushed += 1
            heappush(self._open, (reached + to_go, to_go, self._pushed, state))

    def plan(self) -> list[Operator]:
        """The plan to ``goal``."""
        assert self.goal is not None
        return [self.space.operators[step] for step in steps_to(self.goal, self._before)]


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
    ensure(LANDMARKS)
    from galley.planning.searches.landmark_cut_kernel import landmark_cut

    return landmark_cut
