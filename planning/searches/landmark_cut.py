"""The landmark-cut heuristic.

Helmert and Domshlak, "Landmarks, critical paths and abstractions: what's the difference anyway?"
(2009). A cut is a set of actions of which every plan needs one. The heuristic is the sum of the
least costs in cuts that are found one after the other, each with the costs left by those before.
Sets of propositions are bit masks.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

from galley.planning.searches.relaxed import AUXILIARY, RelaxedOperator, RelaxedTask


class LandmarkCut:
    """The landmark-cut heuristic, which is admissible."""

    def __init__(self, relaxed: RelaxedTask, costs: Sequence[int]) -> None:
        """``costs`` are integers, one for each operator of the space."""
        self._relaxed = relaxed
        self._goal = 2 << (relaxed.read.bit_length())  # a proposition made of the whole goal
        self._costs = [*costs, 0]  # the last for AUXILIARY
        self._operators = [*relaxed.operators, RelaxedOperator(relaxed.goal, self._goal, AUXILIARY)]

    def estimate(self, state: int) -> int | None:
        """A lower bound of the cost of a plan from ``state``; None for a dead end."""
        true = self._relaxed.true_in(state)
        costs = self._costs.copy()
        total = 0
        while True:
            value, supporters = self._h_max(true, costs)
            if not value:
                return None if value is None else total
            cut = self._cut(true, costs, supporters)
            least = min(costs[owner] for owner in cut)
            total += least
            for owner in cut:
                costs[owner] -= least

    def _h_max(self, true: int, costs: list[int]) -> tuple[int | None, list[int]]:
        """The value of h_max, and of each operator the dearest proposition that it needs.

        That is 0 for an unreachable operator; the value is None if the goal is unreachable.
        """
        supporters = [0] * len(self._operators)
        waiting = list(enumerate(self._operators))
        reached, goal_value = 0, None
        added_at = {0: true}
        order = [0]
        while order:
            value = heappop(order)
            fresh = added_at.pop(value) & ~reached
            while fresh:
                reached |= fresh
                if fresh & self._goal:
                    goal_value = value
                free = 0
                later = []
                for each in waiting:
                    index, (pre, add, owner) = each
                    if pre & reached != pre:
                        later.append(each)
                        continue
                    dearest = pre & fresh
                    supporters[index] = dearest & -dearest
                    cost = costs[owner]
                    if not cost:
                        free |= add
                    elif value + cost in added_at:
                        added_at[value + cost] |= add
                    else:
                        added_at[value + cost] = add
                        heappush(order, value + cost)
                waiting = later
                fresh = free & ~reached
        return goal_value, supporters

    def _cut(self, true: int, costs: list[int], supporters: list[int]) -> set[int]:
        """The actions that lead from what is reachable into the goal zone.

        From the propositions of the goal zone the goal costs nothing further. Of what an operator
        needs, only its supporter is regarded.
        """
        possible = [
            (supporter, add, owner)
            for supporter, (_, add, owner) in zip(supporters, self._operators, strict=True)
            if supporter
        ]
        free = [each for each in possible if not costs[each[2]]]
        zone, before = self._goal, 0
        while zone != before:
            before = zone
            for supporter, add, _ in free:
                if add & zone:
                    zone |= supporter
        region, before = true, 0
        cut = set()
        while region != before:
            before = region
            later = []
            for each in possible:
                supporter, add, owner = each
                if not supporter & region:
                    later.append(each)
                    continue
                if add & zone:
                    cut.add(owner)
                region |= add & ~zone
            possible = later
        return cut
