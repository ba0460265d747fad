"""Plans with their motions: to be executed, interrupted, and after a recovery."""

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
        plan: the actions. motions: optimized, in order; ``action_index`` counts in ``plan``.
        start: the State that the first begins in.
        facts: before each action and after the last one.
    """

    plan: tuple[GroundAction, ...]
    motions: tuple[Motion, ...]
    start: State
    facts: tuple[Facts, ...]


@dataclass(frozen=True)
class InterruptedPlan:
    """A plan that was interrupted.

    Attributes:
        plan: the actions. index: of the one under way; the length of the plan where all were done.
        facts: what held before that one, by the effects of the actions before it.
        motion: the last that was run, or None.
        failed: the grasps and placements that failed in this run.
    """

    plan: tuple[GroundAction, ...]
    index: int
    facts: Facts
    motion: Motion | None = None
    failed: FailedContacts = NOTHING_FAILED


@dataclass(frozen=True)
class RecoveryPlan(MotionPlan):
    """What to do from an observed State on.

    Attributes:
        plan: the remaining actions, the interrupted one included if it is resumed.
        motions: for all of them, not yet optimized, the retreat from contact first; their
            ``action_index`` counts in ``plan``.
        start: the State that the first motion begins in.
        facts: before each action, and after the last one. The preconditions of a resumed action
            need not hold before it.
        task: the task that begins in ``start``.
        how: ``resumed``, ``planned anew`` or ``nothing left to do``.
    """

    task: ObservedTask
    how: str
