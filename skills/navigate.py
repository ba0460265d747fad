"""navigate(from, to): fold the arm and drive to a stance from which the next action can be done."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import ClassVar

import numpy as np

from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import Array
from galley.domain.scene.model import Stance
from galley.domain.state import State
from galley.motion.motion import Motion
from galley.skills.base_placement.stances import places, sample_headings
from galley.skills.infeasibility.passage import no_passage
from galley.skills.infeasibility.refusals import out_of_reach_as_found
from galley.skills.manipulation.context import PlanningContext
from galley.skills.manipulation.lines import RejectionCounts
from galley.skills.manipulation.manipulation import Manipulation
from galley.skills.manipulation.motion_builder import MotionBuilder, folded_configurations
from galley.skills.manipulation.proof import holding_contact_pairs
from galley.skills.manipulation.step import from_current_stance, solve_from_stances, widest_first
from galley.skills.skill import BoundAction, LookaheadSkill, Role, acting_hand, stance_of

_GOALS = 2  # stances to which a drive is planned, at most
_FORWARD = 16  # the first tries use stances at which a straight drive arrives forward
_STAY = 30  # contacts tried from the current stance before the base drives


class Navigate(LookaheadSkill):
    """Drives to a stance for the next action, unless the current one will do."""

    parameters: ClassVar[tuple[str, ...]] = ("furniture", "furniture")
    role: ClassVar[Role] = Role(goes=1)
    prepares_next: ClassVar[bool] = True

    def refine(
        self,
        context: PlanningContext,
        action: BoundAction,
        upcoming: tuple[BoundAction, ...],
        state: State,
        rng: np.random.Generator,
    ) -> tuple[Motion, ...] | Failure:
        """Plan the drive; no Motions if the next action can be done from where the base stands.

        The base drives to a stance from which a contact of the next action is solved. If no drive
        is found, a proof that the way is closed makes the Failure certain.
        """
        place = action.bindings[1]
        stance = stance_of(context, place)
        tally = RejectionCounts()
        if stance.contains(state.q[context.robot.slice("base")]):  # it may stay
            contacts = self._next_contacts(context, upcoming, state, rng)
            if contacts is None:
                return ()
            ways = from_current_stance(
                context, contacts, place, state, rng, RejectionCounts(), _STAY
            )
            if next(ways, None) is not None:
                return ()
        failed: Failure | None = None
        goals = self._goals(context, stance, upcoming, state, rng, tally)
        for k, (goal, reason) in enumerate(goals):
            builder = MotionBuilder(context, state, action.index, rng)
            failed = builder.move_base(goal, "", reason)
            if failed is None:
                return tuple(builder.motions)
            if k + 1 == _GOALS:
                break
        if failed is not None:
            # Why is there no drive? The whole stance set may be closed off, which is a proof.
            closed = no_passage(context, state, [stance])
            if closed is None:  # perhaps this goal is, which proves nothing about the others
                at = f"{stance.name} at {goal[:2].round(2)}"
                one = [replace(stance, name=at, lower=goal, upper=goal)]
                closed = no_passage(context, state, one)
                closed = closed and replace(closed, kind=FailureKind.BUDGET, certificate=None)
            # What the planner has met on the way to these goals proves nothing about others either.
            if closed is None:
                return replace(failed, kind=FailureKind.BUDGET, certificate=None)
            return closed.within("drive")
        skill = self.skills.get(upcoming[0].name) if upcoming else None
        if skill is not None:
            failed = out_of_reach_as_found(context, state, upcoming[0], skill)
        after = f" to {upcoming[0]}" if upcoming else ""
        return failed or tally.failure(f"stand at '{stance.name}'{after}")

    def resumes(self, context: PlanningContext, action: BoundAction, state: State) -> bool:
        """Always True: a drive can start anywhere."""
        return True

    def _goals(
        self,
        context: PlanningContext,
        stance: Stance,
        upcoming: tuple[BoundAction, ...],
        state: State,
        rng: np.random.Generator,
        tally: RejectionCounts,
    ) -> Iterator[tuple[Array, str]]:
        """Yield base poses (3,) to drive to, each with its reason; count rejects in ``tally``."""
        arms = folded_configurations(context, state)
        if len(arms) == 0:
            tally.reasons["the folded arm is in collision"] += 1
            return
        contacts = self._next_contacts(context, upcoming, state, rng)
        if contacts is None:  # no contact follows: any free stance of the set will do
            checker = context.checker(state, holding_contact_pairs(context, state))
            low, high = places(stance, context.robot)
            while tally.tried < context.settings.placements and (low <= high).all():
                tally.tried += 1
                base = np.array([*rng.uniform(low, high), sample_headings(stance, 1, rng)[0]])
                if checker.free(context.robot.with_groups(state.q, base=base, arm=arms[0])[0]):
                    yield base, ""
                else:
                    tally.reasons["no room for the base"] += 1
            return
        solutions = solve_from_stances(
            context, contacts, stance, arms[0], state, rng, tally, forward=_FORWARD
        )
        for reached in widest_first(solutions, context.robot.spacing.margin):
            yield reached.base, reached.reason

    def _next_contacts(
        self,
        context: PlanningContext,
        upcoming: tuple[BoundAction, ...],
        state: State,
        rng: np.random.Generator,
    ) -> Iterator[Manipulation] | None:
        """The first contacts of the hand before the next drive; None if there are none.

        Actions without contact don't change the world, so later actions are looked at, too.
        """
        for k, action in enumerate(upcoming):
            skill = self.skills.get(action.name)
            if skill is None or skill is self:
                return None
            rest = upcoming[k + 1 :]
            hand = context.acting(acting_hand(context.robot, (action,)))
            if hand is not context:
                return None  # another hand acts first
            contacts = skill.contacts_in_view(context, action, rest, state, rng)
            first = next(contacts, None)
            if first is not None:
                return chain((first,), contacts)
            if "hand" in skill.parameters:
                return None  # the action will fail and say why
        return None
