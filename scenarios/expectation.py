"""What outcome of a scenario is right, and whether a run's report shows it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

STATUSES = ("success", "refused", "budget")


@dataclass(frozen=True)
class Expectation:
    """The outcome that is right.

    Attributes:
        status: ``success``, ``refused`` or ``budget``.
        kind: of the failure (``blocked``, ...); None for any.
        names: objects that the failure must name.
        within_s: seconds in which a refusal should be found. Reported, never a reason to be wrong:
            it depends on the machine.
        plan_has: patterns of actions that the plan must contain, see ``matches``.
        plan_lacks: patterns of actions that it must not contain.
        plan_at_most: actions that the plan may have; None for any number.
    """

    status: str
    kind: str | None = None
    names: tuple[str, ...] = ()
    within_s: float | None = None
    plan_has: tuple[str, ...] = ()
    plan_lacks: tuple[str, ...] = ()
    plan_at_most: int | None = None

    def __str__(self) -> str:
        kind = f" {self.kind}" if self.kind else ""
        return self.status + kind + (f": {', '.join(self.names)}" if self.names else "")


def words(action: str) -> list[str]:
    """The words of ``(pick sugar burner h1)``; the brackets may be missing."""
    return action.strip().removeprefix("(").removesuffix(")").lower().split()


def matches(pattern: str, action: str) -> bool:
    """Whether an action begins with the pattern's words; ``*`` and ``?`` in them are wildcards.

    ``pick sugar`` matches ``(pick sugar burner h1)``, and so does ``(pick * burner)``.
    """
    wanted, got = words(pattern), words(action)
    return len(wanted) <= len(got) and all(
        fnmatchcase(there, each) for there, each in zip(got, wanted, strict=False)
    )


def judge(
    expected: Expectation,
    report: Mapping[str, Any],
    aliases: Mapping[str, Set[str]] | None = None,
) -> tuple[str, ...]:
    """Why a run's outcome is not the expected one; empty if it is.

    Args:
        expected: what is right.
        report: the run's ``report.json``.
        aliases: other names under which a failure may speak of an object.
    """
    wrong = []
    status, failure = report["status"], report["failure"] or {}
    if status != expected.status:
        wrong.append(f"{status} instead of {expected.status}")
    elif expected.kind is not None and failure.get("kind") != expected.kind:
        wrong.append(f"refused as {failure.get('kind')} instead of {expected.kind}")
    if status == expected.status:
        for name in expected.names:
            if not _named({name, *(aliases or {}).get(name, ())}, failure):
                wrong.append(f"the failure does not name {name}")
    wrong += _about_plan(expected, report["plan"])
    return tuple(wrong)


def _named(names: Set[str], failure: Mapping[str, Any]) -> bool:
    said = set(failure.get("objects", ())) | set(re.split(r"[^\w-]+", failure.get("message", "")))
    return not names.isdisjoint(said)


def _about_plan(expected: Expectation, plan: Sequence[str]) -> list[str]:
    wrong = [
        f"no action of the plan is {pattern}"
        for pattern in expected.plan_has
        if not any(matches(pattern, action) for action in plan)
    ]
    for pattern in expected.plan_lacks:
        found = next((action for action in plan if matches(pattern, action)), None)
        if found is not None:
            wrong.append(f"the plan has {found}")
    if expected.plan_at_most is not None and len(plan) > expected.plan_at_most:
        wrong.append(f"the plan has {len(plan)} actions, at most {expected.plan_at_most} expected")
    return wrong
