"""Bilevel search: the task planner proposes plans, the skills refine them to motions.

Plans (skeletons) come best first. Where an action can't be refined, failure analysis turns the
reason into constraints of the task, so that the next skeleton moves the blocker away or uses
another place. If no plan is left, the constraints are the reason, provided they can be proven.
Skeletons are refined in turns, so that a bad one can't use up the budget. Suspicions, constraints
without a proof, only delay: a skeleton that violates no more than these is set aside, and every few
rounds one of those set aside has another turn.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import count

from galley.domain.failure import Failure, FailureKind
from galley.domain.state import State
from galley.domain.words import plural
from galley.planning import GroundAction, Plan, SearchLimits, Task, ground, plans, search
from galley.planning.limits import LimitReached
from galley.planning.operators import Operator
from galley.skills.manipulation.context import PlanningContext
from galley.skills.manipulation.effort import Effort
from galley.tamp.binding import bind_plan, item_places, open_furniture
from galley.tamp.feedback.constraints import (
    Key,
    LearnedConstraint,
    LearnedConstraints,
    constrained_task,
)
from galley.tamp.feedback.failure_analysis import FailureAnalyzer
from galley.tamp.infeasibility.feasibility import FeasibilityCheck
from galley.tamp.infeasibility.proofs import Prover, minimal_core, refusal
from galley.tamp.record import SearchRecord, TriedPlan, narrow, reasons
from galley.tamp.refine import Learned, RefinedMotions, Refinement
from galley.tamp.task import TampTask

MOST_TRIES = 30_000  # of a search (``Effort``), with effort 1
VAIN_TRIES = 10_000  # since it last learned something, or got further with a plan
TURN = 1_000  # tries that a skeleton gets before the next has its turn
RECONSIDERED = 3  # every so many rounds a skeleton that was set aside gets a turn
SHORTEST_STATES = 20_000  # expanded for a shortest plan, before any plan will do
ANY_STATES = 200_000  # expanded for any plan
FURTHER_STATES = 20_000  # expanded for further plans
MOST_REORDERED = 50  # plans kept that only reorder others
ACTIVE, ASIDE, OVER = "active", "aside", "over"


class Skeletons:
    """The plans of one task in order of cost, without detours; mere reorderings come last.

    Large tasks begin with a greedy plan, where a shortest one would take too long. The task is
    ground when it is first needed, by ``ground``, which may raise LimitReached.

    Attributes:
        failure: why there is none, or no further one; None while there may be more.
        complete: whether ``failure`` says that there is no plan at all.
    """

    def __init__(self, ground: Callable[[], Task], effort: Effort) -> None:
        self._ground, self._effort = ground, effort
        self.failure: Failure | None = None
        self.complete = False

    @cached_property
    def task(self) -> Task:
        """The ground task."""
        return self._ground()

    def __iter__(self) -> Iterator[tuple[GroundAction, ...]]:
        """The plans, as many as are found within the limits."""
        first = shortest(self.task, self._effort)
        if isinstance(first, Failure):
            self.failure = first
            self.complete = first.kind is not FailureKind.BUDGET
            return
        seen = {tuple(sorted(first.actions))}  # without their order
        yield first.actions
        further = plans(self.task, SearchLimits(nodes=FURTHER_STATES))
        reordered: list[tuple[GroundAction, ...]] = []
        for plan in further:
            content = tuple(sorted(plan.actions))
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


def shortest(task: Task, effort: Effort) -> Plan | Failure:
    """A plan of the ground task with fewest actions if that is quick to find, else some plan."""
    result = search(task, "bfs", SearchLimits(nodes=SHORTEST_STATES))
    effort.spend("states", _expanded(result))
    if isinstance(result, Failure) and result.kind is FailureKind.BUDGET:
        result = search(task, "gbfs", SearchLimits(nodes=ANY_STATES))
        effort.spend("states", _expanded(result))
    return result


def _expanded(result: Plan | Failure) -> int:
    if isinstance(result, Failure):
        return int(result.numbers.get("expanded", 0))  # none where grounding alone shows it
    return result.expanded


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
        if _reaches_goal(task, states[k], plan[k + 1 :]):
            return True
    return False


def _reaches_goal(task: Task, state: int, operators: Sequence[Operator | None]) -> bool:
    """Whether operators lead from a state to the goal; None stands for one that there isn't."""
    for operator in operators:
        if operator is None or not operator.applicable(state):
            return False
        state = operator.apply(state)
    return task.is_goal(state)


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
        constraints: all that were learned.
        learned: of them those about plans considered, in order.
        latest: the last skeleton considered.
        effort: what was tried so far. most_tries: that may be.
        task_s: seconds spent on plans and on checks without motions.
        total_s: seconds in all.
        solved: whether a plan with motions was found.
    """

    def __init__(self, context: PlanningContext, task: TampTask, start: State) -> None:
        clock = time.perf_counter()
        self.context, self.task, self.start = context, task, start
        self.constraints = LearnedConstraints()
        self.learned: list[LearnedConstraint] = []
        self.latest: tuple[GroundAction, ...] = ()
        self.solved = False
        self.effort = context.effort = Effort()
        self.most_tries = context.settings.effort * MOST_TRIES

        there, open_now = item_places(task, start), open_furniture(task, start)
        self._constrained = constrained_task(task, there, open_now)
        self._prover = Prover(context, task, start)
        self._analyzer = FailureAnalyzer(context, self._constrained, self._prover.prove)
        self._feasibility = FeasibilityCheck(context, self._constrained, start)
        self._given_up: set[Key] = set()  # unproven ones that leave no plan

        self._known: dict[tuple[GroundAction, ...], _Skeleton] = {}
        self._begin()
        self._narrow: tuple[tuple[int, str], ...] = ()

        self._left = sys.maxsize  # fewest actions without motions that a plan had
        self._progress = 0.0  # tries until it last learned something, or came to fewer
        self.task_s = self.total_s = time.perf_counter() - clock

    def _over(self) -> bool:
        """Whether as much was tried as a search may, or a good part of it in vain."""
        vain = self.context.settings.effort * VAIN_TRIES
        return self.effort.tries >= min(self.most_tries, self._progress + vain)

    @property
    def record(self) -> SearchRecord:
        """What was tried and learned so far."""
        return SearchRecord(
            self.latest,
            self.solved,
            self._tried(),
            self.effort,
            self.most_tries,
            tuple(self.learned),
            self.task_s,
            self.total_s - self.task_s,
            reasons(self.latest, self.constraints.all.values(), self.task.skills) + self._narrow,
        )

    def solve(self) -> RefinedPlan | Failure:
        """A plan and its motions; or why there is none, or why none was found."""
        began = time.perf_counter()
        try:
            result = self._solve()
        except LimitReached as stopped:  # while grounding
            result = stopped.failure
        finally:
            self.total_s += time.perf_counter() - began
        self.solved = isinstance(result, RefinedPlan)
        return result

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
            if self._over():
                return self._budget()
            solution = self._round(number % RECONSIDERED == 0)
            if solution is not None:
                return solution
        raise AssertionError("unreachable")

    def _begin(self) -> None:
        """Ask anew for plans: those that keep to all constraints but the ones given up."""
        task = partial(self.constraints.applied_to, self._constrained, set(self._given_up))
        self._source = Skeletons(task, self.effort)
        self._plans = iter(self._source)

    def _add_skeleton(self) -> Failure | None:
        """Add a skeleton to the active ones; a Failure if there is none left to try."""
        while True:
            plan = next(self._plans, None)
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
            if not new and any(constraint.key in self._given_up for constraint in why):
                break  # that constraint was dropped: try it all the same
            # Nothing new: no fact states what is wrong with this plan; take the next one.
        self.context.listener.skeleton(tuple(map(str, plan)))
        self.effort.spend("plans")
        refinement = Refinement(
            self.context, bound, self.task.skills, self.start, self._analyzer, self._over
        )
        self._known[plan] = _Skeleton(plan, refinement)
        return None

    @property
    def _active(self) -> list[_Skeleton]:
        return [skeleton for skeleton in self._known.values() if skeleton.status == ACTIVE]

    def _exhausted(self) -> Failure | None:
        """The task planner has no further plan: refuse, or retry those that there are."""
        if self._active:
            return None
        if self._source.complete:
            over = self._refused()
            if over is not None or self._active:
                return over
        crowded = self._feasibility.room.crowded
        if not self._known and (crowded or self._source.failure is not None):
            return self._budget(crowded) if crowded else self._source.failure
        # Restart the known plans with fresh random streams.
        for skeleton in self._known.values():
            if _holds(self._source.task, skeleton.plan):
                skeleton.refinement.restart()
                skeleton.status = ACTIVE
        return None if self._active else self._budget()

    def _refused(self) -> Failure | None:
        """A proof that there is no plan; else drop unproven constraints and go on."""
        if not self.constraints.all:
            # Unsolvable in PDDL alone.
            plan = shortest(ground(self.task.domain, self.task.problem), self.effort)
            return plan if isinstance(plan, Failure) else self._source.failure
        needed = minimal_core(self._constrained, self.constraints, self._given_up)
        refused = refusal(needed, self._prover.prove)
        if refused is not None:
            return refused
        unproven = [constraint for constraint in needed if not constraint.proven]
        if all(constraint.failure.kind is FailureKind.DOES_NOT_FIT for constraint in unproven):
            # Refinement places one by one, and finds no arrangement where packing found none.
            why = dict.fromkeys(constraint.failure.message for constraint in unproven)
            named = [name for constraint in unproven for name in constraint.failure.objects]
            return self._budget("; ".join(["no arrangement of the items was found", *why]), named)
        self._given_up |= {constraint.key for constraint in unproven}
        self._analyzer.silent = True
        self._begin()
        return self._add_skeleton()

    def _round(self, again: bool) -> RefinedPlan | None:
        """A turn for every active skeleton and, if ``again``, for one that was set aside."""
        aside = [skeleton for skeleton in self._known.values() if skeleton.status == ASIDE]
        chosen = sorted(aside, key=lambda skeleton: skeleton.refinement.tries)[: int(again)]
        for skeleton in [*self._active, *chosen]:
            if skeleton in chosen and skeleton.status == ASIDE:
                skeleton.refinement.restart()
            elif skeleton.status != ACTIVE:
                continue  # ruled out meanwhile
            outcome = self._advance(skeleton)
            if isinstance(outcome, RefinedPlan):
                return outcome
            if isinstance(outcome, Failure):
                skeleton.status = OVER
            elif isinstance(outcome, Learned):
                skeleton.status = ASIDE
                self._learn(list(outcome.constraints), skeleton.plan)
        return None

    def _advance(self, skeleton: _Skeleton) -> RefinedPlan | Learned | Failure | None:
        """Some refinements of one skeleton."""
        outcome = skeleton.refinement.advance(self.context.settings.effort * TURN)
        if isinstance(outcome, RefinedMotions):
            self.latest = skeleton.plan
            self._narrow = narrow(outcome.motions, self.context.robot.spacing.margin)
            return RefinedPlan(skeleton.plan, outcome)
        tries, left = self.effort.tries, len(skeleton.plan) - skeleton.refinement.reached
        if left < self._left:
            self._left, self._progress = left, tries
        self.context.listener.fraction("effort spent", min(1.0, tries / self.most_tries))
        return outcome

    def _learn(
        self, constraints: list[LearnedConstraint], plan: tuple[GroundAction, ...] = ()
    ) -> list[LearnedConstraint]:
        """Add constraints, and drop or set aside the skeletons that violate them.

        Returns the new ones. Reported are facts, and forbidden actions that ``plan`` has.
        """
        new = self.constraints.add(constraints)
        for constraint in new:
            reported = map(str, self.learned)  # the same of another hand, say
            concerns = not constraint.actions or set(constraint.actions) & set(plan)
            if concerns and str(constraint) not in reported:
                self.learned.append(constraint)
                self.context.listener.learned(str(constraint))
        if new:
            self._progress = self.effort.tries
            self._begin()
            suspected = {key for key, each in self.constraints.all.items() if not each.proven}
            possible = self.constraints.applied_to(self._constrained, suspected)
            for each in self._known.values():
                if not _holds(possible, each.plan):
                    each.status = OVER
                elif each.status == ACTIVE and not _holds(self._source.task, each.plan):
                    each.status = ASIDE
        return new

    def _tried(self) -> tuple[TriedPlan, ...]:
        return tuple(skeleton.tried() for skeleton in self._known.values())

    def _budget(self, why: str = "", named: Sequence[str] = ()) -> Failure:
        """Effort exhausted: what was tried, and ``why``, or what stopped the best plan most."""
        refinements, tried = self.effort.counts["refinements"], self._tried()
        counted = f"{plural(len(tried), 'plan')}, {plural(refinements, 'refinement')} of actions"
        message = f"no motions found in {self.effort.tries:,.0f} tries ({counted})"
        best = max((e for e in tried if e.failures), key=lambda e: e.reached, default=None)
        if why:
            message += f"; {why}"
        elif best is not None and best.stopped_by is not None:
            message += f"; the best plan has motions for {best.reached} of its {len(best.actions)} "
            message += f"actions, and failed most, {best.failures}x, at {best.stopped_by}"
            named = best.stopped_by.objects
        numbers = {"plans": float(len(tried)), "refinements": float(refinements)}
        numbers["tries"] = float(round(self.effort.tries))
        return Failure(FailureKind.BUDGET, message, tuple(dict.fromkeys(named)), numbers)


@dataclass(eq=False)
class _Skeleton:
    """A plan that is being refined, or was.

    Attributes:
        plan: its actions. refinement: how far it got.
        status: ``ACTIVE``; ``ASIDE``: it violates suspicions only; or ``OVER``: given up.
    """

    plan: tuple[GroundAction, ...]
    refinement: Refinement
    status: str = ACTIVE

    def tried(self) -> TriedPlan:
        """How far it got."""
        done, failed = self.refinement, self.refinement.failed
        most = max(failed, key=lambda k: (failed[k], k), default=-1)
        why = done.failures.get(most)
        return TriedPlan(self.plan, done.reached, done.tries, failed[most], why)


def _holds(task: Task, plan: tuple[GroundAction, ...]) -> bool:
    """Whether the plan solves the constrained task."""
    known = {operator.action: operator for operator in task.operators}
    return _reaches_goal(task, task.init, [known.get(action) for action in plan])
