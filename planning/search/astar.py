"""Cost-optimal search: without a heuristic while that is quick, then A* with landmark cuts.

Without a heuristic a state takes a microsecond or less, with landmark cuts seventy; but each
further object to move multiplies the former's states by five to seven. So small spaces are searched
exhaustively, and large ones by A* with the landmark-cut heuristic.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from typing import Literal

from galley.domain.failure import Failure
from galley.planning.search.breadth_first import breadth_first
from galley.planning.search.costs import whole_costs
from galley.planning.search.landmark_cut import LandmarkCut, numba_installed
from galley.planning.search.limits import Limits, Meter
from galley.planning.search.relaxed import RelaxedTask
from galley.planning.search.result import Plan, limit_failure, plan_of
from galley.planning.search.uniform_cost import UniformCost
from galley.planning.space import StateSpace, state_space
from galley.planning.task import Operator, Task

_log = logging.getLogger(__name__)

Heuristic = Literal["auto", "blind", "landmark-cut"]

_EFFORT = 1_200_000  # of the blind search before landmark cuts are tried: half a second
# From then on both go on in turns of about equal time, until the blind search gets too large. Turns
# are not measured in seconds: so the same task always gives the same plan.
_BLIND_TURN = 60_000  # effort
_INFORMED_TURN = 500  # states
_BLIND_MOST = 16_000_000  # effort: at most half a gigabyte
_LOOK_EVERY = 16  # expansions with landmark cuts between two looks at the clock


def astar(
    task: Task, limits: Limits | None = None, heuristic: Heuristic = "auto"
) -> Plan | Failure:
    """A plan of least cost.

    The same task always gives the same plan.

    Args:
        task: the ground task.
        limits: when to give up.
        heuristic: ``blind`` takes states in order of their cost; ``landmark-cut`` needs Numba;
            ``auto`` begins blind, and where that is not enough and Numba is installed, both take
            turns.

    Returns:
        The plan, or a Failure: ``CONTRADICTION`` with a certificate where no plan exists, and
        ``BUDGET`` where a limit was reached first.

    Raises:
        ImportError: ``landmark-cut`` without Numba.
    """
    limits = limits or Limits()
    meter = limits.start()
    space = state_space(task)
    costs, _ = whole_costs(each.cost for each in space.operators)
    expanded = 0
    for search, turn in _turns(space, costs, heuristic):
        others = expanded - search.expanded
        over = search.run(turn, meter, others)
        expanded = others + search.expanded
        spent = {
            "expanded": expanded,
            "generated": search.generated,
            "seconds": meter.seconds,
        }
        if over is not None:
            return limit_failure(over, **spent)
        if search.done:
            if search.goal is not None:
                return plan_of(search.plan(), **spent)
            if isinstance(search, UniformCost):
                return search.why_none()
            # Dead ends were cut off, and an explanation needs the states behind them too.
            return breadth_first(task, limits)
    raise AssertionError("turns never end")


def _turns(
    space: StateSpace, costs: Sequence[int], heuristic: Heuristic
) -> Iterator[tuple[UniformCost | InformedSearch, int]]:
    """The search whose turn it is, and how long that lasts, by the search's own measure."""
    if heuristic == "landmark-cut":
        informed = InformedSearch(space, costs)
        while True:
            yield informed, _INFORMED_TURN
    blind = UniformCost(space, costs)
    yield blind, _EFFORT
    extra = _informed(space, costs) if heuristic == "auto" else None
    while extra is None:
        yield blind, _BLIND_TURN
    informed = extra
    _log.info("%d states searched; going on with landmark cuts as well", blind.expanded)
    while blind.effort < _BLIND_MOST:
        yield informed, _INFORMED_TURN
        yield blind, _BLIND_TURN
    del blind
    while True:
        yield informed, _INFORMED_TURN


def _informed(space: StateSpace, costs: Sequence[int]) -> InformedSearch | None:
    """A* with landmark cuts, where Numba works."""
    if not numba_installed():
        return None
    try:
        return InformedSearch(space, costs)
    except ImportError as error:  # made for another NumPy, for instance
        _log.warning("going on without landmark cuts: %s", error)
        return None


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
            over = meter.exceeded(self.expanded + others, _LOOK_EVERY)
            if over is not None:
                return over
            total, to_go, _, state = heappop(self._open)
            so_far = cost[state]
            if total != so_far + to_go:
                continue  # it was reached more cheaply since
            if self.space.is_goal(state):
                self.goal = state
                break
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
