"""From a task without a plan to the refusal: the lessons that it rests on, if they are proven.

The lessons are thinned out one by one while there is still no plan. What is left is a set
that no plan gets by, and none of which can be left out; the refusal names its weightiest member and
carries the certificates of all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from galley.domain.failure import Failure, FailureKind
from galley.planning import Limits, Task, search
from galley.tamp.augment import Augmented
from galley.tamp.lessons import Key, Lesson, Lessons

_NODES = 20_000  # states searched for each "is there a plan without this lesson"
_WEIGHT = (
    FailureKind.BLOCKED,
    FailureKind.UNREACHABLE,
    FailureKind.DOES_NOT_FIT,
    FailureKind.UNSTABLE,
    FailureKind.CONTRADICTION,
    FailureKind.BUDGET,
    FailureKind.BAD_INPUT,
)


def core(seen: Augmented, lessons: Lessons, but: Collection[Key] = ()) -> list[Lesson]:
    """Lessons under which the task has no plan, none of which can be left out.

    As far as searches of a limited size can tell.

    Lessons with the keys ``but`` don't count.

    Halves are left out first, then what is left one by one (Zeller and Hildebrandt, "Simplifying
    and isolating failure-inducing input", 2002).
    """

    def hopeless(kept: list[Lesson]) -> bool:
        keys = {each.key for each in kept}
        without = [key for key in lessons.all if key not in keys]
        return _hopeless(lessons.taught(seen, without))

    # Suspected lessons are left out first where that can be: what is proven is the better reason.
    kept = [lesson for key, lesson in lessons.all.items() if key not in but]
    kept.sort(key=lambda lesson: lesson.proven)
    sure = [lesson for lesson in kept if lesson.proven]
    if len(sure) < len(kept) and hopeless(sure):
        kept = sure
    size = max(1, len(kept) // 2)
    while True:
        start = 0
        while start < len(kept):
            fewer = kept[:start] + kept[start + size :]
            if hopeless(fewer):
                kept = fewer
            else:
                start += size
        if size == 1:
            break
        size = max(1, min(size // 2, len(kept) // 2))
    keys = {each.key for each in kept}
    return [lesson for key, lesson in lessons.all.items() if key in keys]


def refusal(lessons: list[Lesson], prove: Callable[[Lesson], Lesson]) -> Failure | None:
    """The refusal that these lessons amount to; None where one of them can't be proven.

    Args:
        lessons: a set under which there is no plan.
        prove: the same lesson with a certificate, if one can be found.
    """
    proven: list[Lesson] = []
    for lesson in lessons:
        sure = lesson if lesson.proven else prove(lesson)
        if not sure.proven:
            return None
        proven.append(sure)
    proven.sort(key=lambda each: _WEIGHT.index(each.failure.kind))
    main = proven[0].failure
    if len(proven) == 1:
        return main
    others = [
        {"fact": str(each.fact), "message": str(each.failure), **(each.failure.certificate or {})}
        for each in proven[1:]
    ]
    reasons = "; ".join(dict.fromkeys(each.failure.message for each in proven))
    return replace(
        main, message=reasons, certificate={**(main.certificate or {}), "because": others}
    )


def _hopeless(task: Task) -> bool:
    found = search(task, "bfs", Limits(nodes=_NODES))
    return isinstance(found, Failure) and found.kind is not FailureKind.BUDGET
