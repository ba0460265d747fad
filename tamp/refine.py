"""Refines a plan's actions to Motions in order, depth first with backtracking."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from galley.domain.failure import Failure, FailureKind
from galley.domain.state import State
from galley.motion.effects import state_after
from galley.motion.motion import Motion
from galley.skills.manipulation.context import PlanningContext
from galley.skills.manipulation.motion_builder import at_rest
from galley.skills.skill import BoundAction, Skill, acting_hand
from galley.tamp.feedback.constraints import LearnedConstraint

TRIES_PER_PLAN = 6_000  # tries before the plan is given up, with effort 1

Advice = tuple[LearnedConstraint, ...] | int | None
"""Reaction to a failure: constraints that end the plan; the index of an earlier action to backtrack
to; or None for chronological backtracking."""

# Analyzes why the next action of a refinement failed (``feedback.failure_analysis``).
Analyzer = Callable[["Refinement", Failure], Advice]


@dataclass(frozen=True)
class RefinedMotions:
    """A plan's motions.

    Attributes:
        motions: those of all actions, in order.
        states: the State before each action, and after the last one.
    """

    motions: tuple[Motion, ...]
    states: tuple[State, ...]


@dataclass(frozen=True)
class Learned:
    """A plan is given up, for it violates these new constraints."""

    constraints: tuple[LearnedConstraint, ...]


@dataclass(eq=False)
class Refinement:
    """The refinement of one plan, which can be paused and resumed.

    The search is depth first: the actions get their motions one after another. When an action
    fails, the analyzer gives advice: constraints, which end this plan, or an earlier action to
    backtrack to. Without advice the action is tried again with another random stream. After
    ``settings.attempts`` tries, the action before it (where to stand, how to grasp) is refined
    again.

    The key of a random stream is the action, which of its occurrences in the plan it is, and how
    often it was refined. So no stream is used twice, and none depends on other plans.

    Attributes:
        context: the scene, robot and settings.
        plan: the bound actions, in order.
        skills: the skill of each action, by its name.
        start: the State before the first action.
        analyzer: advises what to do after a failure, see ``Analyzer``.
        over: tells whether the search has used up its budget; then ``advance`` pauses.
        states: the State before each refined action, and after the last one.
        tries: tries spent on this plan so far (``Effort``).
        reached: the most actions that had motions at the same time.
        notes: the analyzer's counts for this plan, by event and action.
        failed: how often each action failed, by its index.
        failures: the last Failure of each action, by its index. It is stored without its
            certificate, as ``budget``: the proof may depend on choices made for earlier actions.
    """

    context: PlanningContext
    plan: tuple[BoundAction, ...]
    skills: Mapping[str, Skill]
    start: State
    analyzer: Analyzer = lambda refinement, failure: None
    over: Callable[[], bool] = bool
    states: list[State] = field(init=False)
    tries: float = 0.0
    reached: int = 0
    notes: Counter[tuple[str, int]] = field(default_factory=Counter)
    failed: Counter[int] = field(default_factory=Counter)
    failures: dict[int, Failure] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.states = [self.start]
        self._motions: list[tuple[Motion, ...]] = []
        self._tries = [0] * len(self.plan)  # refinements since the last backtracking past it
        self._streams = [0] * len(self.plan)  # refinements in all
        self._limit = self._tries_per_plan
        self.stream_names = _stream_names(self.plan)

    @property
    def at(self) -> int:
        """Index of the action to be refined next."""
        return len(self._motions)

    @property
    def as_found(self) -> bool:
        """Whether nothing but the robot has moved since the start."""
        state = self.states[-1]
        return state.items is self.start.items and np.array_equal(state.scene_q, self.start.scene_q)

    def restart(self) -> None:
        """Start again with the same budget, and with fresh random streams."""
        self._motions.clear()
        del self.states[1:]
        self._tries = [0] * len(self.plan)
        self.notes.clear()
        self._limit = self.tries + self._tries_per_plan

    @property
    def _tries_per_plan(self) -> float:
        """How many tries the plan gets until it is given up or restarted."""
        return self.context.settings.effort * TRIES_PER_PLAN

    def advance(self, tries: float) -> RefinedMotions | Learned | Failure | None:
        """Continue for some tries, or for one refinement if that takes more.

        Returns:
            The motions of all actions; or the constraints that end the plan; or a Failure if
            nothing is left to try; or None if the refinement has paused and can go on.
        """
        end = self.tries + tries
        while self.at < len(self.plan):
            if self._tries[self.at] >= self.context.settings.attempts:
                # Chronological backtracking: choose differently in the action before.
                if self.at == 0:
                    return self._given_up()
                self._backtrack_to(self.at - 1)
            elif self.tries >= self._limit and self.failed:
                return self._given_up()
            elif self.tries >= end or self.over():
                return None
            else:
                before = self.context.effort.tries
                failed = self._refine_next()
                advice = None if failed is None else self.analyzer(self, failed)
                self.tries += self.context.effort.tries - before
                if failed is not None:
                    if isinstance(advice, tuple):
                        return Learned(advice)
                    if failed.proven and self.as_found:  # no earlier choice can change that
                        return failed
                    if advice is not None:
                        self._backtrack_to(advice)
        motions = tuple(m for part in self._motions for m in part)
        return RefinedMotions(motions, tuple(self.states))

    def _refine_next(self) -> Failure | None:
        """Refine the next action once; None if it has motions now, else why it has none.

        The arms of the hands that don't act are folded first. The motions' effects give the State
        before the action after it.
        """
        k = self.at
        action, state = self.plan[k], self.states[-1]
        self._report(action, "start")
        rng = self.context.rng(self.stream_names[k], self._streams[k])
        self._tries[k] += 1
        self._streams[k] += 1
        self.context.effort.spend("refinements")
        hand = acting_hand(self.context.robot, self.plan, k) or self.context.robot.hand
        context, rested = self.context.acting(hand), tuple[Motion, ...]()
        if hand:
            rested, state = at_rest(context, state, k, rng)
        motions = self.skills[action.name].refine(context, action, self.plan[k + 1 :], state, rng)
        if isinstance(motions, Failure):
            failed = motions.within(str(action))
            self._report(action, str(motions))
            self.failed[k] += 1
            self.failures[k] = _unproven(failed)
            return failed
        self._report(action, "done")
        if hand:
            # A user's own skill need not name the hand or the pairs that always touch.
            touch = context.always_touching(state)
            own = (
                m if m.hand else replace(m, hand=hand, allowed=m.allowed | touch) for m in motions
            )
            motions, state = (*rested, *own), self.states[-1]
        self.context.listener.refined(k, state, motions)
        for motion in motions:
            state = state_after(self.context.scene, self.context.robot, motion, state)
        self._motions.append(motions)
        self.states.append(state)
        self.reached = max(self.reached, self.at)
        return None

    def _report(self, action: BoundAction, event: str) -> None:
        """Tell the listener that a refinement starts, is done or has failed."""
        self.context.listener.action(action.index, len(self.plan), str(action), event)

    def _backtrack_to(self, target: int) -> None:
        """Discard the motions from action ``target`` on, so that it is refined next.

        The tries of the actions after it count from 0 again; its own do not.
        """
        for i in range(target + 1, self.at + 1):
            self._tries[i] = 0
        del self._motions[target:]
        del self.states[target + 1 :]

    def _given_up(self) -> Failure:
        """The last failure of the latest action in the plan that has failed."""
        return self.failures[max(self.failures)]


def _stream_names(plan: Sequence[BoundAction]) -> list[int]:
    """A number for each action, from its text and how often that occurs before it in the plan."""
    texts = list(map(str, plan))
    return [zlib.crc32(f"{text} {texts[:k].count(text)}".encode()) for k, text in enumerate(texts)]


def _unproven(failed: Failure) -> Failure:
    """The failure as ``budget``, without its certificate; malformed input stays as it is."""
    if failed.kind in (FailureKind.BUDGET, FailureKind.BAD_INPUT):
        return failed
    return replace(failed, kind=FailureKind.BUDGET, certificate=None)
