"""Plans a path in one compiled call: search, shortcutting and, if required, the proof.

Sampled edges are quick and nearly always right, so the path is first searched and shortened with
sampled edges, then proven as a whole. If the proof fails, the search restarts with other random
numbers and a finer step, and each edge is proven as it is made.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import int64, types

from galley.collision.kernel.continuous_collision import path_proven
from galley.compiled.annotations import Configuration, Configurations, Int
from galley.compiled.jit import entry, kernel
from galley.domain.frames import Array
from galley.motion.kernel.checks import state_proven
from galley.motion.kernel.polyline import copy, first_rows
from galley.motion.kernel.rrt_connect import connect
from galley.motion.kernel.rules import BOX, RULES, Rules, SearchBox
from galley.motion.kernel.sampling import seeded
from galley.motion.kernel.shortcut import shorten

FOUND, NO_PATH, NOT_PROVEN, START_NOT_PROVEN, GOALS_NOT_PROVEN = range(5)


class Budget(NamedTuple):
    """Limits on the effort of a search.

    Attributes:
        iterations: most iterations of one search.
        tries: most random changes in shortening one path.
        patience: tries in a row without a gain after which shortening stops.
    """

    iterations: int
    tries: int
    patience: int


BUDGET = types.NamedUniTuple(int64, 3, Budget)


class PlanResult(NamedTuple):
    """The result of ``plan``.

    Attributes:
        status: FOUND, or one of the four other constants, which say why there is no path.
        path: (n, k), with n = 0 unless the status is FOUND.
        iterations: iterations of all searches together.
        start_nodes: nodes of the last search's tree from the start.
        goal_nodes: nodes of the last search's tree from the goals.
        searches: how many searches were started.
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
    table: Int,
    finer: Int,
    box: SearchBox,
    rules: Rules,
    budget: Budget,
    start: Configuration,
    goals: Configurations,
    seed: int,
) -> PlanResult:
    """A short path from start (k,) to one of ``goals`` (m, k), all of them free, m at least 1.

    Args:
        table: the collision view's table of addresses (rows, 3).
        finer: the table of the same view with edges sampled at a finer step.
        box: the space to search, and its metric.
        rules: with ``proven``, the returned path is proven to keep ``required``.
        budget: limits on the effort.
        start: configuration (k,), inside the box.
        goals: configurations (m, k), inside the box.
        seed: all random numbers come from it.
    """
    nothing = np.empty((0, len(start)))
    ends = goals
    if rules.proven:
        # An end that can't be proven rules out every path to it: better to say so at once than to
        # search in vain.
        if not state_proven(table, start, rules.required):
            return PlanResult(START_NOT_PROVEN, nothing, 0, 0, 0, 0)
        proven, m = np.empty(goals.shape), 0
        for i in range(len(goals)):
            if state_proven(table, goals[i], rules.required):
                copy(goals[i], proven[m])
                m += 1
        if m == 0:
            return PlanResult(GOALS_NOT_PROVEN, nothing, 0, 0, 0, 0)
        ends = first_rows(proven, m)
    status, used, first, second = NO_PATH, 0, 0, 0
    for turn in range(2):
        # The second search draws other samples, at a finer step, and proves every edge.
        state = seeded(seed, turn)
        current = table if turn == 0 else finer
        trial = Rules(rules.radius, turn > 0, rules.required)
        path, more, first, second = connect(
            current, box, trial, start, ends, budget.iterations, state
        )
        used += more
        # If samples alone gave the first search no path, a stricter one will hardly find one.
        if len(path) == 0:
            return PlanResult(status, nothing, used, first, second, turn + 1)
        path = shorten(current, box, trial, path, budget.tries, budget.patience, state)
        if not rules.proven:
            return PlanResult(FOUND, path, used, first, second, 1)
        if path_proven(current, path, rules.required)[0] < 0:
            return PlanResult(FOUND, path, used, first, second, turn + 1)
        # A state between two samples is too near, or too close a call for the proof.
        status = NOT_PROVEN
    return PlanResult(status, nothing, used, first, second, 2)
