"""Refines a plan's actions to Motions in order, going back where a later one gets stuck."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from galley.domain.failure import Failure, FailureKind
from galley.domain.state import State
from galley.motion.effects import after
from galley.motion.motion import Motion
from galley.skills.skill import BoundAction, Skill
from galley.skills.workbench import Workbench

REFINEMENTS = 60  # of single actions beyond one for each, before the whole plan is given up

Progress = Callable[[BoundAction, str], None]
"""Called with an action and what happens to it: ``start``, ``done`` or why it is tried again."""


@dataclass(frozen=True)
class Refined:
    """A plan's motions.

    Attributes:
        motions: for all actions, in order.
        states: the State before each action, and after the last one.
        attempts: how many refinements of single actions it took.
    """

    motions: tuple[Motion, ...]
    states: tuple[State, ...]
    attempts: int


def refine(
    bench: Workbench,
    plan: tuple[BoundAction, ...],
    state: State,
    skills: Mapping[str, Skill],
    progress: Progress = lambda action, event: None,
) -> Refined | Failure:
    """Motions for every action, or the Failure that stood in the way.

    Depth first. An action that fails is tried anew with another random stream; after
    ``settings.attempts`` tries the choice before it (where to stand, how to grasp) is made anew.
    Certified failures that need no search are returned at once. One that depends on an earlier
    choice (an item put down out of reach) proves nothing of the task: it counts as ``budget``.
    """
    for action in plan:
        if action.name not in skills:
            known = ", ".join(sorted(skills))
            return Failure(
                FailureKind.BAD_INPUT,
                f"no skill carries out the action '{action.name}'; there are {known}",
                (action.name,),
            )
        failed = skills[action.name].impossible(bench, action, state)
        if failed is not None:
            return failed.within(str(action))
    done: list[tuple[Motion, ...]] = []
    states = [state]
    tries = [0] * len(plan)  # since the action was last reached from before
    streams = [0] * len(plan)  # over the whole run: no stream is used twice
    worst: tuple[int, Failure] | None = None
    total, budget = 0, len(plan) + REFINEMENTS
    while len(done) < len(plan):
        k = len(done)
        action = plan[k]
        if tries[k] == bench.settings.attempts or total == budget:
            if k == 0 or total == budget:
                assert worst is not None  # the plan is shorter than the budget: something failed
                return worst[1]
            tries[k] = 0
            done.pop()
            states.pop()
            continue
        progress(action, "start")
        rng = bench.rng(k, streams[k])
        tries[k] += 1
        streams[k] += 1
        total += 1
        found = skills[action.name].refine(bench, action, plan[k + 1 :], states[-1], rng)
        if isinstance(found, Failure):
            failed = found.within(str(action))
            progress(action, str(failed))
            if failed.certificate is not None and _as_found(states[-1], state):
                return failed
            if worst is None or k >= worst[0]:
                worst = (k, _unproven(failed))
            continue
        progress(action, "done")
        at = states[-1]
        for motion in found:
            at = after(bench.scene, bench.robot, motion, at)
        done.append(found)
        states.append(at)
    return Refined(tuple(m for motions in done for m in motions), tuple(states), total)


def _as_found(state: State, start: State) -> bool:
    """Whether no item was moved and no drawer opened: then a proof owes nothing to a choice."""
    return state.items is start.items and np.array_equal(state.scene_q, start.scene_q)


def _unproven(failed: Failure) -> Failure:
    """The same message as an honest "found nothing", unless it is that already."""
    if failed.kind in (FailureKind.BUDGET, FailureKind.BAD_INPUT):
        return failed
    return replace(failed, kind=FailureKind.BUDGET, certificate=None)
