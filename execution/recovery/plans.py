"""A plan with its motions, an interrupted plan, and the plan after a recovery."""

from __future__ import annotations

from dataclasses import dataclass

from galley.domain.pddl.formula import Fact
from galley.domain.state import State
from galley.execution.recovery.observed_task import ObservedTask
from galley.motion.motion import Motion
from galley.planning import GroundAction
from galley.skills.manipulation.context import NOTHING_FAILED, FailedContacts

Facts = frozenset[Fact]

RESUMED = "resumed"
REPLANNED = "planned anew"
NOTHING_LEFT = "nothing left to do"


@dataclass(frozen=True)
class MotionPlan:
    """A plan with its motions.

    Attributes:
        plan: the actions.
        motions: optimized motions, in order; ``action_index`` is an index in ``plan``.
        start: the State in which the first motion begins.
        facts: the facts before each action, and after the last one.
    """

    plan: tuple[GroundAction, ...]
    motions: tuple[Motion, ...]
    start: State
    facts: tuple[Facts, ...]


@dataclass(frozen=True)
class InterruptedPlan:
    """A plan that was interrupted.

    Attributes:
        plan: the actions.
        index: index of the interrupted action; the length of the plan if all actions were done.
        facts: the facts before that action, by the effects of the actions before it.
        motion: the motion executed last, or None.
        failed: the grasps and placements that failed in this run.
    """

    plan: tuple[GroundAction, ...]
    index: int
    facts: Facts
    motion: Motion | None = None
    failed: FailedContacts = NOTHING_FAILED


@dataclass(frozen=True)
class RecoveryPlan(MotionPlan):
    """A plan from an observed State on.

    Attributes:
        plan: the remaining actions, with the interrupted one if it is resumed.
        motions: their motions, not yet optimized, after those of the retreat from contact;
            ``action_index`` is an index in ``plan``.
        start: the State in which the first motion begins.
        facts: the facts before each action, and after the last one. The preconditions of a resumed
            action need not hold before it.
        task: the task that begins in ``start``.
        how: ``resumed``, ``planned anew`` or ``nothing left to do``.
    """

    task: ObservedTask
    how: str
