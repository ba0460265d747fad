"""Going on from an observed State: out of contact, then the same plan resumed, or another one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from galley.domain.failure import Failure
from galley.domain.frames import wrap
from galley.domain.listener import Listener
from galley.domain.pddl.formula import Fact
from galley.domain.pddl.model import Domain, Problem
from galley.domain.scene.model import Binding
from galley.domain.state import State
from galley.execution.recovery.observed_task import PLACING, ObservedTask, observed_task
from galley.motion.effects import after
from galley.motion.motion import Motion
from galley.planning import GroundAction, Semantics, validate_actions
from galley.skills import BoundAction, PlanningContext, Skill
from galley.skills.manipulation.escape import escape
from galley.skills.skill import Role
from galley.tamp.binding import bind_plan
from galley.tamp.refine import Refined, Refinement
from galley.tamp.search import Search

Facts = frozenset[Fact]

RESUMED = "resumed"
PLANNED_ANEW = "planned anew"
NOTHING_LEFT = "nothing left to do"
_NEAR_LIMIT = 0.01  # rad past a limit that count as at it
TRIES = 6  # refinements beyond one for each action, before a plan that was resumed is given up


@dataclass(frozen=True)
class RecoveryPlan:
    """What is to be done from an observed State on.

    Attributes:
        plan: the actions that are left, the one under way included if it is resumed.
        motions: for all of them, not yet finished (see ``skills.solving.finish``), beginning with
            those out of contact; their ``action_index`` counts in ``plan``.
        start: the State that the first motion begins in.
        task: the task as it stands in ``start``: facts, places that had no name.
        facts: before each action, and after the last one. Where the first action is resumed, what
            it needs at its beginning need not hold before it.
        how: ``resumed``, ``planned anew`` or ``nothing left to do``.
    """

    plan: tuple[GroundAction, ...]
    motions: tuple[Motion, ...]
    start: State
    task: ObservedTask
    facts: tuple[Facts, ...]
    how: str


@dataclass(frozen=True)
class InterruptedPlan:
    """A plan that was broken off.

    Attributes:
        plan: the actions. index: of the one under way; the length of the plan where all were done.
        facts: what held before that one, by the effects of the actions before it.
        motion: the last that was run, or None.
    """

    plan: tuple[GroundAction, ...]
    index: int
    facts: Facts
    motion: Motion | None = None


def replan(
    context: PlanningContext,
    domain: Domain,
    problem: Problem,
    bindings: Mapping[str, Binding],
    skills: Mapping[str, Skill],
    under_way: InterruptedPlan,
    state: State,
    recovery: int,
    listener: Listener | None = None,
    node_limit: int | None = None,
) -> RecoveryPlan | Failure:
    """How to reach the goal from ``state``.

    The plan is kept where the symbols let it be resumed and motions are found for it in a few
    tries; else plans and motions are sought for the task as it stands. The same seed and number
    of recovery give the same answer.

    Args:
        context: scene, robot, world, settings.
        domain, problem: the user's. bindings: of the problem's objects. skills: by action.
        under_way: the plan that was broken off.
        state: as observed.
        recovery: 1 for the first time in a run that planning begins anew, and so on.
        listener: hears how it goes on.
        node_limit: of each search of the task planner; None: its own.

    Returns:
        A Failure where there is no way out of contact, or as the search over plans and motions
        gives it, with what it proves.
    """
    listener = Listener() if listener is None else listener
    context = context.anew(recovery)
    state = within_limits(context, state)
    out = escape(context, state, under_way.motion)
    if isinstance(out, Failure):
        return out
    clear = state
    for motion in out:
        clear = after(context.scene, context.robot, motion, clear)
    left = under_way.plan[under_way.index :]
    prefer = tuple(dict.fromkeys(arg for action in left for arg in action.args))
    task = observed_task(context, domain, problem, bindings, skills, clear, under_way.facts, prefer)
    context = context.anew(recovery, task.stances)
    if validate_actions(domain, task.problem, ()).valid:
        return RecoveryPlan((), out, state, task, (task.facts,), NOTHING_LEFT)
    for plan, facts in _resumable(context, domain, task, skills, left, clear):
        found = _refined(context, plan, task, skills, clear, listener)
        if found is not None:
            return RecoveryPlan(plan, out + found.motions, state, task, facts, RESUMED)
    search = Search(
        context, domain, task.problem, task.bindings, skills, clear, listener, node_limit
    )
    solved = search.solve()
    if isinstance(solved, Failure):
        return solved
    states = validate_actions(domain, task.problem, solved.plan).states
    motions = out + solved.refined.motions
    return RecoveryPlan(solved.plan, motions, state, task, states, PLANNED_ANEW)


def within_limits(context: PlanningContext, state: State) -> State:
    """The State with all joints within their limits: what is seen may be off by a little.

    A base that has turned past the end of its range is turned back by a whole turn.
    """
    low, high = context.robot.limits
    q = np.array(state.q)
    heading = context.robot.slice("base").stop - 1
    if not low[heading] - _NEAR_LIMIT <= q[heading] <= high[heading] + _NEAR_LIMIT:
        q[heading] = wrap(q[heading])
    joints = context.scene.joints
    scene_q = np.clip(state.scene_q, [j.lower for j in joints], [j.upper for j in joints])
    return state.with_robot(np.clip(q, low, high)).with_scene(scene_q)


def _resumable(
    context: PlanningContext,
    domain: Domain,
    task: ObservedTask,
    skills: Mapping[str, Skill],
    left: tuple[GroundAction, ...],
    state: State,
) -> Iterator[tuple[tuple[GroundAction, ...], tuple[Facts, ...]]]:
    """Ends of the plan that reach the goal, and the facts before each action and at the end.

    What is left if the action under way can be resumed; or is begun anew; or is done.
    """
    if left and all(name in task.bindings for action in left for name in action.args):
        first = bind_plan(left, dict(task.bindings))[0]
        if skills[first.name].resumes(context, first, state):
            done = _done(domain, task, left[0], skills[first.name].role)
            problem = replace(task.problem, init=tuple(sorted(done)))
            verdict = validate_actions(domain, problem, left[1:])
            if verdict.valid:
                yield left, (task.facts, *verdict.states)
    for skipped in (0, 1):
        verdict = validate_actions(domain, task.problem, left[skipped:])
        if len(left) > skipped and verdict.valid:
            yield left[skipped:], verdict.states


def _done(domain: Domain, task: ObservedTask, action: GroundAction, role: Role) -> Facts:
    """The facts once an action that was under way is done, whatever it needs at its beginning.

    Where it brings the base near a place, the base is near no other; what it takes or puts is
    nowhere else; what it closes is not open.
    """
    schema = domain.action(action.name)
    assert schema is not None  # it is in the plan
    names = (variable.name for variable in schema.parameters)
    bound = dict(zip(names, action.args, strict=True))
    facts = task.facts
    added, deleted = Semantics(domain, task.problem).changes(schema.effect, bound, facts)
    moved = {action.args[i] for i in (role.takes, role.puts) if i is not None}
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


def _refined(
    context: PlanningContext,
    plan: tuple[GroundAction, ...],
    task: ObservedTask,
    skills: Mapping[str, Skill],
    state: State,
    listener: Listener,
) -> Refined | None:
    """Motions for a plan, if a few tries find them."""
    bound = bind_plan(plan, dict(task.bindings))
    if any(skills[each.name].impossible(context, each, state) is not None for each in bound):
        return None
    listener.skeleton(tuple(map(str, plan)))

    def progress(action: BoundAction, event: str) -> None:
        listener.action(action.index, len(bound), str(action), event)

    refinement = Refinement(context, bound, skills, state, progress)
    found = refinement.advance(len(bound) + TRIES)
    return found if isinstance(found, Refined) else None
