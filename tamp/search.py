"""Bilevel search: the task planner proposes plans, the skills refine them to motions.

The upper level is the task planner. It proposes plans (skeletons), best first. The lower level
refines them action by action to motions (``refine``). The loop of ``Search``:

1. Take the next plan of the constrained task. A quick feasibility check may reject it at once, with
   constraints (``infeasibility.feasibility``).
2. Give every active skeleton a turn of refinement, so that a bad one can't use up the budget.
3. Where an action can't be refined, failure analysis turns the reason into constraints
   (``feedback``): this item blocks that one, say. They become preconditions of the task's actions,
   so that the next skeleton moves the blocker away first or uses another place.
4. Start the task planner again with the new constraints. Drop the skeletons that violate them.

If no plan is left, the constraints are the reason for a refusal, provided that all that are needed
can be proven. Constraints without a proof are suspicions, and only delay: a skeleton that violates
only these is set aside, and every few rounds one of those set aside gets another turn.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import count

from galley.domain.action_text import plural
from galley.domain.failure import Failure, FailureKind
from galley.domain.state import State
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

MOST_TRIES = 30_000  # tries (see ``Effort``) that a search may spend, with effort 1
VAIN_TRIES = 10_000  # the same since it last learned something, or got further with a plan
TURN = 1_000  # tries that a skeleton gets before the next has its turn
RECONSIDERED = 3  # in every third round a skeleton that was set aside gets a turn
SHORTEST_STATES = 20_000  # states expanded for a shortest plan, before any plan will do
ANY_STATES = 200_000  # states expanded for any plan
FURTHER_STATES = 20_000  # states expanded for further plans
MOST_REORDERED = 50  # plans kept that only reorder others
ACTIVE, ASIDE, OVER = "active", "aside", "over"


class Skeletons:
    """The plans of one task in order of cost, without detours; mere reorderings come last.

    Large tasks begin with a greedy plan, where a shortest one would take too long. The task is
    ground when it is first needed, by ``ground``, which may raise LimitReached.

    Attributes:
        failure: why there is no plan, or no further plan; None while there may be more.
        complete: whether ``failure`` proves that the task has no plan at all.
    """

    def __init__(self, ground: Callable[[], Task], effort: Effort) -> None:
        self._ground, self._effort = ground, effort
        self.failure: Failure | None = None
        self.complete = False

    @cached_property
    def task(self) -> Task:
        """The ground task, made when it is first read; may raise LimitReached."""
        return self._ground()

    def __iter__(self) -> Iterator[tuple[GroundAction, ...]]:
        """Yield the plans, as many as are found within the limits; then set ``failure``."""
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
            # A plan of the same actions in another order rarely helps: it waits.
            if content not in seen:
                seen.add(content)
                yield plan.actions
            elif len(reordered) < MOST_REORDERED:
                reordered.append(plan.actions)
        # But geometry may allow one order only, as with two places one behind the other.
        yield from reordered
        self.failure = further.failure


def shortest(task: Task, effort: Effort) -> Plan | Failure:
    """A plan of the ground task with the fewest actions if that is quick to find, else any plan.

    Breadth-first search finds the shortest one. If it reaches its limit, greedy best-first search
    looks for any plan. The states expanded are counted in ``effort``.
    """
    result = search(task, "bfs", SearchLimits(nodes=SHORTEST_STATES))
    effort.spend("states", _expanded(result))
    if isinstance(result, Failure) and result.kind is FailureKind.BUDGET:
        result = search(task, "gbfs", SearchLimits(nodes=ANY_STATES))
        effort.spend("states", _expanded(result))
    return result


def _expanded(result: Plan | Failure) -> int:
    """How many states a search of the task planner expanded."""
    if isinstance(result, Failure):
        return int(result.numbers.get("expanded", 0))  # absent if grounding alone settles it
    return result.expanded


def _has_detour(task: Task, actions: tuple[GroundAction, ...]) -> bool:
    """Whether the plan still works without one of its actions, or with one in place of two."""
    known = {operator.action: operator for operator in task.operators}
    plan = [known[action] for action in actions]
    states = [task.init]
    for operator in plan:
        states.append(operator.apply(states[-1]))
    for k in range(len(plan)):
        # Does a single action lead where these two lead?
        if k + 2 < len(states):
            here, there = states[k], states[k + 2]
            if any(o.applicable(here) and o.apply(here) == there for o in task.operators):
                return True
        # Does the rest of the plan work without this action?
        if _reaches_goal(task, states[k], plan[k + 1 :]):
            return True
    return False


def _reaches_goal(task: Task, state: int, operators: Sequence[Operator | None]) -> bool:
    """Whether operators lead from a state to the goal; None is an operator that the task lacks."""
    for operator in operators:
        if operator is None or not operator.applicable(state):
            return False
        state = operator.apply(state)
    return task.is_goal(state)


@dataclass(frozen=True)
class RefinedPlan:
    """A plan with motions.

    Attributes:
        plan: its actions, in order.
        refined: their motions, not yet optimized (``skills.manipulation.optimize``).
    """

    plan: tuple[GroundAction, ...]
    refined: RefinedMotions


class Search:
    """One bilevel search. Its attributes can be read afterwards, even if it was interrupted.

    Attributes:
        context: the scene, robot, world and settings.
        task: the user's task, without learned constraints.
        start: the State in which the plan begins.
        constraints: all learned constraints.
        learned: those of them that concern plans which were considered, in order, for the report.
        latest: the skeleton considered last.
        effort: what was tried so far.
        most_tries: how many tries the search may spend.
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
        self._given_up: set[Key] = set()  # suspicions dropped again because they left no plan

        self._known: dict[tuple[GroundAction, ...], _Skeleton] = {}
        self._begin()
        self._narrow: tuple[tuple[int, str], ...] = ()

        self._left = sys.maxsize  # fewest actions without motions that any plan had so far
        self._progress = 0.0  # tries at which it last learned something, or ``_left`` fell
        self.task_s = self.total_s = time.perf_counter() - clock

    def _over(self) -> bool:
        """Whether the budget is spent, or a good part of it without any progress."""
        vain = self.context.settings.effort * VAIN_TRIES
        return self.effort.tries >= min(self.most_tries, self._progress + vain)

    @property
    def record(self) -> SearchRecord:
        """The record of the search so far, for the report."""
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
        """Search for a plan with motions.

        Returns:
            The plan and its motions; or a Failure: with a certificate if it proves that the task
            has no solution, else of kind ``budget``.
        """
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
        """The search loop: each round adds a skeleton and gives every active one a turn."""
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
        """Start the task planner again, with all constraints except those given up."""
        task = partial(self.constraints.applied_to, self._constrained, set(self._given_up))
        self._source = Skeletons(task, self.effort)
        self._plans = iter(self._source)

    def _add_skeleton(self) -> Failure | None:
        """Add the next feasible plan to the active skeletons; a Failure if none is left to try.

        A plan that the feasibility check rejects yields constraints and is skipped.
        """
        while True:
            plan = next(self._plans, None)
            if plan is None:
                return self._exhausted()
            if plan in self._known:
                continue  # it has a skeleton already: active, set aside or given up
            self.latest = plan
            bound = bind_plan(plan, self.task.bindings)
            why = self._feasibility.constraints(bound)
            if why is None:
                break
            new = self._learn(why, plan)
            if not new and any(constraint.key in self._given_up for constraint in why):
                break  # its constraint was given up: try the plan all the same
            # Learning something new has started the task planner again. If nothing is new, no fact
            # states what is wrong with this plan. Either way take the next one.
        self.context.listener.skeleton(tuple(map(str, plan)))
        self.effort.spend("plans")
        refinement = Refinement(
            self.context, bound, self.task.skills, self.start, self._analyzer, self._over
        )
        self._known[plan] = _Skeleton(plan, refinement)
        return None

    @property
    def _active(self) -> list[_Skeleton]:
        """The skeletons that get turns."""
        return [skeleton for skeleton in self._known.values() if skeleton.status == ACTIVE]

    def _exhausted(self) -> Failure | None:
        """React if the task planner has no further plan: refuse, or retry the known plans.

        Returns None if skeletons are active afterwards, so that the search goes on.
        """
        if self._active:
            return None
        # The task planner has proven that the constrained task has no plan.
        if self._source.complete:
            over = self._refused()
            if over is not None or self._active:
                return over
        # There was no plan to refine at all: report what ran out: room, or the planner's limits.
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
        """A proof that the task has no plan; else drop unproven constraints and go on.

        The constrained task has no plan. A minimal set of constraints that suffices for that is
        the reason. If all of them can be proven, the task is refused. Otherwise those without a
        proof are given up, and the task planner starts again without them.
        """
        if not self.constraints.all:
            # No geometry is involved: the task is unsolvable in PDDL alone.
            plan = shortest(ground(self.task.domain, self.task.problem), self.effort)
            return plan if isinstance(plan, Failure) else self._source.failure
        needed = minimal_core(self._constrained, self.constraints, self._given_up)
        refused = refusal(needed, self._prover.prove)
        if refused is not None:
            return refused
        unproven = [constraint for constraint in needed if not constraint.proven]
        if all(constraint.failure.kind is FailureKind.DOES_NOT_FIT for constraint in unproven):
            # Refinement places items one by one. It finds no arrangement where packing found none.
            why = dict.fromkeys(constraint.failure.message for constraint in unproven)
            named = [name for constraint in unproven for name in constraint.failure.objects]
            return self._budget("; ".join(["no arrangement of the items was found", *why]), named)
        self._given_up |= {constraint.key for constraint in unproven}
        # From now on only proven constraints are learned.
        self._analyzer.silent = True
        self._begin()
        return self._add_skeleton()

    def _round(self, again: bool) -> RefinedPlan | None:
        """Give a turn to every active skeleton and, if ``again``, to one that was set aside.

        Of those set aside, the one with the fewest tries gets it. A skeleton whose refinement fails
        for good is over. One that was ended by new constraints is set aside, and they are learned.
        """
        aside = [skeleton for skeleton in self._known.values() if skeleton.status == ASIDE]
        chosen = sorted(aside, key=lambda skeleton: skeleton.refinement.tries)[: int(again)]
        for skeleton in [*self._active, *chosen]:
            if skeleton in chosen and skeleton.status == ASIDE:
                skeleton.refinement.restart()
            elif skeleton.status != ACTIVE:
                continue  # constraints learned earlier in this round ruled it out
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
        """Continue the refinement of one skeleton for a turn, and note progress."""
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

        Only constraints that are facts, and forbidden actions in ``plan``, are reported.

        Returns:
            The constraints that were not known yet.
        """
        new = self.constraints.add(constraints)
        for constraint in new:
            reported = map(str, self.learned)  # another hand may yield the same sentence
            concerns = not constraint.actions or set(constraint.actions) & set(plan)
            if concerns and str(constraint) not in reported:
                self.learned.append(constraint)
                self.context.listener.learned(str(constraint))
        if new:
            self._progress = self.effort.tries
            self._begin()
            # Proven constraints end a skeleton for good; suspicions only set it aside.
            suspected = {key for key, each in self.constraints.all.items() if not each.proven}
            possible = self.constraints.applied_to(self._constrained, suspected)
            for each in self._known.values():
                if not _holds(possible, each.plan):
                    each.status = OVER
                elif each.status == ACTIVE and not _holds(self._source.task, each.plan):
                    each.status = ASIDE
        return new

    def _tried(self) -> tuple[TriedPlan, ...]:
        """How far each skeleton got, in the order in which they were found."""
        return tuple(skeleton.tried() for skeleton in self._known.values())

    def _budget(self, why: str = "", named: Sequence[str] = ()) -> Failure:
        """A ``budget`` Failure: nothing was found, and nothing is proven.

        Args:
            why: the reason, if known; else the message tells what stopped the best plan most often.
            named: objects that ``why`` names.
        """
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
        plan: its actions.
        refinement: its motions so far.
        status: ``ACTIVE``: gets turns; ``ASIDE``: violates unproven constraints, and rarely gets
            one; or ``OVER``: given up.
    """

    plan: tuple[GroundAction, ...]
    refinement: Refinement
    status: str = ACTIVE

    def tried(self) -> TriedPlan:
        """How far it got, with the action that failed most often."""
        done, failed = self.refinement, self.refinement.failed
        most = max(failed, key=lambda k: (failed[k], k), default=-1)
        why = done.failures.get(most)
        return TriedPlan(self.plan, done.reached, done.tries, failed[most], why)


def _holds(task: Task, plan: tuple[GroundAction, ...]) -> bool:
    """Whether the plan solves the constrained task."""
    known = {operator.action: operator for operator in task.operators}
    return _reaches_goal(task, task.init, [known.get(action) for action in plan])
