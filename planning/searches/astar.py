"""Cost-optimal search: without a heuristic while that is quick, then A* with landmark cuts.

Without a heuristic a state takes a microsecond or less, with landmark cuts seventy; but each
further object to move multiplies the former's states by five to seven. So small spaces are searched
exhaustively, and large ones by A* with the landmark-cut heuristic.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal

from galley.domain.failure import Failure
from galley.planning.limits import Meter, SearchLimits
from galley.planning.operators import Plan, plan_of
from galley.planning.searches.breadth_first import breadth_first
from galley.planning.searches.uniform_cost import UniformCost, whole_costs
from galley.planning.states.space import StateSpace, state_space
from galley.planning.task import Task

if TYPE_CHECKING:  # it needs NumPy, which most tasks don't
    from galley.planning.searches.landmark_cut import InformedSearch

_log = logging.getLogger(__name__)

Heuristic = Literal["auto", "blind", "landmark-cut"]

_EFFORT = 1_200_000  # of the blind search before landmark cuts are tried: half a second
# From then on both go on in turns, the blind one for a third of the time until it gets too large.
# Turns are not measured in seconds: so the same task always gives the same plan.
_BLIND_TURN = 60_000  # effort
_INFORMED_TURN = 1_000  # states
_BLIND_MOST = 16_000_000  # effort: at most half a gigabyte


def astar(
    task: Task, limits: SearchLimits | None = None, heuristic: Heuristic = "auto"
) -> Plan | Failure:
    """A plan of least cost.

    The same task always gives the same plan; for what else may come back see ``methods.search``.

    Args:
        task: the ground task.
        limits: when to give up.
        heuristic: ``blind`` takes states in order of their cost; ``landmark-cut`` needs Numba;
            ``auto`` begins blind, and where that is not enough and Numba is installed, both take
            turns.

    Raises:
        ImportError: ``landmark-cut`` without Numba.
    """
    limits = limits or SearchLimits()
    meter = Meter(limits)
    space = state_space(task)
    costs, _ = whole_costs(each.cost for each in space.operators)
    expanded = 0
    for search, turn in _turns(space, costs, heuristic):
        others = expanded - search.expanded
        over = search.run(turn, meter, others)
        expanded = others + search.expanded
        if over is not None:
            return meter.failure(over, expanded=expanded, generated=search.generated)
        if search.done:
            if search.goal is not None:
                plan = search.plan()
                return plan_of(
                    plan, expanded=expanded, generated=search.generated, seconds=meter.seconds
                )
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
        from galley.planning.searches.landmark_cut import InformedSearch

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


def numba_installed() -> bool:
    """Whether landmark cuts can be computed here."""
    return find_spec("numba") is not None


def _informed(space: StateSpace, costs: Sequence[int]) -> InformedSearch | None:
    """A* with landmark cuts, where Numba works."""
    if not numba_installed():
        return None
    from galley.planning.searches.landmark_cut import InformedSearch

    try:
        return InformedSearch(space, costs)
    except ImportError as error:  # made for another NumPy, for instance
        _log.warning("going on without landmark cuts: %s", error)
        return None
