"""What geometry taught: typed failures, and the facts that they become for the task planner.

- taking, opening or shutting X is blocked by items that stand as found: ``(blocked-by X ITEM)`` for
  each; the action waits until ITEM has been taken away, or X itself
- putting ITEM there finds no room beside what stands as found: ``(no-room ITEM PLACE OTHER)`` for
  each; waits until OTHER has been taken away
- two items can't both be in a place: ``(too-small PLACE ITEM OTHER)``; putting one there waits
  while the other stands there
- a drawer meets another that stands open: ``(kept-shut DRAWER OTHER)``; opening or shutting it
  waits until OTHER has been shut
- an item as found is out of reach from all stances: ``(no-stance ITEM PLACE)``; taking it from
  there as found is ruled out
- anything else that can't be done wherever it is tried: the action itself is forbidden

A lesson is ``proven`` where its failure carries a certificate. The others are what a bounded search
came to: good advice for the next plan, no ground for a refusal.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from galley.domain.failure import Failure, FailureKind
from galley.domain.formula import Fact
from galley.planning import GroundAction, Task
from galley.tamp.augment import Augmented

Key = Fact | tuple[GroundAction, ...]
"""What tells lessons apart."""


@dataclass(frozen=True)
class Lesson:
    """One thing learned.

    Attributes:
        fact: what the task planner gets to know, by the names of ``augment``.
        failure: what happened.
        actions: those forbidden for good; then ``fact`` is what the report says, no more.
        by: the name of the action that it was learned from, where that matters to a proof.
    """

    fact: Fact
    failure: Failure
    actions: tuple[GroundAction, ...] = ()
    by: str = field(default="", compare=False)

    @property
    def key(self) -> Key:
        """What it teaches: the fact, or the actions that it rules out."""
        return self.actions or self.fact

    @property
    def proven(self) -> bool:
        """Whether its failure carries a certificate."""
        return self.failure.certificate is not None and self.failure.kind is not FailureKind.BUDGET

    def __str__(self) -> str:
        return f"{self.fact}: {self.failure.message}"


@dataclass
class Lessons:
    """All that was learned in one search, in order, without repetition.

    Attributes:
        all: the lessons by their keys.
    """

    all: dict[Key, Lesson] = field(default_factory=dict)

    def add(self, lessons: Iterable[Lesson]) -> list[Lesson]:
        """Those of ``lessons`` that are new; a proof replaces what was only suspected."""
        new = []
        for lesson in lessons:
            known = self.all.get(lesson.key)
            if known is None:
                new.append(lesson)
            if known is None or (lesson.proven and not known.proven):
                self.all[lesson.key] = lesson
        return new

    def taught(self, seen: Augmented, without: Iterable[Key] = ()) -> Task:
        """The ground task with every lesson in it, except those with the keys ``without``."""
        left_out = set(without)
        lessons = [each for each in self.all.values() if each.key not in left_out]
        task = seen.task(*(each.fact for each in lessons if not each.actions))
        barred = [action for each in lessons for action in each.actions]
        return task.forbid(*barred) if barred else task
