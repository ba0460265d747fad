"""Plans in one compiled call: searches, shortens and, if required, proves.

Sampled edges are quick and nearly always right, so a path is first searched and shortened, then
proven. If the proof fails, the search restarts with other random numbers and a finer step, and
each edge is proven as it is made.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import int64, types

from galley.collision.kernel.edges import path_proven
from galley.compiled.jit import entry, kernel
from galley.domain.frames import Array
from galley.motion.kernel.checks import state_proven
from galley.motion.kernel.polyline import copy, first_rows
from galley.motion.kernel.rrt_connect import connect
from galley.motion.kernel.rules import BOX, RULES, Box, Rules
from galley.motion.kernel.sampling import seeded
from galley.motion.kernel.shortcut import shorten

FOUND, NO_PATH, NOT_PROVEN, START_NOT_PROVEN, GOALS_NOT_PROVEN = range(5)


class Budget(NamedTuple):
    """Limits on the effort of a search.

    Attributes:
        iterations: samples of a search.
        tries: random changes in shortening one path.
        patience: shortening stops after this many changes in a row without a gain.
    """

    iterations: int
    tries: int
    patience: int


BUDGET = types.NamedUniTuple(int64, 3, Budget)


class PlanResult(NamedTuple):
    """What a plan found.

    Attributes:
        status: FOUND, or why there is no path.
        path: (n, k); without rows unless the status is FOUND.
        iterations: samples drawn in all.
        start_nodes, goal_nodes: sizes of the trees of the last search.
        searches: that were started.
    """

    status: int
    path: Array
    iterations: int
    start_nodes: int
    goal_nodes: int
    searches: int


@entry("i8:2 i8:2", BOX, RULES, BUDGET, "f8:1 f8:2 i8")
@kernel
def plan(
    table: Any,
    finer: Any,
    box: Box,
    rules: Rules,
    budget: Budget,
    start: Array,
    goals: Array,
    seed: int,
) -> PlanResult:
    """A short path from start (k,) to one of ``goals`` (m, k), all of them free, m at least 1.

    Args:
        table, finer: the same view with edges sampled at a coarser and at a finer step.
        rules: with ``proven``, the returned path is proven to keep ``required``.
        seed: all random numbers come from it.
    """
    nothing = np.empty((0, len(start)))
    ends = goals
    if rules.proven:
        if not state_proven(table, start, rules.required):
            return PlanResult(START_NOT_PROVEN, nothing, 0, 0, 0, 0)
        kept, m = np.empty(goals.shape), 0
        for i in range(len(goals)):
            if state_proven(table, goals[i], rules.required):
                copy(goals[i], kept[m])
                m += 1
        if m == 0:
            return PlanResult(GOALS_NOT_PROVEN, nothing, 0, 0, 0, 0)
        ends = first_rows(kept, m)
    status, used, first, second = NO_PATH, 0, 0, 0
    for turn in range(2):
        state = seeded(seed, turn)
        current = table if turn == 0 else finer
        trial = Rules(rules.radius, turn > 0, rules.required)
        path, more, first, second = connect(
            current, box, trial, start, ends, budget.iterations, state
        )
        used += more
        if len(path) == 0:
            return PlanResult(status, nothing, used, first, second, turn + 1)
        path = shorten(current, box, trial, path, budget.tries, budget.patience, state)
        if not rules.proven:
            return PlanResult(FOUND, path, used, first, second, 1)
        if path_proven(current, path, rules.required)[0] < 0:
            return PlanResult(FOUND, path, used, first, second, turn + 1)
        status = NOT_PROVEN
    return PlanResult(status, nothing, used, first, second, 2)
