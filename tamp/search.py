"""Bilevel search: the task planner proposes plans, the skills refine them to motions.

Plans (skeletons) come best first. Where an action can't be refined, failure analysis turns the
reason into constraints of the task, so that the next skeleton moves the blocker away or uses
another place. If no plan is left, the constraints are the reason, provided they can be proven.
Skeletons are refined in turns, so that a bad one can't use up the budget. Suspicions, constraints
without a proof, only delay: a skeleton that violates no more than these is set aside, and every few
rounds one of those set aside has another turn.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import count

from galley.domain.failure import Failure, FailureKind
from galley.domain.listener import Listener
from galley.domain.state import State
from galley.planning import GroundAction, Plan, SearchLimits, Task, ground, plans, search
from galley.planning.limits import LimitReached
from galley.skills.manipulation.context import PlanningContext
from galley.skills.skill import BoundAction
from galley.tamp.binding import bind_plan, item_places, open_furniture
from galley.tamp.feedback.constraints import (
    Key,
    LearnedConstraint,
    LearnedConstraints,
    SearchRecord,
    constrained_task,
    reasons,
)
from galley.tamp.feedback.failure_analysis import FailureAnalyzer
from galley.tamp.infeasibility.feasibility import FeasibilityCheck
from galley.tamp.infeasibility.proofs import Prover, minimal_core, refusal
from galley.tamp.refine import Learned, RefinedMotions, Refinement
from galley.tamp.task import TampTask

SHORTEST_NODES = 20_000  # states expanded for a shortest plan, before any plan will do
ANY_NODES = 200_000  # states expanded for any plan
FURTHER_NODES = 20_000  # states expanded for further plans
MOST_REORDERED = 50  # plans kept that only reorder others
TURN = 8  # refinements beyond one for each action that a skeleton gets before the next has its turn
EFFORT = 240  # of the search (``PlanningContext.effort``)
EFFORT_PER_ACTION = 16  # of the longest plan, besides
RECONSIDERED = 3  # every so many rounds a skeleton that was set aside gets a turn


class Skeletons(Iterator[tuple[GroundAction, ...]]):
    """The plans of one task in order of cost, without detours; mere reorderings come last.

    Large tasks begin with a greedy plan, where a shortest one would take too long. The task is
    ground when it is first needed, by ``ground``, which may raise LimitReached; ``nodes`` is that
    of ``shortest``.

    Attributes:
        failure: why there is none, or no further one; None while there may be more.
        complete: whether ``failure`` says that there is no plan at all.
    """

    def __init__(self, ground: Callable[[], Task], nodes: int | None = None) -> None:
        self._ground = ground
        self.failure: Failure | None = None
        self.complete = False
        self._nodes = nodes
        self._plans = self._all()

    @cached_property
    def task(self) -> Task:
        """The ground task."""
        return self._ground()

    def __iter__(self) -> Skeletons:
        return self

    def __next__(self) -> tuple[GroundAction, ...]:
        """The next plan.

        Raises:
            StopIteration: there is none within the limits; ``failure`` says why.
        """
        return next(self._plans)

    def _all(self) -> Iterator[tuple[GroundAction, ...]]:
        first = shortest(self.task, self._nodes)
        if isinstance(first, Failure):
            self.failure = first
            self.complete = first.kind is not FailureKind.BUDGET
            return
        seen = {_content(first.actions)}
        yield first.actions
        further = plans(
            self.task, SearchLimits(nodes=FURTHER_NODES if self._nodes is None else self._nodes)
        )
        reordered: list[tuple[GroundAction, ...]] = []
        for plan in further:
            content = _content(plan.actions)
            if plan.actions == first.actions or _has_detour(self.task, plan.actions):
                continue
            if content not in seen:
                seen.add(content)
                yield plan.actions
            elif len(reordered) < MOST_REORDERED:
                reordered.append(plan.actions)
        # Geometry may allow one order only, as with two places one behind the other.
        yield from reordered
        self.failure = further.failure


def shortest(task: Task, nodes: int | None = None) -> Plan | Failure:
    """A plan with fewest actions if that is quick to find, else some plan.

    Args:
        task: the ground task.
        nodes: states that each search may expand; None: the limits above.
    """
    plan = search(task, "bfs", SearchLimits(nodes=SHORTEST_NODES if nodes is None else nodes))
    if isinstance(plan, Failure) and plan.kind is FailureKind.BUDGET:
        return search(task, "gbfs", SearchLimits(nodes=ANY_NODES if nodes is None else nodes))
    return plan


def _content(actions: tuple[GroundAction, ...]) -> tuple[GroundAction, ...]:
    """The actions of a plan without their order."""
    return tuple(sorted(actions))


def _has_detour(task: Task, actions: tuple[GroundAction, ...]) -> bool:
    """Whether an action can be left out, or one replaces two in a row."""
    known = {operator.action: operator for operator in task.operators}
    plan = [known[action] for action in actions]
    states = [task.init]
    for operator in plan:
        states.append(operator.apply(states[-1]))
    for k in range(len(plan)):
        if k + 2 < len(states):
            here, there = states[k], states[k + 2]
            if any(o.applicable(here) and o.apply(here) == there for o in task.operators):
                return True
        state = states[k]
        for operator in plan[k + 1 :]:
            if not operator.applicable(state):
                break
            state = operator.apply(state)
        else:
            if task.is_goal(state):
                return True
    return False


@dataclass(frozen=True)
class RefinedPlan:
    """A plan with motions.

    Attributes:
        plan: the actions.
        refined: their motions, not yet optimized (``skills.manipulation.optimize``).
    """

    plan: tuple[GroundAction, ...]
    refined: RefinedMotions


class Search:
    """One search. Its attributes can be read afterwards, also if it was interrupted.

    Attributes:
        context: robot, world, settings.
        task: the user's.
        start: the State to begin in.
        listener: hears of progress.
        node_limit: of each search of the task planner; None: its own.
        constraints: all that were learned.
        learned: of them those about plans considered, in order.
        latest: the last skeleton considered.
        task_s: seconds spent on plans and on checks without motions.
        total_s: seconds in all.
        skeletons: how many were refined.
        solved: whether a plan with motions was found.
    """

    def __init__(
        self,
        context: PlanningContext,
        task: TampTask,
        start: State,
        listener: Listener | None = None,
        node_limit: int | None = None,
    ) -> None:
        clock = time.perf_counter()
        self.context, self.task, self.start = context, task, start
        self.listener = Listener() if listener is None else listener
        self.node_limit = node_limit
        self.constraints = LearnedConstraints()
        self.learned: list[LearnedConstraint] = []
        self.latest: tuple[GroundAction, ...] = ()
        self.skeletons = 0
        self.solved = False

        there, open_now = item_places(task, start), open_furniture(task, start)
        self._constrained = constrained_task(task, there, open_now)
        self._analyzer = FailureAnalyzer(context, self._constrained)
        self._feasibility = FeasibilityCheck(context, self._constrained, start)
        self._prover = Prover(context, task, start)
        self._given_up: set[Key] = set()  # unproven ones that leave no plan

        self._known: dict[tuple[GroundAction, ...], _Active] = {}
        self._active: list[_Active] = []
        self._aside: list[_Active] = []  # skeletons that violate suspicions only
        self._worst: Failure | None = None
        self._source = self._new_source()

        self._refined_before = context.tries["refinements"]  # by earlier searches
        self._began = self._limit = context.effort
        self.task_s = self.total_s = time.perf_counter() - clock

    @property
    def refinements(self) -> int:
        """Of single actions so far."""
        return self.context.tries["refinements"] - self._refined_before

    def _over(self) -> bool:
        """Whether as much was tried as a search may."""
        return self.context.effort >= self._limit

    @property
    def record(self) -> SearchRecord:
        """What was tried and learned so far."""
        return SearchRecord(
            self.latest,
            self.solved,
            self.skeletons,
            self.refinements,
            tuple(self.learned),
            self.task_s,
            self.total_s - self.task_s,
            reasons(self.latest, self.constraints.all.values(), self.task.skills),
        )

    def solve(self) -> RefinedPlan | Failure:
        """A plan and its motions; or why there is none, or why none was found."""
        began = time.perf_counter()
        try:
            found = self._solve()
        except LimitReached as stopped:  # while grounding
            found = stopped.failure
        finally:
            self.total_s += time.perf_counter() - began
        self.solved = isinstance(found, RefinedPlan)
        return found

    def _solve(self) -> RefinedPlan | Failure:
        clock = time.perf_counter()
        refused = self._feasibility.goal_conflict()
        self.task_s += time.perf_counter() - clock
        if refused is not None:
            return refused
        for number in count(1):
            clock = time.perf_counter()
            over = self._add_skeleton()
            self.task_s += time.perf_counter() - clock
            if over is not None:
                return over
            longest = max((len(each.plan) for each in self._active), default=0)
            effort = self.context.settings.effort * (EFFORT + EFFORT_PER_ACTION * longest)
            self._limit = max(self._limit, self._began + effort)
            if self._over():
                return self._budget(f"{self.refinements} refinements of single actions")
            found = self._round()
            if found is None and self._aside and number % RECONSIDERED == 0:
                found = self._reconsider(self._aside.pop(0))
            if found is not None:
                return found
        raise AssertionError("unreachable")

    def _new_source(self) -> Skeletons:
        """Plans that keep to all constraints but those given up."""
        task = partial(self.constraints.applied_to, self._constrained, set(self._given_up))
        return Skeletons(task, self.node_limit)

    def _add_skeleton(self) -> Failure | None:
        """Add a skeleton to the active ones; a Failure if there is none left to try."""
        while True:
            plan = next(self._source, None)
            if plan is None:
                return self._exhausted()
            if plan in self._known:
                continue  # active, or given up
            self.latest = plan
            bound = bind_plan(plan, self.task.bindings)
            why = self._feasibility.constraints(bound)
            if why is None:
                break
            new = self._learn(why, plan)
            if not new and any(each.key in self._given_up for each in why):
                break  # that constraint was dropped: try it all the same
            # Nothing new: no fact states what is wrong with this plan; take the next one.
        self._active.append(self._skeleton(plan, bound))
        return None

    def _exhausted(self) -> Failure | None:
        """The task planner has no further plan: refuse, or retry those that there are."""
        if self._active:
            return None
        if self._source.complete:
            over = self._refused()
            if over is not None or self._active:
                return over
        elif self._source.failure is not None and not self._known:
            return self._source.failure
        # Restart the known plans with fresh random streams.
        task = self._source.task
        self._active = [each for each in self._known.values() if _holds(task, each.plan)]
        self._aside = [each for each in self._aside if each not in self._active]
        for each in self._active:
            each.refinement.restart()
        return None if self._active else self._budget("no further plan was found")

    def _refused(self) -> Failure | None:
        """A proof that there is no plan; else drop unproven constraints and go on."""
        if not self.constraints.all:
            # Unsolvable in PDDL alone.
            found = shortest(ground(self.task.domain, self.task.problem), self.node_limit)
            return found if isinstance(found, Failure) else self._source.failure
        needed = minimal_core(self._constrained, self.constraints, self._given_up)
        refused = refusal(needed, self._prover.prove)
        if refused is not None:
            return refused
        unproven = [each for each in needed if not each.proven]
        if all(each.failure.kind is FailureKind.DOES_NOT_FIT for each in unproven):
            # Refinement places one by one, and finds no arrangement where packing found none.
            why = dict.fromkeys(each.failure.message for each in unproven)
            named = [name for each in unproven for name in each.failure.objects]
            return self._budget("; ".join(["no arrangement of the items was found", *why]), named)
        self._given_up |= {each.key for each in unproven}
        self._analyzer.silent = True
        self._source = self._new_source()
        return self._add_skeleton()

    def _round(self) -> RefinedPlan | None:
        """One round: every active skeleton gets some refinements."""
        for each in list(self._active):
            if each not in self._active:
                continue  # ruled out meanwhile
            found = self._advance(each)
            if isinstance(found, RefinedPlan):
                return found
            if found is None:
                continue
            self._active.remove(each)
            if isinstance(found, Learned):
                self._aside.append(each)
                self._learn(list(found.constraints), each.plan)
        return None

    def _reconsider(self, each: _Active) -> RefinedPlan | None:
        """A turn with fresh random streams for a skeleton that was set aside."""
        each.refinement.restart()
        found = self._advance(each)
        if isinstance(found, RefinedPlan):
            return found
        if found is None or isinstance(found, Learned):
            self._aside.append(each)
        if isinstance(found, Learned):
            self._learn(list(found.constraints), each.plan)
        return None

    def _skeleton(self, plan: tuple[GroundAction, ...], bound: tuple[BoundAction, ...]) -> _Active:
        """A skeleton to be refined."""
        self.listener.skeleton(tuple(map(str, plan)))
        self.skeletons += 1
        refinement = Refinement(
            self.context,
            bound,
            self.task.skills,
            self.start,
            self.listener,
            self._analyzer,
            self._over,
        )
        self._known[plan] = _Active(plan, refinement)
        return self._known[plan]

    def _advance(self, each: _Active) -> RefinedPlan | Learned | Failure | None:
        """Some refinements of one skeleton."""
        found = each.refinement.advance(len(each.plan) + TURN)
        if isinstance(found, RefinedMotions):
            self.latest = each.plan
            return RefinedPlan(each.plan, found)
        if found is not None and each.refinement.worst is not None:
            self._worst = each.refinement.worst
        return found

    def _learn(
        self, constraints: list[LearnedConstraint], plan: tuple[GroundAction, ...] = ()
    ) -> list[LearnedConstraint]:
        """Add constraints, and drop or set aside the skeletons that violate them.

        Returns the new ones. Reported are facts, and forbidden actions that ``plan`` has.
        """
        new = self.constraints.add(constraints)
        for constraint in new:
            if not constraint.actions or set(constraint.actions) & set(plan):
                self.learned.append(constraint)
                self.listener.learned(str(constraint))
        if new:
            self._source = self._new_source()
            suspected = {key for key, each in self.constraints.all.items() if not each.proven}
            possible = self.constraints.applied_to(self._constrained, suspected)
            kept = [each for each in self._active if _holds(self._source.task, each.plan)]
            self._aside += [each for each in self._active if each not in kept]
            self._aside = [each for each in self._aside if _holds(possible, each.plan)]
            self._active = kept
        return new

    def _budget(self, what: str, named: Sequence[str] = ()) -> Failure:
        """Budget exhausted: what was tried how often, and what blocked it."""
        tried = f"{self.skeletons} plan{'' if self.skeletons == 1 else 's'}"
        message = f"no motions found ({tried} tried, {what})"
        worst = self._worst
        if worst is None and self._active:
            worst = self._active[0].refinement.worst
        if worst is not None:
            message += f"; got furthest: {worst}"
            named = [*worst.objects, *named]
        numbers = {"plans": float(self.skeletons), "refinements": float(self.refinements)}
        return Failure(FailureKind.BUDGET, message, tuple(dict.fromkeys(named)), numbers)


@dataclass(eq=False)
class _Active:
    """A skeleton that is being refined.

    Attributes:
        plan: its actions. refinement: how far it got.
    """

    plan: tuple[GroundAction, ...]
    refinement: Refinement


def _holds(task: Task, plan: tuple[GroundAction, ...]) -> bool:
    """Whether the plan solves the constrained task."""
    known = {operator.action: operator for operator in task.operators}
    state = task.init
    for action in plan:
        operator = known.get(action)
        if operator is None or not operator.applicable(state):
            return False
        state = operator.apply(state)
    return task.is_goal(state)
