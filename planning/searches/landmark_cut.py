"""The landmark-cut heuristic.

Helmert and Domshlak, "Landmarks, critical paths and abstractions: what's the difference anyway?"
(2009). A cut is a set of actions of which every plan needs one. The heuristic is the sum of the
least costs in cuts that are found one after the other, each with the costs left by those before.
Sets of propositions are bit masks.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

from galley.planning.searches.relaxed import AUXILIARY, Propositions, RelaxedTask


class LandmarkCut:
    """The landmark-cut heuristic, which is admissible."""

    def __init__(self, relaxed: RelaxedTask, costs: Sequence[int]) -> None:
        """``costs`` are integers, one for each operator of the space."""
        self._relaxed = relaxed
        self._goal = 1 << relaxed.count  # a proposition that an operator makes of the goal
        self._costs = [*costs, 0]  # the last for AUXILIARY
        self._pre = [*(_mask(each.pre) for each in relaxed.operators), _mask(relaxed.goal)]
        self._add = [*(_mask(each.add) for each in relaxed.operators), self._goal]
        self._owner = [*(each.owner for each in relaxed.operators), AUXILIARY]

    def estimate(self, state: int) -> int | None:
        """A lower bound of the cost of a plan from ``state``; None for a dead end."""
        true = _mask(self._relaxed.propositions(state))
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
        pre, add, owner = self._pre, self._add, self._owner
        supporters = [0] * len(pre)
        waiting = range(len(pre))
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
                for i in waiting:
                    needed = pre[i]
                    if needed & reached != needed:
                        later.append(i)
                        continue
                    dearest = needed & fresh
                    supporters[i] = dearest & -dearest
                    cost = costs[owner[i]]
                    if not cost:
                        free |= add[i]
                    elif value + cost in added_at:
                        added_at[value + cost] |= add[i]
                    else:
                        added_at[value + cost] = add[i]
                        heappush(order, value + cost)
                waiting = later
                fresh = free & ~reached
        return goal_value, supporters

    def _cut(self, true: int, costs: list[int], supporters: list[int]) -> set[int]:
        """The actions that lead from what is reachable into the goal zone.

        From the propositions of the goal zone the goal costs nothing further. Of what an operator
        needs, only its supporter is regarded.
        """
        add, owner = self._add, self._owner
        possible = [i for i, supporter in enumerate(supporters) if supporter]
        zone, before = self._goal, 0
        free = [i for i in possible if not costs[owner[i]]]
        while zone != before:
            before = zone
            for i in free:
                if add[i] & zone:
                    zone |= supporters[i]
        region, before = true, 0
        cut = set()
        while region != before:
            before = region
            later = []
            for i in possible:
                if not supporters[i] & region:
                    later.append(i)
                    continue
                if add[i] & zone:
                    cut.add(owner[i])
                region |= add[i] & ~zone
            possible = later
        return cut


def _mask(propositions: Propositions) -> int:
    mask = 0
    for each in propositions:
        mask |= 1 << each
    return mask
