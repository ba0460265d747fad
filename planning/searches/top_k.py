"""Plans one after the other, the best first (top-k planning).

Plans are paths of the state space from the start to a goal state. They are enumerated best-first by
what they have cost so far plus the exact cost that is left, so hardly a step leads nowhere. Of the
ways to go on from a path only the best waits in the queue; when its turn comes, it brings the
next best (Eppstein, "Finding the k shortest paths", 1998, calls these sidetracks).

The costs left come from a region of the space that grows with the plans' cost. States are expanded
in order of their cost from the start. Once all below a cost C are, the region holds every plan of
cost C or less: each of its states is reached at C or less. So the costs to the goal within the
region are exact for all that such a plan may do next.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from galley.domain.failure import Failure
from galley.planning.explain.conflicts import explain_at_once, explain_exhausted
from galley.planning.limits import Meter, SearchLimits
from galley.planning.operators import Plan, plan_of
from galley.planning.searches.uniform_cost import whole_costs
from galley.planning.states.space import StateSpace, state_space
from galley.planning.task import Task

# Costs are multiplied by this, and each action costs 1 more: so of plans of one cost the shorter
# comes first, and no action is free.
_ACTION = 1 << 32
_LOOK_EVERY = 64  # paths taken between two looks at the clock

_Step = tuple[int, int, int]  # what it adds to the least cost of a plan, operator, state
_GROWTH = 1.2  # the least factor by which the region grows before costs to go are computed anew
_LOOK_EVERY_STATES = 1024


class _Path(NamedTuple):
    """The start of a plan; compared by total and operators, which are its place in the order.

    Attributes:
        total: what it and the cheapest way on from it cost.
        operators: its steps.
        states: those it visits, the initial one included.
        parent: the path without the last step.
        steps: the ways to go on from the parent, the best first.
        place: which of them it takes; the later ones wait for this one to be taken.
    """

    total: int
    operators: tuple[int, ...]
    states: tuple[int, ...]
    parent: _Path | None
    steps: list[_Step]
    place: int


class PlanIterator(Iterator[Plan]):
    """Plans in order of cost; of one cost, the shorter first.

    Attributes:
        complete: whether all plans have been given: there are no more.
        failure: why the plans ended, where not all were given; and where there is none at all, why
            not. None while there may be more.
    """

    def __init__(self, task: Task, limits: SearchLimits, loopless: bool) -> None:
        self.complete = False
        self.failure: Failure | None = None
        self._task = task
        self._limits = limits
        self._loopless = loopless
        self._plans: Iterator[Plan] | None = None
        self._meter: Meter | None = None
        self._found = 0
        self._waited_since: float | None = None

    def __iter__(self) -> PlanIterator:
        return self

    def __next__(self) -> Plan:
        """The next plan.

        Raises:
            StopIteration: there are no more, or a limit was reached.
        """
        if self._plans is None or self._meter is None:
            self._meter = Meter(self._limits)
            self._plans = self._run(self._meter)
        elif self._waited_since is not None:
            # The time that the caller took between two plans is not the search's.
            self._meter.began += self._meter.seconds - self._waited_since
        plan = next(self._plans)
        self._found += 1
        self._waited_since = self._meter.seconds
        return plan

    def _run(self, meter: Meter) -> Iterator[Plan]:
        hopeless = explain_at_once(self._task)
        if hopeless is not None:
            self.complete, self.failure = True, hopeless
            return
        space = state_space(self._task, prune=False)
        search = _Enumeration(space, self._loopless)
        while True:
            over = yield from search.plans(meter)
            if over is None and search.region.bound is not None:
                over = search.grow(meter)
                if over is None:
                    continue
            break
        if over is None:
            self.complete = True
            if not self._found:
                states = map(space.packing.decode, search.region.cost)
                self.failure = explain_exhausted(self._task, states, whole=True)
            return
        self.failure = meter.failure(
            over, expanded=search.expanded, generated=len(search.region.cost)
        )


def plans(task: Task, limits: SearchLimits | None = None, *, loopless: bool = True) -> PlanIterator:
    """All plans, the best first: by cost, then by length, then in the order of the operators.

    A plan is any sequence of actions that can be executed and ends in a goal state; it may have
    come through goal states before. The iterator computes no more than it is asked for::

        for plan in itertools.islice(plans(task), 20): ...

    Args:
        task: the ground task.
        limits: when to give up. Both states expanded and plans begun count as nodes; the time
            that the caller takes between two plans doesn't count.
        loopless: leave out plans that visit a state twice. Without this there are infinitely
            many as soon as actions can be undone.
    """
    return PlanIterator(task, limits or SearchLimits(), loopless)


class _Enumeration:
    """Enumerates the plans within a region, cheapest first."""

    def __init__(self, space: StateSpace, loopless: bool) -> None:
        self.space = space
        self.loopless = loopless
        costs, _ = whole_costs(each.cost for each in space.operators)
        self.region = PlanSubset(space, [each * _ACTION + 1 for each in costs])
        self.taken = 0  # beginnings of plans looked at
        self._queue: list[_Path] = []
        self._started = False
        self._parked: list[_Path] = []  # paths that may go on beyond the region's bound
        self._steps: dict[int, list[_Step]] = {}

    @property
    def expanded(self) -> int:
        """What counts against the limit on nodes."""
        return self.region.expanded + self.taken

    def grow(self, meter: Meter) -> str | None:
        """Enlarges the region, and queues what this brings within its bound."""
        taken = self.region.bound  # all paths up to here were taken
        over = self.region.grow(meter, self.taken)
        if over is not None:
            return over
        self._steps.clear()
        init = self.space.init
        if not self._started and init in self.region.to_go:
            self._started = True
            heappush(self._queue, _Path(self.region.to_go[init], (), (init,), None, [], 0))
        parked, self._parked = self._parked, []
        for path in parked:
            self._continue(path, self._steps_from(path.states[-1]), 0, taken)
        return None

    def plans(self, meter: Meter) -> Generator[Plan, None, str | None]:
        """The plans within the region that have not been given yet; the limit reached, if any."""
        to_go, operators = self.region.to_go, self.space.operators
        while self._queue:
            over = meter.exceeded(self.expanded, _LOOK_EVERY)
            if over is not None:
                return over
            path = heappop(self._queue)
            self.taken += 1
            if path.parent is not None:
                self._continue(path.parent, path.steps, path.place + 1)
            state = path.states[-1]
            self._continue(path, self._steps_from(state), 0)
            if not to_go[state]:
                yield plan_of(
                    [operators[index] for index in path.operators],
                    expanded=self.expanded,
                    generated=len(self.region.cost),
                    seconds=meter.seconds,
                )
        return None

    def _continue(
        self, path: _Path, steps: list[_Step], place: int, taken: int | None = None
    ) -> None:
        """Queues ``path`` with the first of ``steps`` from ``place`` on that is worth taking.

        Args:
            path: the path.
            steps: the ways to go on, by cost.
            place: the first that may be taken.
            taken: total up to which they have been taken already.
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
            if taken is not None and reached <= taken:
                continue
            new = _Path(reached, (*path.operators, index), (*visited, state), path, steps, i)
            heappush(self._queue, new)
            return
        if bound is not None:
            self._parked.append(path)

    def _steps_from(self, state: int) -> list[_Step]:
        """The ways to go on from ``state`` that may lead to a goal, the best first."""
        found = self._steps.get(state)
        if found is None:
            to_go, costs = self.region.to_go, self.region.costs
            here = to_go[state]
            found = [
                (costs[index] + to_go[after] - here, index, after)
                for index, after in self.space.successors(state)
                if after in to_go
            ]
            found.sort()
            self._steps[state] = found
        return found


class PlanSubset:
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
            over = meter.exceeded(self.expanded + others, _LOOK_EVERY_STATES)
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
