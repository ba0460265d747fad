"""A* with the landmark-cut heuristic; needs Numba."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from galley.compiled.build import LANDMARKS, ensure
from galley.planning.limits import SearchBudget
from galley.planning.operators import Operator, path_to
from galley.planning.searches.relaxed import AUXILIARY, RelaxedOperator, RelaxedTask
from galley.planning.states.space import StateSpace

_CHECK_EVERY = 1  # expansions between two checks of the limits
_MAX_COST = 1 << 20  # costs are scaled down to this range, rounded down; sums then fit 64 bits


class AStarSearch:
    """A* with landmark cuts, which can be interrupted and resumed.

    Hart, Nilsson and Raphael, "A formal basis for the heuristic determination of minimum cost
    paths" (1968). The heuristic is inconsistent, so states are reopened when reached more cheaply.

    Attributes:
        expanded: states expanded so far.
        goal: a goal state of least cost, once found.
        done: whether a goal is found or the open list is empty.
    """

    def __init__(self, space: StateSpace, costs: Sequence[int]) -> None:
        """``costs`` are integers, one for each operator of the space."""
        self.space = space
        self.expanded = 0
        self.goal: int | None = None
        self.done = False
        self._costs = costs
        self._heuristic = LandmarkCutHeuristic(RelaxedTask(space), costs)
        self._g: dict[int, int] = {space.init: 0}
        self._reached: dict[int, tuple[int, int]] = {}  # parent and operator
        self._h: dict[int, int | None] = {}
        self._open: list[tuple[int, int, int, int]] = []  # f, h, serial number, state
        self._pushed = 0
        self._push(space.init, 0)

    @property
    def generated(self) -> int:
        """Distinct states generated."""
        return len(self._g)

    def run(self, expansions: int, budget: SearchBudget, others: int = 0) -> str | None:
        """Expands about so many further states; see ``UniformCostSearch.run``."""
        stop = self.expanded + expansions
        g, reached = self._g, self._reached
        while self._open and self.expanded < stop:
            f, h, _, state = self._open[0]
            if f != g[state] + h:
                heappop(self._open)  # outdated: reached more cheaply since
                continue
            if self.space.is_goal(state):
                self.goal = state
                break
            over = budget.exceeded(self.expanded + others, _CHECK_EVERY)
            if over is not None:
                return over
            heappop(self._open)
            self.expanded += 1
            for index, after in self.space.successors(state):
                cost = g[state] + self._costs[index]
                known = g.get(after)
                if known is None or cost < known:
                    g[after] = cost
                    reached[after] = state, index
                    self._push(after, cost)
        self.done = self.goal is not None or not self._open
        return None

    def _push(self, state: int, g: int) -> None:
        if state not in self._h:
            self._h[state] = self._heuristic.estimate(state)
        h = self._h[state]
        if h is not None:
            self._pushed += 1
            heappush(self._open, (g + h, h, self._pushed, state))

    def plan(self) -> list[Operator]:
        """The plan to ``goal``."""
        assert self.goal is not None
        return [self.space.operators[step] for step in path_to(self.goal, self._reached)]


Ints = NDArray[np.int32]


class LandmarkCutHeuristic:
    """The landmark-cut heuristic, which is admissible."""

    def __init__(self, relaxed: RelaxedTask, costs: Sequence[int]) -> None:
        """``costs`` are integers, one for each operator of the space."""
        self._relaxed = relaxed
        self._unit = max(1, -(-max(costs, default=0) // _MAX_COST))
        rounded = [*(each // self._unit for each in costs), 0]
        goal = relaxed.count
        owners = len(costs)  # a further owner, of cost 0, has the auxiliary operators and the goal
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
            # The heap: each operator may be queued again for each of its preconditions.
            np.empty(
                relaxed.count + 1 + sum((len(o.pre) + 1) * len(o.add) for o in operators), np.int64
            ),
        )
        self._true = np.empty(relaxed.count + 1, np.int32)
        self._kernel = _kernel()

    def estimate(self, state: int) -> int | None:
        """A lower bound of the cost of a plan from ``state``; None for a dead end."""
        true = self._relaxed.propositions(state)
        self._true[: len(true)] = true
        h: int = self._kernel(self._true, len(true), *self._tables)
        return None if h < 0 else h * self._unit


def _inverse(rows: Iterable[Iterable[int]], count: int) -> tuple[Ints, Ints]:
    """The rows that contain each number below ``count``: (start, end) into a list of rows."""
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
    """The compiled function, imported late because Numba takes time to load."""
    ensure(LANDMARKS)
    from galley.planning.searches.landmark_cut_kernel import landmark_cut

    return landmark_cut
