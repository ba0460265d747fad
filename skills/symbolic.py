"""cook(item, furniture) and wash(item, furniture): nothing moves, only symbols change."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from galley.domain.failure import Failure, FailureKind
from galley.domain.predicates import fact_holds
from galley.domain.state import State
from galley.motion.motion import Motion
from galley.skills.infeasibility.refusals import no_such_region
from galley.skills.manipulation.context import PlanningContext
from galley.skills.skill import BoundAction, Role, Skill, region_of


class SymbolicSkill(Skill):
    """Plans no Motion, but checks that the item is on the furniture and the base near it."""

    parameters: ClassVar[tuple[str, ...]] = ("item", "furniture")
    role: ClassVar[Role] = Role(uses=1)

    def refine(
        self,
        context: PlanningContext,
        action: BoundAction,
        upcoming: tuple[BoundAction, ...],
        state: State,
        rng: np.random.Generator,
    ) -> tuple[Motion, ...] | Failure:
        """An empty tuple if the item is on the furniture and the base near it, else a Failure."""
        thing, furniture = action.bindings[:2]
        X_WH = context.robot.kinematics.hand_pose(state.q)
        for name, bindings in (("on", (thing, furniture)), ("near", (furniture,))):
            verdict = fact_holds(context.scene, state, name, bindings, X_WH)
            if verdict is not None and not verdict.holds:
                fact = " ".join([name, *(binding.object for binding in bindings)])
                return Failure(
                    FailureKind.CONTRADICTION,
                    f"({fact}) does not hold: {verdict.why}",
                    tuple(binding.object for binding in bindings),
                    certificate={"kind": "fact", "fact": f"({fact})", "why": verdict.why},
                )
        return ()

    def impossible(
        self, context: PlanningContext, action: BoundAction, state: State
    ) -> Failure | None:
        """A refusal if the furniture has no surface."""
        furniture = action.bindings[1]
        region = region_of(context, furniture)
        if region is None or region.kind != "surface":
            return no_such_region(furniture.object, "surface for things to stand on")
        return None
