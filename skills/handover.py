"""handover(item, hand, hand): one hand gives the item that it holds to another hand of the robot.

The hands meet where both reach: one brings the item there, the other closes on it too, and only
then does the first open and withdraw. So the item is in a hand at every moment.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import ClassVar

import numpy as np

from galley.collision.checker import pairs
from galley.domain.failure import Failure
from galley.domain.frames import Array, inverse, rotation_about, rotation_z, transform
from galley.domain.log import OPEN
from galley.domain.state import State, base_pose
from galley.motion.effects import state_after, with_acting_hand, with_attachments
from galley.motion.motion import Attachment, Motion
from galley.skills.infeasibility.refusals import wrong_in_hand
from galley.skills.manipulation.context import PlanningContext
from galley.skills.manipulation.lines import (
    ManipulationSolution,
    RejectionCounts,
    gripper_motion,
    gripper_states,
    proven_line,
)
from galley.skills.manipulation.manipulation import (
    APPROACH_SPEED,
    GripperMotion,
    Line,
    backed_off,
    straight,
)
from galley.skills.manipulation.motion_builder import MotionBuilder, at_rest
from galley.skills.manipulation.proof import CONTACT_CLEARANCE, holding_contact_pairs
from galley.skills.manipulation.step import can_be_placed_later, solve_manipulation
from galley.skills.pick import pick_manipulations
from galley.skills.skill import BoundAction, LookaheadSkill, Role

_MEETINGS = 400  # poses of the item that are tried, at most
_REACHED = 40  # poses that the giving hand reaches, after which the search ends
_GRASPS = 12  # grasps of the taking hand tried at one of these
_PATHS = 4  # meetings for which free motions are planned
_REJECTIONS = 12  # meetings rejected since the item can't be put down next; then any will do
_FORWARD = (0.25, 0.75)  # how far before the shoulders the hands meet, as shares of the arms' reach
_ASIDE, _HEIGHT = 0.25, (-0.40, 0.20)  # the same to each side, and above the shoulders
_TILTED = 0.4  # share of the meetings in which the item is laid on a side


class Handover(LookaheadSkill):
    """Gives an item to another hand, with a grasp that also allows that hand to put it down."""

    parameters: ClassVar[tuple[str, ...]] = ("item", "hand", "hand")
    role: ClassVar[Role] = Role(uses=0)

    def refine(
        self,
        context: PlanningContext,
        action: BoundAction,
        upcoming: tuple[BoundAction, ...],
        state: State,
        rng: np.random.Generator,
    ) -> tuple[Motion, ...] | Failure:
        """Plan the handover; no Motions if the taking hand holds the item already."""
        index, taker = context.scene.item_index[action.bindings[0].target], action.bindings[2]
        if self.resumes(context, action, state):
            return ()
        failed = wrong_in_hand(context, state, index)
        if failed is not None:
            return failed
        takes = context.acting(taker.target)
        accepts = can_be_placed_later(takes, upcoming, self.skills, index)
        tally, paths, rejected = RejectionCounts(), 0, 0
        for meeting in _meetings(context, takes, state, index, rng, tally):
            left = meeting.taken.state_after(takes.robot)
            if accepts is not None and rejected < _REJECTIONS and not accepts(left, rng):
                rejected += 1
                tally.reasons["the next step would be impossible"] += 1
                continue
            motions = _motions(context, takes, meeting, action, state, rng)
            if not isinstance(motions, Failure):
                return motions
            failed, paths = motions, paths + 1
            if paths == _PATHS:
                break
        return failed or tally.failure(str(action))

    def resumes(self, context: PlanningContext, action: BoundAction, state: State) -> bool:
        """True if the taking hand holds the item: then nothing is left to do."""
        index = context.scene.item_index[action.bindings[0].target]
        taker = context.acting(action.bindings[2].target)
        return with_acting_hand(taker.robot, state).held == index


@dataclass(frozen=True)
class _Meeting:
    """A configuration in which two hands meet, and the motions that hand the item over there.

    Attributes:
        arm: the giving arm's configuration (n,).
        taken: how the other hand takes the item: approach, grip and lift.
        release: the giving hand's motions between grip and lift: open and withdraw.
    """

    arm: Array
    taken: ManipulationSolution
    release: tuple[Motion, ...]


def _meetings(
    gives: PlanningContext,
    takes: PlanningContext,
    state: State,
    index: int,
    rng: np.random.Generator,
    tally: RejectionCounts,
) -> Iterator[_Meeting]:
    """Yield meetings at which the giving arm, the item and the taking hand are free of collision.

    Args:
        gives: the context in which the giving hand acts.
        takes: the context in which the taking hand acts.
        tally: counts why others are rejected.
    """
    reached, arm_slice = 0, gives.robot.slice("arm")
    base, moves = state.q[gives.robot.slice("base")], gives.robot.kinematics
    X_HI = state.items[index].X_PI
    checker = gives.checker(state, holding_contact_pairs(gives, state))
    for X_WI in islice(_item_poses(gives, takes, state, rng), _MEETINGS):
        gives.effort.spend("ways")
        X_WH = X_WI @ inverse(X_HI)
        arms = moves.configurations(X_WH, base, moves.redundant_values(6, rng))
        arms = arms[checker.free_many(gives.robot.with_groups(state.q, arm=arms))]
        if not len(arms):
            continue
        # The configuration nearest to the present one.
        arm = arms[np.abs(arms - state.q[arm_slice]).max(axis=1).argmin()]
        there = state.with_robot(gives.robot.with_groups(state.q, arm=arm)[0])
        yield from _takings(gives, takes, there, index, rng, tally)
        reached += 1
        if reached == _REACHED:
            return


def _item_poses(
    gives: PlanningContext, takes: PlanningContext, state: State, rng: np.random.Generator
) -> Iterator[Array]:
    """Yield random poses X_WI (4, 4) of an item between two arms: upright or on a side, any yaw."""
    X_WB = base_pose(state.q)
    reaches = [view.robot.kinematics.reach for view in (gives, takes)]
    shoulders = np.array([view.p_BS for view in reaches])
    reach = min(view.to_hand for view in reaches)
    low, high = np.array([_FORWARD, (-_ASIDE, _ASIDE), _HEIGHT]).T
    while True:
        p_BI = shoulders.mean(axis=0) + reach * rng.uniform(low, high)
        R = rotation_z(rng.uniform(-np.pi, np.pi))
        if rng.random() < _TILTED:
            R = R @ rotation_about((1.0, 0.0, 0.0), np.pi / 2.0)
            R = R @ rotation_z(rng.integers(4) * np.pi / 2.0)
        yield X_WB @ transform(R, p_BI)


def _takings(
    gives: PlanningContext,
    takes: PlanningContext,
    there: State,
    index: int,
    rng: np.random.Generator,
    tally: RejectionCounts,
) -> Iterator[_Meeting]:
    """Yield ways to take an item from the giving hand, which holds it as in ``there``."""
    arm, base = gives.robot.slice("arm"), there.q[gives.robot.slice("base")]
    X_WH, spacing = gives.hand(there)(there.q[arm]), gives.robot.spacing
    back = straight(X_WH, backed_off(X_WH, spacing.retreat), spacing.step)
    path = gives.robot.kinematics.follow(there.q[arm], back, base)
    if path is None:
        tally.reasons["the giving arm can't withdraw"] += 1
        return
    released = gives.robot.with_groups(there.q, arm=path[-1:])[0]
    released[gives.robot.slice("fingers")] = gives.robot.fingers_at(gives.robot.gripper.open)
    # The taking hand lifts the item only after the giving hand has withdrawn.
    seen = with_acting_hand(takes.robot, there)
    for picked in islice(pick_manipulations(takes, seen, index, rng), _GRASPS):
        *first, lift = picked.steps
        assert isinstance(lift, Line)
        lift = replace(lift, state=lift.state.with_robot(released))
        way = replace(picked, steps=(*first, lift))
        taken = solve_manipulation(takes, way, base, rng, tally)
        if taken is None:
            continue
        release = _release(gives, takes, taken, there, index, back, path, tally)
        if release is not None:
            yield _Meeting(there.q[arm], taken, release)


def _release(
    gives: PlanningContext,
    takes: PlanningContext,
    taken: ManipulationSolution,
    there: State,
    index: int,
    back: Array,
    path: Array,
    tally: RejectionCounts,
) -> tuple[Motion, ...] | None:
    """Motions in which the giving hand opens and withdraws, while the other hand holds the item.

    Args:
        back: hand poses of the withdrawal (m, 4, 4).
        path: arm configurations at these (m, n).

    Returns:
        The two motions; or None if a hand is in the way.
    """
    name, giver, taker = gives.scene.items[index].name, gives.robot, takes.robot
    close = taken.manipulation.steps[-2]
    assert isinstance(close, GripperMotion)
    gripped = takes.robot.with_groups(
        there.q, arm=taken.segments[-1].path.start, fingers=taker.fingers_at(close.opening)
    )[0]
    goes_over = (Attachment("item", name, taker.hand),)
    state = with_attachments(gives.scene, there.with_robot(gripped), goes_over, back[0])
    touch = pairs(giver.fingers, (name,))
    stroke = GripperMotion(OPEN, giver.gripper.open, touch, goes_over)
    opens = gripper_states(gives, gripped, stroke.opening)
    if not gives.checker(state, touch, CONTACT_CLEARANCE).free_many(opens).all():
        tally.reasons["no room to open the giving hand"] += 1
        return None
    line = Line("withdraw", back, state, touch, (), APPROACH_SPEED)
    segment = proven_line(gives, line, opens[-1], path, tally)
    end = giver.with_groups(opens[-1], arm=path[-1:])[0]
    if segment is None or not gives.checker(state, margin=giver.spacing.narrow).free(end):
        tally.reasons["no room for the giving hand to withdraw"] += 1
        return None
    touch |= gives.always_touching(state)
    opening = gripper_motion(gives, gripped, stroke, 0, stroke.phase)
    both = opening, segment.motion(line, 0, line.phase)
    return tuple(replace(motion, allowed=touch, hand=giver.hand) for motion in both)


def _motions(
    gives: PlanningContext,
    takes: PlanningContext,
    meeting: _Meeting,
    action: BoundAction,
    state: State,
    rng: np.random.Generator,
) -> tuple[Motion, ...] | Failure:
    """The Motions of a meeting, in order: bring, take, release, lift; last the giving arm folds.

    The giving arm stays where it is if it has no room to fold.
    """
    brings = MotionBuilder(gives, state, action.index, rng)
    failed = brings.free("arm", meeting.arm[None], "bring")
    grasps = MotionBuilder(takes, with_acting_hand(takes.robot, brings.state), action.index, rng)
    failed = failed or grasps.run(meeting.taken)
    if failed is not None:
        return failed
    lift = meeting.taken.manipulation.steps[-1]
    assert isinstance(lift, Line)
    touching = takes.always_touching(lift.state)  # when the giving hand has let go
    lifts = replace(grasps.motions.pop(), allowed=lift.allowed | touching)
    release = (replace(let_go, action_index=action.index) for let_go in meeting.release)
    motions = (*brings.motions, *grasps.motions, *release, lifts)
    for motion in motions:
        state = state_after(gives.scene, gives.robot, motion, state)
    rests, _ = at_rest(takes, with_acting_hand(gives.robot, state), action.index, rng)
    return (*motions, *rests)
