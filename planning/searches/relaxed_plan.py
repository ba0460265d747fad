"""The FF heuristic: the length of a plan of the relaxed task, found without search.

Each proposition gets the cheapest operator that makes it true, as far as the sum of the costs of
its preconditions tells (h_add), and the plan is collected backwards from the goal (Hoffmann and
Nebel, "The FF planning system", 2001; with h_add's choices: Keyder and Geffner, "Heuristics for
planning with action costs revisited", 2008). The actions of the plan that can be done at once are
worth trying first.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from galley.planning.searches.relaxed import AUXILIARY, RelaxedTask

_UNREACHED = 1 << 60


class RelaxedPlans:
    """Estimates states by relaxed plans."""

    def __init__(self, relaxed: RelaxedTask, costs: Sequence[int]) -> None:
        """Costs are whole numbers, one for each operator of the space."""
        self.relaxed = relaxed
        self._goal = len(relaxed.operators)  # an operator that needs the goal and adds nothing
        self._pre = [*(each.pre for each in relaxed.operators), relaxed.goal]
        self._add = [*(each.add for each in relaxed.operators), ()]
        self._owner = [each.owner for each in relaxed.operators]
        self._readers: list[list[int]] = [[] for _ in range(relaxed.count)]
        for index, pre in enumerate(self._pre):
            for proposition in pre:
                self._readers[proposition].append(index)
        self._cost_of = list(costs)
        self._cost = [0 if o == AUXILIARY else costs[o] for o in self._owner]
        self._cost.append(0)
        self._missing = [len(pre) for pre in self._pre]
        self._none_reached = [_UNREACHED] * relaxed.count
        self._no_support = [-1] * relaxed.count

    def estimate(self, state: int) -> tuple[int, set[int]] | None:
        """The cost of a relaxed plan, and its actions that are applicable in ``state``.

        Returns:
            None where the goal can't be reached even in the relaxation: a dead end.
        """
        plan = self.plan(state)
        if plan is None:
            return None
        actions, preferred = plan
        cost = self._cost_of
        return sum([cost[each] for each in actions]), preferred

    def plan(self, state: int) -> tuple[set[int], set[int]] | None:
        """The actions of a relaxed plan, and those of them that are applicable in ``state``.

        Each is named once, even where several of its conditional effects are needed in turn.
        """
        missing, reached_at = self._missing.copy(), self._cost.copy()
        value, support = self._none_reached.copy(), self._no_support.copy()
        adds, readers = self._add, self._readers
        count, goal = self.relaxed.count, self._goal
        true = self.relaxed.propositions(state)
        for proposition in true:
            value[proposition] = 0
        queue: list[int] = []  # cost * count + proposition, which heapq compares fastest
        for proposition in true:
            for operator in readers[proposition]:
                missing[operator] -= 1
                if not missing[operator]:
                    total = reached_at[operator]
                    for added in adds[operator]:
                        if total < value[added]:
                            value[added] = total
                            support[added] = operator
                            queue.append(total * count + added)
        heapify(queue)
        while missing[goal]:
            if not queue:
                return None
            cost, proposition = divmod(heappop(queue), count)
            if cost > value[proposition]:
                continue
            for operator in readers[proposition]:
                reached_at[operator] += cost
                missing[operator] -= 1
                if not missing[operator]:
                    total = reached_at[operator]
                    for added in adds[operator]:
                        if total < value[added]:
                            value[added] = total
                            support[added] = operator
                            heappush(queue, total * count + added)
        return self._collect(support, reached_at)

    def _collect(self, support: list[int], reached_at: list[int]) -> tuple[set[int], set[int]]:
        """The plan from the goal backwards; ``support`` is -1 for what holds already."""
        pre, owner, cost = self._pre, self._owner, self._cost
        actions: set[int] = set()
        preferred: set[int] = set()
        waiting = list(pre[self._goal])
        for proposition in waiting:  # grows as it runs
            operator = support[proposition]
            if operator < 0:
                continue
            support[proposition] = -1  # collected
            waiting += pre[operator]
            if owner[operator] != AUXILIARY:
                actions.add(owner[operator])
                if reached_at[operator] == cost[operator]:
                    preferred.add(owner[operator])
        return actions, preferred
