"""Cost-optimal search: blind at first, then A* with the landmark-cut heuristic as well.

Blind search takes a microsecond or less per state, A* with landmark cuts seventy; but each further
object to move multiplies the states of blind search by five to seven. So blind search is faster on
small tasks, A* on large ones.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal

from galley.domain.failure import Failure
from galley.planning.limits import SearchBudget, SearchLimits
from galley.planning.operators import Plan, make_plan
from galley.planning.searches.breadth_first import breadth_first
from galley.planning.searches.uniform_cost import UniformCostSearch, integer_costs
from galley.planning.states.space import StateSpace, state_space
from galley.planning.task import Task

if TYPE_CHECKING:  # imports NumPy, which most tasks don't need
    from galley.planning.searches.landmark_cut import AStarSearch

_log = logging.getLogger(__name__)

Heuristic = Literal["auto", "blind", "landmark-cut"]

_BLIND_FIRST = 1_200_000  # effort of the blind search before A* starts: half a second
# Then both alternate, the blind search with a third of the time until it gets too large. Turns are
# not measured in seconds, so that the search is deterministic.
_BLIND_TURN = 60_000  # effort
_INFORMED_TURN = 1_000  # states
_BLIND_MAX = 16_000_000  # effort: at most half a gigabyte


def astar(
    task: Task, limits: SearchLimits | None = None, heuristic: Heuristic = "auto"
) -> Plan | Failure:
    """A plan of least cost.

    Deterministic. For the other results see ``methods.search``.

    Args:
        task: the ground task.
        limits: when to give up.
        heuristic: ``blind`` is uniform-cost search; ``landmark-cut`` is A* and needs Numba;
            ``auto`` starts blind, then alternates both if Numba is installed.

    Raises:
        ImportError: ``landmark-cut`` without Numba.
    """
    limits = limits or SearchLimits()
    budget = SearchBudget(limits)
    space = state_space(task)
    costs, _ = integer_costs(each.cost for each in space.operators)
    expanded = 0
    for search, turn in _turns(space, costs, heuristic):
        others = expanded - search.expanded
        over = search.run(turn, budget, others)
        expanded = others + search.expanded
        if over is not None:
            return budget.failure(over, expanded=expanded, generated=search.generated)
        if search.done:
            if search.goal is not None:
                plan = search.plan()
                return make_plan(
                    plan, expanded=expanded, generated=search.generated, seconds=budget.seconds
                )
            if isinstance(search, UniformCostSearch):
                return search.explain_unsolvable()
            # The explanation also needs the states behind dead ends.
            return breadth_first(task, limits)
    raise AssertionError("the turns never end")


def _turns(
    space: StateSpace, costs: Sequence[int], heuristic: Heuristic
) -> Iterator[tuple[UniformCostSearch | AStarSearch, int]]:
    """The next search to run, and for how long, in the search's own unit."""
    if heuristic == "landmark-cut":
        from galley.planning.searches.landmark_cut import AStarSearch

        informed = AStarSearch(space, costs)
        while True:
            yield informed, _INFORMED_TURN
    blind = UniformCostSearch(space, costs)
    yield blind, _BLIND_FIRST
    extra = _informed(space, costs) if heuristic == "auto" else None
    while extra is None:
        yield blind, _BLIND_TURN
    informed = extra
    _log.info("%d states expanded; starting A* with landmark cuts as well", blind.expanded)
    while blind.effort < _BLIND_MAX:
        yield informed, _INFORMED_TURN
        yield blind, _BLIND_TURN
    del blind
    while True:
        yield informed, _INFORMED_TURN


def numba_installed() -> bool:
    """Whether Numba, and so the landmark-cut heuristic, is available."""
    return find_spec("numba") is not None


def _informed(space: StateSpace, costs: Sequence[int]) -> AStarSearch | None:
    """A* with landmark cuts, or None if Numba does not work."""
    if not numba_installed():
        return None
    from galley.planning.searches.landmark_cut import AStarSearch

    try:
        return AStarSearch(space, costs)
    except ImportError as error:  # such as one built for another NumPy
        _log.warning("continuing without landmark cuts: %s", error)
        return None
