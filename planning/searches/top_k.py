"""Top-k planning: plans in order of cost.

Paths from the initial state are extended best-first by their cost plus the exact cost to the goal,
so nearly every path ends in a plan.

The costs to the goal come from an explored region that grows with the cost of the plans. States are
expanded in order of cost. Once all states of cost below C are, the region contains every plan of
cost C or less, so the costs to the goal are exact for these plans.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from heapq import heappop, heappush
from math import inf
from typing import NamedTuple

from galley.domain.failure import Failure
from galley.planning.explain.conflicts import explain_before_search, explain_exhausted
from galley.planning.limits import SearchBudget, SearchLimits
from galley.planning.operators import Plan, integer_costs
from galley.planning.successors import StateSpace
from galley.planning.task import Task

# Costs are multiplied by this and increased by 1: of plans of equal cost the shorter comes first,
# and no action is free.
_SCALE = 1 << 32
_CHECK_EVERY = 64  # states or paths between two checks of the limits
_GROWTH = 1.2  # least growth of the region before costs to the goal are computed again


class _Path(NamedTuple):
    """The beginning of a plan. Paths compare by their total, then by their operators.

    Attributes:
        total: the path's cost plus the least cost from its end to the goal.
        operators: indices of the path's operators in ``StateSpace.operators``.
        states: the states that the path visits, from the initial one on.
        cost: the path's cost.
    """

    total: int
    operators: tuple[int, ...]
    states: tuple[int, ...]
    cost: int


class PlanIterator(Iterator[Plan]):
    """Plans in order of cost, then of length.

    Attributes:
        complete: whether all plans have been yielded.
        failure: why the iteration stopped early, or why there is no plan at all; else None.
    """

    def __init__(self, task: Task, limits: SearchLimits) -> None:
        self.complete = False
        self.failure: Failure | None = None
        self._plans = self._run(task, limits)

    def __next__(self) -> Plan:
        """The next plan.

        Raises:
            StopIteration: there are no more plans, or a limit was reached.
        """
        return next(self._plans)

    def _run(self, task: Task, limits: SearchLimits) -> Iterator[Plan]:
        """Yields the plans; sets ``complete`` and ``failure`` at the end."""
        budget = SearchBudget(limits)
        unsolvable = explain_before_search(task)
        if unsolvable is not None:
            self.complete, self.failure = True, unsolvable
            return
        space = StateSpace(task, (1 << len(task.facts)) - 1)
        search = _Enumeration(space)
        over = yield from search.plans(budget)
        known = search.region.cost
        if over is not None:
            self.failure = budget.failure(over, expanded=search.expanded, generated=len(known))
            return
        self.complete = True
        if not search.region.goals:
            self.failure = explain_exhausted(task, known, space.facts)


def plans(task: Task, limits: SearchLimits | None = None) -> PlanIterator:
    """All plans in order of cost, then of length, then of operators, computed lazily.

    A plan is any applicable sequence of actions that visits no state twice and ends in a goal
    state; it may pass through other goal states::

        for plan in itertools.islice(plans(task), 20): ...

    Args:
        task: the ground task.
        limits: when to give up. Expanded states and extended paths count as nodes; time spent by
            the caller between two plans doesn't count.
    """
    return PlanIterator(task, limits or SearchLimits())


class _Enumeration:
    """Enumerates plans in order of cost, by a best-first search over paths."""

    def __init__(self, space: StateSpace) -> None:
        self.space = space
        self.region = _ExploredRegion(space)
        self.extended = 0  # paths
        self._queue: list[_Path] = []
        self._extended: list[_Path] = []  # those that may have steps beyond the region's bound
        self._steps: dict[int, list[tuple[int, int]]] = {}

    @property
    def expanded(self) -> int:
        """Nodes that count towards the limit."""
        return self.region.expanded + self.extended

    def plans(self, budget: SearchBudget) -> Generator[Plan, None, str | None]:
        """Yields all plans; returns the limit reached, if any."""
        region, operators, init = self.region, self.space.operators, self.space.init
        while region.bound is not None:
            old_bound = region.bound  # all paths of a total up to it have been extended
            over = region.grow(budget, self.extended)
            if over is not None:
                return over
            # The first region with a plan: begin with the empty path.
            if not self._extended and init in region.to_go:
                heappush(self._queue, _Path(region.to_go[init], (), (init,), 0))
            # A larger region has more steps: extend the old paths again, by the new steps alone.
            again, self._extended = self._extended, []
            for path in again:
                self._extend(path, old_bound)
            # Every path of a total within the bound, cheapest first.
            while self._queue:
                over = budget.exceeded(self.expanded, _CHECK_EVERY)
                if over is not None:
                    return over
                path = heappop(self._queue)
                self.extended += 1
                self._extend(path)
                # The path ends in a goal state. Its total is its cost then, and no path in the
                # queue has a smaller one.
                if not region.to_go[path.states[-1]]:
                    steps = [operators[index] for index in path.operators]
                    plan = budget.plan(steps, expanded=self.expanded, generated=len(region.cost))
                    yield plan
                    # Time spent by the caller between two plans doesn't count.
                    budget.began += budget.seconds - plan.seconds
        return None

    def _extend(self, path: _Path, above: int = -1) -> None:
        """Queues ``path`` extended by each step, if the total exceeds ``above``."""
        _, indices, visited, cost = path
        to_go, costs, bound = self.region.to_go, self.region.costs, self.region.bound
        state = visited[-1]
        if state not in self._steps:
            self._steps[state] = self.space.successors(state)
        for index, after in self._steps[state]:
            # No goal within the bound can be reached from there, or the path would be a cycle.
            if after not in to_go or after in visited:
                continue
            spent = cost + costs[index]
            total = spent + to_go[after]
            # Up to ``above`` it was queued before; beyond the bound the costs to the goal are not
            # exact yet.
            if total > above and (bound is None or total <= bound):
                new = _Path(total, (*indices, index), (*visited, after), spent)
                heappush(self._queue, new)
        if bound is not None:
            self._extended.append(path)


class _ExploredRegion:
    """The explored part of a state space, which grows on demand.

    Attributes:
        bound: the region contains every plan of this cost or less; None once it is the whole space.
        expanded: states expanded so far.
        costs: positive integers, one for each operator of the space.
        cost: the least known cost of each generated state.
        goals: the goal states among them.
        to_go: the least cost to a goal, for states on plans of cost ``bound`` or less.
    """

    def __init__(self, space: StateSpace) -> None:
        costs = integer_costs(operator.cost for operator in space.operators)
        self.costs = [cost * _SCALE + 1 for cost in costs]
        self.bound: int | None = -1
        self.expanded = 0
        self.cost = {space.init: 0}
        self.goals = {space.init} if space.task.is_goal(space.init) else set()
        self.to_go: dict[int, int] = {}
        self._space = space
        self._least = 0 if self.goals else inf  # cost of the cheapest plan
        # Predecessors of each state: state, operator, state, operator, ...
        self._predecessors: dict[int, list[int]] = {space.init: []}
        self._queue = [(0, space.init)]  # cost, state

    def grow(self, budget: SearchBudget, others: int) -> str | None:
        """Raises ``bound`` until the region contains a plan, if there is one.

        Args:
            budget: checks the limits.
            others: other nodes to count on the same budget.

        Returns:
            The limit that was reached, if any.
        """
        assert self.bound is not None
        enough = self.expanded * _GROWTH + 1
        known, goals, predecessors = self.cost, self.goals, self._predecessors
        while self._queue:
            cost, state = self._queue[0]
            # All states cheaper than this one are expanded. Stop here if that makes the bound
            # larger, the region holds a plan, and it has grown enough for another measurement.
            if cost > self.bound and cost >= self._least and self.expanded >= enough:
                break
            over = budget.exceeded(self.expanded + others, _CHECK_EVERY)
            if over is not None:
                return over
            heappop(self._queue)
            if cost > known[state]:
                continue  # an older entry: the state was reached more cheaply since
            self.expanded += 1
            for index, after in self._space.successors(state):
                reached = cost + self.costs[index]
                # Every predecessor is kept, not only the cheapest: all plans are wanted.
                if after in known:
                    predecessors[after] += (state, index)
                    if reached >= known[after]:
                        continue
                else:
                    predecessors[after] = [state, index]
                    if self._space.task.is_goal(after):
                        goals.add(after)
                known[after] = reached
                heappush(self._queue, (reached, after))
                if after in goals:
                    self._least = min(self._least, reached)
        self.bound = self._queue[0][0] if self._queue else None
        self._measure()
        return None

    def _measure(self) -> None:
        """Recomputes ``to_go`` by Dijkstra's algorithm, backwards from the goal states."""
        bound = inf if self.bound is None else self.bound
        self.to_go = {}
        queue = [(0, state) for state in sorted(self.goals) if self.cost[state] <= bound]
        while queue:
            left, state = heappop(queue)
            if state in self.to_go:
                continue
            self.to_go[state] = left
            pairs = iter(self._predecessors[state])
            for earlier, index in zip(pairs, pairs, strict=True):
                further = left + self.costs[index]
                # States on dearer plans are left out: their costs to the goal may still fall.
                if earlier not in self.to_go and self.cost[earlier] + further <= bound:
                    heappush(queue, (further, earlier))
