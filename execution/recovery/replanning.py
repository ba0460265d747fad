"""Recovery from an observed State: retreat from contact, then resume the plan or replan."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from galley.collision.checker import pairs
from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import wrap
from galley.domain.pddl.formula import Fact
from galley.domain.predicates import fact_holds
from galley.domain.state import State, item_pose
from galley.execution.recovery.observed_task import PLACING, ObservedTask, observed_task
from galley.execution.recovery.plans import (
    NOTHING_LEFT,
    REPLANNED,
    RESUMED,
    Facts,
    InterruptedPlan,
    RecoveryPlan,
)
from galley.motion.effects import state_after, with_acting_hand
from galley.motion.motion import Motion
from galley.planning import GroundAction, Semantics, validate_actions
from galley.planning.checks.validation import bound_action
from galley.robots.catalog import robot_of
from galley.skills.manipulation.contacts import near_to
from galley.skills.manipulation.context import OnBase, PlanningContext
from galley.skills.manipulation.escape import escape
from galley.skills.manipulation.grasps import is_upright
from galley.skills.manipulation.overhang import is_flat
from galley.skills.manipulation.step import any_reachable
from galley.skills.pick import pick_manipulations
from galley.skills.skill import Role, acting_hand
from galley.tamp.binding import bind_plan
from galley.tamp.checks import AuditedMotions, optimize_and_audit
from galley.tamp.refine import RefinedMotions, Refinement
from galley.tamp.search import Search
from galley.tamp.task import TampTask

_NEAR_LIMIT = 0.01  # rad past a limit up to which a heading is clipped, not turned back
_FLAT, _ON_BASE = 60_000, 61_000  # random streams: for items that lie flat, and on the base
TRIES = 1_500  # to find motions for the rest of a plan, before a new search


@dataclass
class TampReplanner:
    """Replans for the execution monitor, and records times and motions.

    Attributes:
        context: robot, world and settings of the planner.
        task: the user's task.
        fell: indices of items that a recovery found lying and that have not been stood up since.
        replanned: the optimized motions of each recovery that found a plan.
        replan_s: seconds spent on planning.
    """

    context: PlanningContext
    task: TampTask
    fell: frozenset[int] = frozenset()
    replanned: list[AuditedMotions] = field(default_factory=list)
    replan_s: float = 0.0

    def replan(
        self, interrupted: InterruptedPlan, state: State, number: int
    ) -> RecoveryPlan | Failure:
        """Plan from an observed State to the goal.

        The rest of the plan is resumed if its preconditions hold and ``TRIES`` tries find motions
        for it. Otherwise the whole search starts from the observed task. Once an item lies so flat
        that it can only be picked up over an edge, the task gets pushes. The result is
        deterministic in the seed and ``number``.

        Args:
            interrupted: the plan that was interrupted.
            state: the observed State.
            number: number of this recovery in the run, from 1.

        Returns:
            A Failure if the hand finds no way out of contact, or the search fails.
        """
        began = time.perf_counter()
        try:
            return self._replan(interrupted, state, number)
        finally:
            self.replan_s += time.perf_counter() - began

    def _replan(
        self, interrupted: InterruptedPlan, state: State, number: int
    ) -> RecoveryPlan | Failure:
        """``replan`` without timing.

        1. Note which items have fallen over and which lie on the base.
        2. Retreat: find motions out of contact (``_way_out``).
        3. Make a task that begins with the facts observed after the retreat (``observed_task``).
        4. If its goal holds already, only the retreat is left.
        5. Try to find motions for each rest of the plan that reaches the goal (``_resumable``).
        6. Otherwise search for a new plan.
        """
        task = self.task
        slide = None if interrupted.motion is None else interrupted.motion.slide
        state = within_limits(self.context, state)
        lying = _lying(self.context, task, state)
        # An item in a hand still counts as fallen: it was picked up as it lay.
        self.fell = frozenset(
            k for k in self.fell.union(lying) if k in lying or k in state.in_hands
        )
        context = self.context.for_replanning(
            number,
            failed=interrupted.failed,
            slide=slide,
            on_base=_on_base(self.context, task, state),
            fell=self.fell,
        )
        out = _way_out(context, state, interrupted.motion)
        if isinstance(out, Failure):
            return out
        clear = state  # the State after the retreat
        for motion in out:
            clear = state_after(context.scene, context.robot, motion, clear)
        if _lies_flat(context.acting(clear.hand), task, clear):
            self.task = task = task.with_pushes() or task
        left = interrupted.plan[interrupted.index :]
        prefer = tuple(dict.fromkeys(arg for action in left for arg in action.args))
        observed = observed_task(context, task, clear, interrupted.facts, prefer)
        context = context.for_replanning(number, scene=observed.scene)
        if validate_actions(task.domain, observed.problem, ()).valid:
            return RecoveryPlan((), out, state, (observed.facts,), observed, NOTHING_LEFT)
        stuck = _stuck_on_base(context, observed, clear)
        if stuck is not None:
            return stuck
        for plan, facts in _resumable(context, observed, left, clear):
            bound, skills = bind_plan(plan, observed.bindings), observed.skills
            views = [context.acting(acting_hand(context.robot, (action,))) for action in bound]
            # A quick check of each action by itself, before any search for motions.
            if any(
                skills[action.name].impossible(own, action, with_acting_hand(own.robot, clear))
                for own, action in zip(views, bound, strict=True)
            ):
                continue
            context.listener.skeleton(tuple(map(str, plan)))
            refined = Refinement(context, bound, skills, clear).advance(TRIES)
            if isinstance(refined, RefinedMotions):
                return RecoveryPlan(plan, out + refined.motions, state, facts, observed, RESUMED)
        solution = Search(context, observed, clear).solve()
        if isinstance(solution, Failure):
            return solution
        states = validate_actions(observed.domain, observed.problem, solution.plan).states
        motions = out + solution.refined.motions
        return RecoveryPlan(solution.plan, motions, state, states, observed, REPLANNED)

    def finish(self, motions: tuple[Motion, ...], start: State) -> tuple[Motion, ...] | Failure:
        """Optimize the trajectories of a recovery's motions, and audit them for collisions.

        Returns:
            The motions with their final trajectories; a Failure if the audit refuses them.
        """
        done = optimize_and_audit(self.context, motions, start)
        self.replanned.append(done)
        self.context.listener.finished(done)
        return done.failure or done.motions

    def unmet(self, state: State, facts: Facts) -> tuple[str, ...]:
        """The parts of the goal that don't hold in a State, as sentences; see ``unmet`` below."""
        return unmet(self.task, state, facts)

    def timing(self, total: float) -> dict[str, float]:
        """Seconds by stage, which add up to ``total`` seconds of execution and replanning."""
        optimization = sum(audited.optimization_s for audited in self.replanned)
        motion = self.replan_s + sum(audited.checks_s for audited in self.replanned)
        rest = total - motion - optimization
        return {"motion": motion, "optimization": optimization, "execution": rest}


def _way_out(
    context: PlanningContext, state: State, motion: Motion | None
) -> tuple[Motion, ...] | Failure:
    """Motions out of contact (``escape``) by the hand that acted last, or by another one.

    If no hand finds any, the Failure is that of the hand that acted last.
    """
    first: Failure | None = None
    others = (name for name in context.robot.views if name != state.hand)
    for hand in (state.hand, *others):
        own = context.acting(hand)
        out = escape(own, with_acting_hand(own.robot, state), motion)
        if not isinstance(out, Failure):
            return tuple(replace(escaping, hand=hand) for escaping in out)
        first, motion = first or out, None  # ``motion`` was not a motion of the other hands
    assert first is not None
    return first


def within_limits(context: PlanningContext, state: State) -> State:
    """The State with all joints clipped to their limits, as observations are noisy.

    A heading past its limits is turned back by whole turns, into [-pi, pi).
    """
    low, high = context.robot.limits
    q = np.array(state.q)
    heading = context.robot.slice("base").stop - 1
    if not low[heading] - _NEAR_LIMIT <= q[heading] <= high[heading] + _NEAR_LIMIT:
        q[heading] = wrap(q[heading])
    joints = context.scene.joints
    scene_q = np.clip(state.scene_q, [j.lower for j in joints], [j.upper for j in joints])
    return state.with_robot(np.clip(q, low, high)).with_scene(scene_q)


def _loose(context: PlanningContext, task: TampTask, state: State) -> list[int]:
    """Indices of the task's items that are in no hand."""
    items = (binding.target for binding in task.bindings.values() if binding.kind == "item")
    return sorted({context.scene.item_index[name] for name in items} - state.in_hands)


def _lying(context: PlanningContext, task: TampTask, state: State) -> list[int]:
    """Indices of the task's items that are in no hand and don't stand upright."""
    poses = {k: item_pose(context.scene, state, k, np.eye(4)) for k in _loose(context, task, state)}
    return [k for k, X_WI in poses.items() if not is_upright(X_WI)]


def _lies_flat(context: PlanningContext, task: TampTask, state: State) -> bool:
    """Whether an item of the task lies so flat that the hand has room for no grasp of it."""
    loose = _loose(context, task, state)
    return any(is_flat(context, state, index, context.rng(_FLAT)) for index in loose)


def _on_base(context: PlanningContext, task: TampTask, state: State) -> tuple[OnBase, ...]:
    """The items of the task that fell onto the robot's base: it can't drive before they are off."""
    fallen = []
    for index in _loose(context, task, state):
        item, below = context.scene.items[index], near_to(context, state, index)
        if below and below <= set(context.robot.base_links):
            fallen.append(OnBase(index, state.items[index], pairs((item.name,), tuple(below))))
    return tuple(fallen)


def _stuck_on_base(context: PlanningContext, task: ObservedTask, state: State) -> Failure | None:
    """A Failure if no empty hand can take an item off the base, which must not drive before."""
    hands = [context.acting(hand) for hand in context.robot.views or ("",)]
    states = [(own, with_acting_hand(own.robot, state)) for own in hands]
    empty = [(own, seen) for own, seen in states if seen.held is None]
    for load in context.on_base if empty else ():
        item = context.scene.items[load.index].name
        names = {name for name, binding in task.bindings.items() if binding.target == item}
        here = next((p.binding for p in task.places if names & set(p.fact.args)), None)
        rng = context.rng(_ON_BASE, load.index)
        ways = ((own, seen, pick_manipulations(own, seen, load.index, rng)) for own, seen in empty)
        if here is None or not any(any_reachable(o, way, here, s, rng) for o, s, way in ways):
            below = " and ".join(sorted(set().union(*load.touching) - {item}))
            what = f"{item} lies on the robot itself, on its {below}, and would be carried along"
            what += "; the hand finds no way to take it from there"
            return Failure(FailureKind.BUDGET, what, (item,))
    return None


def _resumable(
    context: PlanningContext,
    task: ObservedTask,
    left: tuple[GroundAction, ...],
    state: State,
) -> Iterator[tuple[tuple[GroundAction, ...], tuple[Facts, ...]]]:
    """The rests of the plan that reach the goal symbolically, best first.

    The interrupted action is resumed first, then repeated from its beginning, then skipped.

    Yields:
        The remaining actions, and the facts before each of them and after the last one.
    """
    domain, skills = task.domain, task.skills
    if left and all(name in task.bindings for action in left for name in action.args):
        first = bind_plan(left, task.bindings)[0]
        own = context.acting(acting_hand(context.robot, (first,)))
        if skills[first.name].resumes(own, first, with_acting_hand(own.robot, state)):
            done = _done(task, left[0], skills[first.name].role)
            problem = replace(task.problem, init=tuple(sorted(done)))
            verdict = validate_actions(domain, problem, left[1:])
            if verdict.valid:
                yield left, (task.facts, *verdict.states)
    for skipped in (0, 1):
        verdict = validate_actions(domain, task.problem, left[skipped:])
        if len(left) > skipped and verdict.valid:
            yield left[skipped:], verdict.states


def _done(task: ObservedTask, action: GroundAction, role: Role) -> Facts:
    """The facts after an interrupted action is completed; its preconditions may not hold.

    As they may not, the action's own delete effects may miss facts that have become false. If it
    brings the base near a place, the base is near no other. An item that it takes or places is
    nowhere else. A drawer or door that it closes is not open.
    """
    schema, bound = bound_action(task.domain, action)
    facts = task.facts
    added, deleted = Semantics(task.domain, task.problem).changes(schema.effect, bound, facts)
    moved = {action.args[i] for i in (role.takes, role.puts, role.pushes) if i is not None}
    shut = {action.args[role.closes]} if role.closes is not None else set()
    drives = any(fact.predicate == "near" for fact in added)
    for fact in facts:
        if (
            (fact.predicate == "near" and drives)
            or (fact.predicate in PLACING and fact.args[0] in moved)
            or (fact.predicate == "opened" and fact.args[0] in shut)
        ):
            deleted.add(fact)
    return (facts - deleted) | added


def unmet(task: TampTask, state: State, symbolic: Collection[Fact]) -> tuple[str, ...]:
    """The parts of the goal that don't hold in a State, each as a sentence.

    Args:
        task: the task with its goal.
        state: the observed State.
        symbolic: the facts at the end of the plan. They decide facts without a geometric meaning.
    """
    semantics, unmet_parts = Semantics(task.domain, task.problem), []
    for part in task.problem.goal:
        facts = _ObservedFacts(task, state, symbolic)
        if not semantics.holds(part, {}, facts):
            why = "; ".join(dict.fromkeys(facts.whys)) or "decided by the objects' names"
            unmet_parts.append(f"{part} does not hold: {why}")
    return tuple(unmet_parts)


@dataclass
class _ObservedFacts:
    """The set of the facts that hold in a State, evaluated lazily.

    Attributes:
        task: the task, for its scene and bindings.
        state: the State.
        symbolic: decide facts without a geometric meaning.
        whys: the reason of each evaluation so far.
    """

    task: TampTask
    state: State
    symbolic: Collection[Fact]
    whys: list[str] = field(default_factory=list)

    def __contains__(self, fact: object) -> bool:
        if not isinstance(fact, Fact):
            return False
        scene = self.task.scene
        robot = robot_of(scene.robot).acting(self.state.hand)
        X_WH = robot.kinematics.hand_pose(self.state.q)
        bindings = tuple(self.task.bindings[name] for name in fact.args)
        verdict = fact_holds(scene, self.state, fact.predicate, bindings, X_WH)
        if verdict is None:
            self.whys.append("has no geometric meaning; the plan's symbolic effects decide")
            return fact in self.symbolic
        self.whys.append(verdict.why)
        return verdict.holds
