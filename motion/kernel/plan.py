"""Plans in one compiled call: searches, shortens and, if required, proves.

Sampled edges are quick and nearly always right, so a path is first searched and shortened, then
proven. An edge that can't be proven is replaced by a search whose edges are proven, in the
shortened path or else in the raw one. If that fails, the search restarts with other random numbers
and a finer step. In the last round all edges are proven as they are made. A search that finds no
path at all is the last.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import int64, types

from galley.collision.kernel.edges import path_proven
from galley.compiled.jit import entry, inlined, kernel
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
        rounds: restarts of all of it, the first start counted, where no path found could be proven.
    """

    iterations: int
    tries: int
    patience: int
    rounds: int


BUDGET = types.NamedUniTuple(int64, 4, Budget)


class PlanResult(NamedTuple):
    """What a plan found.

    Attributes:
        status: FOUND, or why there is no path.
        path: (n, k); without rows unless the status is FOUND.
        iterations: samples drawn in all.
        start_nodes, goal_nodes: sizes of the trees of the last round's search.
        rounds: searches started.
        doubtful: paths with an edge that could not be proven.
        states: checked in the proof of the path; 0 without one.
    """

    status: int
    path: Array
    iterations: int
    start_nodes: int
    goal_nodes: int
    rounds: int
    doubtful: int
    states: int


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
            return PlanResult(START_NOT_PROVEN, nothing, 0, 0, 0, 0, 0, 0)
        ends = _proven_rows(table, goals, rules.required)
        if len(ends) == 0:
            return PlanResult(GOALS_NOT_PROVEN, nothing, 0, 0, 0, 0, 0, 0)
    status, used, doubtful, first, second = NO_PATH, 0, 0, 0, 0
    for turn in range(budget.rounds):
        state = seeded(seed, turn)
        current = table if turn == 0 else finer
        strict = rules.proven and turn > 0 and turn == budget.rounds - 1
        trial = Rules(rules.radius, strict, rules.required)
        raw, more, first, second = connect(
            current, box, trial, start, ends, budget.iterations, state
        )
        used += more
        if len(raw) == 0:  # one long search finds more than two of half its length
            return PlanResult(status, nothing, used, first, second, turn + 1, doubtful, 0)
        path = shorten(current, box, trial, raw, budget.tries, budget.patience, state)
        if not rules.proven:
            return PlanResult(FOUND, path, used, first, second, turn + 1, 0, 0)
        for attempt in range(3):
            edge, _, states = path_proven(current, path, rules.required)
            if edge < 0:
                return PlanResult(FOUND, path, used, first, second, turn + 1, doubtful, states)
            status = NOT_PROVEN
            doubtful += 1
            if attempt == 2:
                break
            broken = path if attempt == 0 else raw
            path, more = repair(current, box, rules, broken, budget.iterations // 10, state)
            used += more
            if len(path) == 0:
                path = raw
            else:
                # It was short but for what was repaired, and each try costs a proof.
                path = shorten(current, box, rules, path, budget.tries // 4, budget.patience, state)
    return PlanResult(status, nothing, used, first, second, budget.rounds, doubtful, 0)


@inlined
def _proven_rows(table: Any, rows: Array, required: float) -> Array:
    kept = np.empty(rows.shape)
    m = 0
    for i in range(len(rows)):
        if state_proven(table, rows[i], required):
            copy(rows[i], kept[m])
            m += 1
    return first_rows(kept, m)


@inlined
def repair(
    table: Any,
    box: Box,
    rules: Rules,
    path: Array,
    iterations: int,
    state: Any,
) -> tuple[Array, int]:
    """The path (n, k), each part that can't be proven replanned with proven edges.

    A part goes from one proven vertex to the next. The path's start must be proven.

    Args:
        iterations: budget of each part's search.

    Returns:
        (path, iterations used); without rows where a part could not be replanned.
    """
    n, k = path.shape
    nothing = np.empty((0, k))
    mended = first_rows(path, 1)
    goal = np.empty((1, k))
    used = 0
    i = 0
    while i < n - 1:
        j = i + 1
        while not state_proven(table, path[j], rules.required):
            j += 1
            if j == n:
                return nothing, used
        copy(path[j], goal[0])
        part, more, _, _ = connect(table, box, rules, path[i], goal, iterations, state)
        used += more
        if len(part) == 0:
            return nothing, used
        mended = _concatenated(mended, part)
        i = j
    return mended, used


@inlined
def _concatenated(path: Array, part: Array) -> Array:
    """The path and then the part without its first row."""
    n, m = len(path), len(part) - 1
    whole = np.empty((n + m, path.shape[1]))
    for i in range(n):
        copy(path[i], whole[i])
    for i in range(m):
        copy(part[i + 1], whole[n + i])
    return whole
