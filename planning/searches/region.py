"""The part of a state space that cheap plans run through, and the way left from each state of it.

States are expanded in order of their cost from the start. Once all below a cost C are, the region
holds every plan of cost C or less: each of its states is reached at C or less. So the costs to
the goal within the region are exact for all that such a plan may do next.

Costs here are positive whole numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

from galley.planning.limits import Meter
from galley.planning.space import StateSpace

_GROWTH = 1.2  # the least factor by which the region grows before costs to go are computed anew
_LOOK_EVERY = 1024


class Region:
    """The explored part of a space; it grows on demand.

    Attributes:
        bound: every plan of this cost or less lies within; None once the whole space does.
        expanded: states expanded so far.
        cost: the least cost of each state seen.
        to_go: the least cost to a goal state, for states through which a plan of at most
            ``bound`` may lead.
    """

    def __init__(self, space: StateSpace, costs: Sequence[int]) -> None:
        """Costs are positive whole numbers, one for each operator of the space."""
        self.space = space
        self.costs = costs
        self.bound: int | None = 0
        self.expanded = 0
        self.cost = {space.init: 0}
        self.to_go: dict[int, int] = {}
        # For each state those from which it follows: state, operator, state, operator, ...
        self._before: dict[int, list[int]] = {space.init: []}
        self._goals = [space.init] if space.is_goal(space.init) else []
        self._plan_held = False
        self._buckets = {0: [space.init]}
        self._order = [0]  # a heap of the keys of ``_buckets``

    def grow(self, meter: Meter, others: int) -> str | None:
        """Raises ``bound``, far enough to hold a plan where there is one.

        Args:
            meter: holds the limits.
            others: steps of other kinds to be counted on the same meter.

        Returns:
            The limit that was reached, if one was; the region is as it was then, or larger.
        """
        enough = self.expanded * _GROWTH + 1
        while self._order:
            level = self._order[0]
            if self.expanded >= enough and self._holds_plan(level):
                break
            over = self._expand(level, meter, others)
            if over is not None:
                return over
            heappop(self._order)
        self.bound = self._order[0] if self._order else None
        self._measure()
        return None

    def _holds_plan(self, bound: int) -> bool:
        """Whether there is a plan of cost ``bound`` or less."""
        if not self._plan_held:
            self._plan_held = any(self.cost[each] <= bound for each in self._goals)
        return self._plan_held

    def _expand(self, level: int, meter: Meter, others: int) -> str | None:
        """Expands the states of cost ``level``."""
        cost, before, buckets = self.cost, self._before, self._buckets
        successors, is_goal = self.space.successors, self.space.is_goal
        costs = self.costs
        bucket = buckets[level]
        while bucket:
            over = meter.exceeded(self.expanded + others, _LOOK_EVERY)
            if over is not None:
                return over
            state = bucket.pop()
            if cost[state] != level:
                continue  # it was reached more cheaply since
            self.expanded += 1
            for index, after in successors(state):
                reached = level + costs[index]
                known = cost.get(after)
                if known is None:
                    before[after] = [state, index]
                    if is_goal(after):
                        self._goals.append(after)
                else:
                    before[after] += (state, index)
                    if known <= reached:
                        continue
                cost[after] = reached
                waiting = buckets.get(reached)
                if waiting is None:
                    buckets[reached] = [after]
                    heappush(self._order, reached)
                else:
                    waiting.append(after)
        del buckets[level]
        return None

    def _measure(self) -> None:
        """Computes ``to_go`` anew, backwards from the goal states (Dijkstra)."""
        cost, before, costs, bound = self.cost, self._before, self.costs, self.bound
        to_go: dict[int, int] = {}
        tentative: dict[int, int] = {}
        queue: list[tuple[int, int]] = []
        for state in self._goals:
            if bound is None or cost[state] <= bound:
                tentative[state] = 0
                queue.append((0, state))
        while queue:
            left, state = heappop(queue)
            if state in to_go:
                continue
            to_go[state] = left
            pairs = iter(before[state])
            for earlier, index in zip(pairs, pairs, strict=True):
                further = left + costs[index]
                if bound is not None and cost[earlier] + further > bound:
                    continue
                known = tentative.get(earlier)
                if known is None or further < known:
                    tentative[earlier] = further
                    heappush(queue, (further, earlier))
        self.to_go = to_go
