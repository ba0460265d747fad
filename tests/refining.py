"""Refines one plan without a search over plans: what many tests of skills need."""

from __future__ import annotations

from collections.abc import Mapping

from galley.domain.failure import Failure
from galley.domain.state import State
from galley.skills import BoundAction, PlanningContext, Skill
from galley.tamp.refine import TRIES_PER_PLAN, RefinedMotions, Refinement


def refine(
    context: PlanningContext,
    plan: tuple[BoundAction, ...],
    state: State,
    skills: Mapping[str, Skill],
) -> RefinedMotions | Failure:
    """Motions for every action of one plan, or the Failure that stood in the way.

    Certified failures that need no search are returned at once. One that depends on an earlier
    choice (an item put down out of reach) proves nothing of the task: it counts as ``budget``.
    """
    for action in plan:
        failed = skills[action.name].impossible(context, action, state)
        if failed is not None:
            return failed.within(str(action))
    refinement = Refinement(context, plan, skills, state)
    found = refinement.advance(10 * TRIES_PER_PLAN)
    assert isinstance(found, RefinedMotions | Failure)  # all that it may try, no analyzer
    return found
