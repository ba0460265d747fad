"""Searches with shortcutting; with more than one, the best of searches that tighten a bound.

After T. Wilson et al., "AORRTC: almost-surely asymptotically optimal planning with RRT-Connect"
(2025): once a path is known, only paths below a bound are searched for, and each one found tightens
it. Here a raw path may be longer than the best by a slack, since shortcutting follows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import float64, int64, types

from galley.compiled.jit import kernel
from galley.domain.frames import Array
from galley.motion.kernel.polyline import distance, length
from galley.motion.kernel.rrt_connect import connect
from galley.motion.kernel.rules import UNBOUNDED, Box, Rules
from galley.motion.kernel.shortcut import shorten


class Budget(NamedTuple):
    """Limits on the effort of a search.

    Attributes:
        iterations: samples of a first search.
        tries: random changes in shortening one path.
        patience: shortening stops after this many changes in a row without a gain.
        searches: searches at most; 1 for the first path, shortened.
        later_iterations: samples of each search after the first.
        slack: later raw paths may be as long as this times the best length.
        rounds: restarts of all of it, the first start counted, where no path found could be proven.
    """

    iterations: int
    tries: int
    patience: int
    searches: int
    later_iterations: int
    slack: float
    rounds: int


BUDGET = types.NamedTuple((*[int64] * 5, float64, int64), Budget)


@kernel
def short_path(
    table: Any,
    box: Box,
    rules: Rules,
    budget: Budget,
    start: Array,
    goals: Array,
    state: Any,
    history: Array,
) -> tuple[Array, Array, int, int, int]:
    """The shortest path found from start (k,) to one of ``goals`` (m, k), all of them free.

    Args:
        state: of the random generator; advanced.
        history: (searches, 2), filled with the iterations used and the best length after each
            search that took place; the rest stays as it was. Fewer rows: only the first ones.

    Returns:
        (path (n, k), the same as the search found it, iterations used in all, nodes of the first
        search's tree from the start, and from the goals); n is 0 where there was no first path.
    """
    weights = box.weights
    least = UNBOUNDED  # no path is shorter than the straight one to the nearest goal
    for i in range(len(goals)):
        least = min(least, distance(start, goals[i], weights))
    best = np.empty((0, len(start)))
    best_raw, best_length = best, UNBOUNDED
    used, first, second = 0, 0, 0
    for turn in range(budget.searches):
        bound = UNBOUNDED if turn == 0 else budget.slack * best_length
        iterations = budget.iterations if turn == 0 else budget.later_iterations
        bounded = Rules(rules.radius, bound, rules.proven, rules.required)
        found, more, nodes, others = connect(table, box, bounded, start, goals, iterations, state)
        used += more
        if turn == 0:
            first, second = nodes, others
            if len(found) == 0:
                break
        if len(found) > 0:
            path = shorten(table, box, rules, found, budget.tries, budget.patience, state)
            reached = length(path, len(path), weights)
            if reached < best_length:
                best, best_raw, best_length = path, found, reached
        if turn < len(history):
            history[turn, 0] = used
            history[turn, 1] = best_length
        if best_length <= least * (1.0 + 1e-9):
            break
    return best, best_raw, used, first, second
