"""Top-k planning: plans in order of cost.

Paths from the initial state are enumerated best-first by their cost plus the exact cost to the
goal, so nearly every path ends in a plan. Of the successors of a path only the best is in the
queue; when it is popped, the next best is pushed (the sidetracks of Eppstein, "Finding the k
shortest paths", 1998).

The costs to the goal come from an explored region that grows with the cost of the plans. States are
expanded in order of cost. Once all states of cost below C are, the region contains every plan of
cost C or less, so the costs to the goal are exact for these plans.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from galley.domain.failure import Failure
from galley.planning.explain.conflicts import explain_before_search, explain_exhausted
from galley.planning.limits import SearchBudget, SearchLimits
from galley.planning.operators import Plan, make_plan
from galley.planning.searches.uniform_cost import integer_costs
from galley.planning.states.space import StateSpace, state_space
from galley.planning.task import Task

# Costs are multiplied by this and increased by 1: of plans of equal cost the shorter comes first,
# and no action is free.
_SCALE = 1 << 32
_CHECK_EVERY_PATHS = 16  # popped between two checks of the limits
_CHECK_EVERY_STATES = 16
_GROWTH = 1.2  # least growth of the region before costs to the goal are computed again

_Step = tuple[int, int, int]  # increase of a plan's least cost, operator, state


class _Path(NamedTuple):
    """The beginning of a plan; ordered by total, then by operators.

    Attributes:
        total: its cost plus the least cost to the goal.
        operators: indices of its operators.
        states: the states it visits, from the initial one on.
        parent: the path without the last step.
        steps: the steps from the end of the parent, best first.
        place: index of its last step in ``steps``.
    """

    total: int
    operators: tuple[int, ...]
    states: tuple[int, ...]
    parent: _Path | None
    steps: list[_Step]
    place: int


class PlanIterator(Iterator[Plan]):
    """Plans in order of cost, then of length.

    Attributes:
        complete: whether all plans have been yielded.
        failure: why the iteration stopped early, or why there is no plan at all; else None.
    """

    def __init__(self, task: Task, limits: SearchLimits, loopless: bool) -> None:
        self.complete = False
        self.failure: Failure | None = None
        self._task = task
        self._limits = limits
        self._loopless = loopless
        self._plans: Iterator[Plan] | None = None
        self._budget: SearchBudget | None = None
        self._found = 0
        self._waited_since: float | None = None

    def __iter__(self) -> PlanIterator:
        return self

    def __next__(self) -> Plan:
        """The next plan.

        Raises:
            StopIteration: there are no more plans, or a limit was reached.
        """
        if self._plans is None or self._budget is None:
            self._budget = SearchBudget(self._limits)
            self._plans = self._run(self._budget)
        elif self._waited_since is not None:
            # Time spent by the caller between two plans doesn't count.
            self._budget.began += self._budget.seconds - self._waited_since
        plan = next(self._plans)
        self._found += 1
        self._waited_since = self._budget.seconds
        return plan

    def _run(self, budget: SearchBudget) -> Iterator[Plan]:
        unsolvable = explain_before_search(self._task)
        if unsolvable is not None:
            self.complete, self.failure = True, unsolvable
            return
        space = state_space(self._task, prune=False)
        search = _Enumeration(space, self._loopless)
        while True:
            over = yield from search.plans(budget)
            if over is None and search.region.bound is not None:
                over = search.grow(budget)
                if over is None:
                    continue
            break
        if over is None:
            self.complete = True
            if not self._found:
                states = map(space.packing.decode, search.region.cost)
                self.failure = explain_exhausted(self._task, states, whole=True)
            return
        self.failure = budget.failure(
            over, expanded=search.expanded, generated=len(search.region.cost)
        )


def plans(task: Task, limits: SearchLimits | None = None, *, loopless: bool = True) -> PlanIterator:
    """All plans in order of cost, then of length, then of operators, computed lazily.

    A plan is any applicable sequence of actions that ends in a goal state; it may pass through
    other goal states::

        for plan in itertools.islice(plans(task), 20): ...

    Args:
        task: the ground task.
        limits: when to give up. Expanded states and popped paths count as nodes; time spent by
            the caller between two plans doesn't count.
        loopless: leave out plans that visit a state twice. Otherwise there may be infinitely many.
    """
    return PlanIterator(task, limits or SearchLimits(), loopless)


class _Enumeration:
    """Enumerates the plans within a region in order of cost."""

    def __init__(self, space: StateSpace, loopless: bool) -> None:
        self.space = space
        self.loopless = loopless
        costs, _ = integer_costs(each.cost for each in space.operators)
        self.region = ExploredRegion(space, [each * _SCALE + 1 for each in costs])
        self.popped = 0  # paths
        self._queue: list[_Path] = []
        self._started = False
        self._parked: list[_Path] = []  # paths with further steps beyond the region's bound
        self._steps: dict[int, list[_Step]] = {}

    @property
    def expanded(self) -> int:
        """Nodes that count towards the limit."""
        return self.region.expanded + self.popped

    def grow(self, budget: SearchBudget) -> str | None:
        """Enlarges the region, and queues the parked paths that are now within its bound."""
        old_bound = self.region.bound  # all paths up to it have been popped
        over = self.region.grow(budget, self.popped)
        if over is not None:
            return over
        self._steps.clear()
        init = self.space.init
        if not self._started and init in self.region.to_go:
            self._started = True
            heappush(self._queue, _Path(self.region.to_go[init], (), (init,), None, [], 0))
        parked, self._parked = self._parked, []
        for path in parked:
            self._push_next(path, self._steps_from(path.states[-1]), 0, old_bound)
        return None

    def plans(self, budget: SearchBudget) -> Generator[Plan, None, str | None]:
        """Yields the remaining plans within the region; returns the limit reached, if any."""
        to_go, operators = self.region.to_go, self.space.operators
        while self._queue:
            over = budget.exceeded(self.expanded, _CHECK_EVERY_PATHS)
            if over is not None:
                return over
            path = heappop(self._queue)
            self.popped += 1
            if path.parent is not None:
                self._push_next(path.parent, path.steps, path.place + 1)
            state = path.states[-1]
            self._push_next(path, self._steps_from(state), 0)
            if not to_go[state]:
                yield make_plan(
                    [operators[index] for index in path.operators],
                    expanded=self.expanded,
                    generated=len(self.region.cost),
                    seconds=budget.seconds,
                )
        return None

    def _push_next(
        self, path: _Path, steps: list[_Step], place: int, above: int | None = None
    ) -> None:
        """Pushes ``path`` extended by its best admissible step, or parks it.

        Args:
            path: the path.
            steps: the steps from its end, by cost.
            place: index of the first step to consider.
            above: total that the extended path must exceed.
        """
        total, _, visited, _, _, _ = path
        bound = self.region.bound
        for i in range(place, len(steps)):
            more, index, state = steps[i]
            reached = total + more
            if bound is not None and reached > bound:
                break
            if self.loopless and state in visited:
                continue
            if above is not None and reached <= above:
                continue
            new = _Path(reached, (*path.operators, index), (*visited, state), path, steps, i)
            heappush(self._queue, new)
            return
        if bound is not None:
            self._parked.append(path)

    def _steps_from(self, state: int) -> list[_Step]:
        """The steps from ``state`` that may lead to a goal, best first."""
        steps = self._steps.get(state)
        if steps is None:
            to_go, costs = self.region.to_go, self.region.costs
            here = to_go[state]
            steps = [
                (costs[index] + to_go[after] - here, index, after)
                for index, after in self.space.successors(state)
                if after in to_go
            ]
            steps.sort()
            self._steps[state] = steps
        return steps


class ExploredRegion:
    """The explored part of a state space, which grows on demand.

    Attributes:
        bound: the region contains every plan of this cost or less; None once it is the whole space.
        expanded: states expanded so far.
        cost: the least known cost of each generated state.
        to_go: the least cost to a goal, for states on plans of cost ``bound`` or less.
    """

    def __init__(self, space: StateSpace, costs: Sequence[int]) -> None:
        """``costs`` are positive integers, one for each operator of the space."""
        self.space = space
        self.costs = costs
        self.bound: int | None = 0
        self.expanded = 0
        self.cost = {space.init: 0}
        self.to_go: dict[int, int] = {}
        # Predecessors of each state: state, operator, state, operator, ...
        self._predecessors: dict[int, list[int]] = {space.init: []}
        self._goals = [space.init] if space.is_goal(space.init) else []
        self._has_plan = False
        self._buckets = {0: [space.init]}
        self._order = [0]  # heap of the keys of ``_buckets``

    def grow(self, budget: SearchBudget, others: int) -> str | None:
        """Raises ``bound`` until the region contains a plan, if there is one.

        Args:
            budget: checks the limits.
            others: other nodes to count on the same budget.

        Returns:
            The limit that was reached, if any.
        """
        enough = self.expanded * _GROWTH + 1
        while self._order:
            level = self._order[0]
            if self.expanded >= enough and self._holds_plan(level):
                break
            over = self._expand(level, budget, others)
            if over is not None:
                return over
            heappop(self._order)
        self.bound = self._order[0] if self._order else None
        self._measure()
        return None

    def _holds_plan(self, bound: int) -> bool:
        """Whether there is a plan of cost ``bound`` or less."""
        if not self._has_plan:
            self._has_plan = any(self.cost[each] <= bound for each in self._goals)
        return self._has_plan

    def _expand(self, level: int, budget: SearchBudget, others: int) -> str | None:
        """Expands the states of cost ``level``."""
        cost, predecessors, buckets = self.cost, self._predecessors, self._buckets
        successors, is_goal = self.space.successors, self.space.is_goal
        costs = self.costs
        bucket = buckets[level]
        while bucket:
            over = budget.exceeded(self.expanded + others, _CHECK_EVERY_STATES)
            if over is not None:
                return over
            state = bucket.pop()
            if cost[state] != level:
                continue  # outdated: reached more cheaply since
            self.expanded += 1
            for index, after in successors(state):
                reached = level + costs[index]
                known = cost.get(after)
                if known is None:
                    predecessors[after] = [state, index]
                    if is_goal(after):
                        self._goals.append(after)
                else:
                    predecessors[after] += (state, index)
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
        """Recomputes ``to_go`` by Dijkstra's algorithm, backwards from the goal states."""
        cost, costs, bound = self.cost, self.costs, self.bound
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
            pairs = iter(self._predecessors[state])
            for earlier, index in zip(pairs, pairs, strict=True):
                further = left + costs[index]
                if bound is not None and cost[earlier] + further > bound:
                    continue
                known = tentative.get(earlier)
                if known is None or further < known:
                    tentative[earlier] = further
                    heappush(queue, (further, earlier))
        self.to_go = to_go
