"""The plan as it was executed: actions in words, with their motions, and recoveries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count, groupby
from typing import Any

from galley.domain.action_text import in_words
from galley.domain.log import RECOVERY
from galley.results.stored_run import StoredRun


def mishap(recovery: Mapping[str, Any]) -> tuple[object, ...]:
    """The mishap that a recovery dealt with, without figures, so that repeated ones are equal."""
    noticed = tuple((deviation["kind"], deviation["name"]) for deviation in recovery["noticed"])
    motion = RECOVERY.sub("", recovery["motion"], 1)
    return noticed, motion, recovery["ended"].partition(",")[0]


def in_sentence(recoveries: Sequence[Mapping[str, Any]]) -> str:
    """A sentence about a mishap that happened once or several times; figures are the last ones."""
    last, times = recoveries[-1], [float(recovery["time_s"]) for recovery in recoveries]
    often = f"{len(times)} times, from {times[0]:.1f} to {times[-1]:.1f} s"
    what = "; ".join(str(deviation["what"]) for deviation in last["noticed"])
    after = f", after {RECOVERY.sub('', last['motion'], 1)}" if last["motion"] else ""
    ended = f", which ended with: {last['ended']}" if last["ended"] else ""
    return f"{often if len(times) > 1 else f'At {times[0]:.1f} s'}: {what}{after}{ended}."


@dataclass(frozen=True)
class Step:
    """A motion on the page.

    Attributes:
        part, index: motion ``index`` of the plan (part 0) or of the N-th recovery.
        number: index among the motions with a start; None for the others.
        figures: its entry in the report.
        start, end: seconds on the page's clock; None if it was not executed.
        ended: why the motion ended early; empty if it did not.
    """

    part: int
    index: int
    number: int | None
    figures: Mapping[str, Any]
    start: float | None
    end: float | None
    ended: str


@dataclass(frozen=True)
class ActionRow:
    """An action of the plan or of a recovery.

    Attributes:
        words, pddl: ``pick up the sugar box`` and ``(pick sugar burner h1)``.
        steps: its motions.
        reasons: why the action was added, if it clears the way for a later one.
    """

    words: str
    pddl: str
    steps: tuple[Step, ...]
    reasons: tuple[str, ...] = ()

    @property
    def planned_s(self) -> float:
        """Seconds spent on planning and optimising its motions."""
        figures = (step.figures for step in self.steps)
        return float(sum(f["planning_ms"] + f["optimization_ms"] for f in figures)) / 1e3

    @property
    def start(self) -> float | None:
        """When its first motion began; None if it has none, or was not executed."""
        return self.steps[0].start if self.steps else None

    @property
    def end(self) -> float | None:
        """When its last executed motion ended."""
        return next((s.end for s in reversed(self.steps) if s.end is not None), None)


@dataclass(frozen=True)
class PlanPart:
    """The plan, or a recovery and the plan that it continued with.

    Attributes:
        number: 0 for the plan, N for the N-th recovery.
        recovery: its entry in the report; None for the plan.
        rows: actions with their motions.
    """

    number: int
    recovery: Mapping[str, Any] | None
    rows: tuple[ActionRow, ...]


@dataclass(frozen=True)
class Timeline:
    """All parts of a run in order of time.

    Without an execution the clock is the plan's: each motion begins when the one before ends.

    Attributes:
        parts: the plan, then the recoveries.
        duration: the end of the clock, in seconds.
        executed: whether there is a log of the run.
    """

    parts: tuple[PlanPart, ...]
    duration: float
    executed: bool

    @property
    def groups(self) -> list[tuple[str, list[PlanPart]]]:
        """The parts in order; consecutive recoveries from the same mishap form a titled group."""
        groups = []
        for key, row in groupby(self.parts, key=lambda p: p.recovery and mishap(p.recovery)):
            parts = list(row)
            several = key is not None and len(parts) > 1
            title = in_sentence([p.recovery for p in parts if p.recovery]) if several else ""
            groups.append((title, parts))
        return groups

    @property
    def steps(self) -> list[Step]:
        """The motions with a start (executed, or planned if nothing was), sorted by number."""
        every = [step for part in self.parts for row in part.rows for step in row.steps]
        return sorted((s for s in every if s.number is not None), key=lambda s: s.number or 0)


def timeline(source: StoredRun) -> Timeline:
    """The timeline of a run: from its log if it has one, otherwise from its planned durations."""
    report = source.report
    recoveries = report["execution"]["recoveries"]
    plans = [(part["plan"], part["motions"]) for part in (report, *recoveries)]
    reasons: dict[int, list[str]] = {}
    for reason in report.get("reasons", []):
        reasons.setdefault(reason["action_index"], []).append(str(reason["why"]))
    clock, parts, numbers = 0.0, [], count()
    for number, (plan, motions) in enumerate(plans):
        steps = []
        for index, figures in enumerate(motions):
            start = end = None
            ended = ""
            if source.log is not None:
                at = source.log.parts.get((number, index))
                if at is not None:
                    start, end = source.log.spans[at]
                    ended = str(source.log.ends[at])
            else:
                start, end = clock, clock + float(figures["duration_s"])
                clock = end
            at_clock = None if start is None else next(numbers)
            steps.append(Step(number, index, at_clock, figures, start, end, ended))
        rows = [
            ActionRow(
                in_words(action, source.scene),
                action,
                tuple(s for s in steps if s.figures["action_index"] == k),
                () if number else tuple(reasons.get(k, ())),
            )
            for k, action in enumerate(plan)
        ]
        rest = tuple(s for s in steps if not 0 <= s.figures["action_index"] < len(plan))
        if rest:  # a retreat after the last action
            rows.append(ActionRow("finish", "", rest))
        parts.append(PlanPart(number, recoveries[number - 1] if number else None, tuple(rows)))
    duration = clock if source.log is None else source.log.duration
    return Timeline(tuple(parts), duration, source.log is not None)
