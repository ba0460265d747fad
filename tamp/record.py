"""The record of a search for the report: what it tried and learned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from galley.domain.failure import Failure
from galley.motion.motion import Motion
from galley.planning import GroundAction
from galley.skills.manipulation.effort import Effort
from galley.skills.skill import Role, Skill
from galley.tamp.feedback.constraints import LearnedConstraint


@dataclass(frozen=True)
class TriedPlan:
    """How far one plan got.

    Attributes:
        actions: the plan's actions, in order.
        reached: the most actions that had motions at the same time.
        tries: tries spent on the plan (``Effort``).
        failures: how often the action failed that failed most often.
        stopped_by: why that action failed the last time; None if none failed.
    """

    actions: tuple[GroundAction, ...]
    reached: int
    tries: float
    failures: int
    stopped_by: Failure | None

    def as_json(self) -> dict[str, Any]:
        """The fields as plain data; actions and the failure as text."""
        stopped = "" if self.stopped_by is None else str(self.stopped_by)
        return {**vars(self), "actions": list(map(str, self.actions)), "stopped_by": stopped}


@dataclass(frozen=True)
class SearchRecord:
    """What a search tried and learned; also of a search that was interrupted.

    Attributes:
        plan: the plan that was solved, else the one considered last.
        solved: whether motions were found for it.
        tried: the plans that were refined, in order.
        effort: the effort spent in all.
        most_tries: how many tries the search was allowed.
        constraints: the constraints learned about plans that were considered, in order.
        task_s: seconds spent on plans.
        motion_s: seconds spent on motions.
        reasons: remarks on actions of the plan, from the function ``reasons`` and from ``narrow``.
    """

    plan: tuple[GroundAction, ...]
    solved: bool
    tried: tuple[TriedPlan, ...]
    effort: Effort
    most_tries: float
    constraints: tuple[LearnedConstraint, ...]
    task_s: float
    motion_s: float
    reasons: tuple[tuple[int, str], ...] = ()

    def effort_as_json(self) -> dict[str, Any]:
        """The effort and the plans that were tried, as plain data."""
        return {
            "tries": self.effort.tries,
            "most_tries": self.most_tries,
            "counts": dict(self.effort.counts),
            "plans": [plan.as_json() for plan in self.tried],
        }


def narrow(motions: Iterable[Motion], most: float) -> tuple[tuple[int, str], ...]:
    """The actions with motions that keep less than the usual margin: index and sentence.

    Args:
        most: the usual margin, m.
    """
    sentence = f"it keeps {1e3 * 0.5 * most:g} mm to what is around it, half the usual margin"
    indices = dict.fromkeys(m.action_index for m in motions if (m.record.margin_m or most) < most)
    return tuple((k, sentence) for k in indices)


def reasons(
    plan: Sequence[GroundAction],
    constraints: Iterable[LearnedConstraint],
    skills: Mapping[str, Skill],
) -> tuple[tuple[int, str], ...]:
    """The actions of a plan that clear the way for later ones, and why: index and sentence."""
    sentences = []
    for k, action in enumerate(plan):
        role = skills[action.name].role if action.name in skills else Role()
        for constraint in constraints:
            fact, needed = constraint.fact, None
            if fact.predicate.startswith(("blocked-by", "no-room")):
                needed = role.removes
            elif "kept-" in fact.predicate:
                needed = role.closes if "kept-shut" in fact.predicate else role.opens
            if needed is None or action.args[needed] != fact.args[-1]:
                continue
            if any(fact.args[0] in later.args for later in plan[k + 1 :]):
                sentences.append((k, constraint.failure.message))
                break
    return tuple(sentences)
