"""A* with landmark cuts, in turns."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

from galley.planning.limits import Meter
from galley.planning.operators import Operator
from galley.planning.searches.landmark_cut import LandmarkCut
from galley.planning.searches.relaxed import RelaxedTask
from galley.planning.space import StateSpace

_LOOK_EVERY = 16  # expansions with landmark cuts between two looks at the clock


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
        plan = []
        state = self.goal
        while state in self._before:
            state, index = self._before[state]
            plan.append(self.space.operators[index])
        return plan[::-1]
