"""From a task without a plan to the refusal: the lessons that it rests on, if they are proven.

The lessons are thinned out one by one while there is still no plan. What is left is a smallest set
that no plan gets by; the refusal names its weightiest member and carries the certificates of all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from galley.domain.failure import Failure, FailureKind
from galley.planning import Limits, Task, search
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


def core(task: Task, lessons: Lessons) -> list[Lesson]:
    """A smallest set of lessons under which ``task`` has no plan, as far as searches can tell."""
    # Suspected lessons are dropped first where that can be: what is proven is the better reason.
    order = sorted(lessons.all.values(), key=lambda lesson: lesson.proven)
    dropped: list[Key] = []
    for lesson in order:
        without = [*dropped, lesson.key]
        if _hopeless(lessons.taught(task, without)):
            dropped = without
    return [lesson for key, lesson in lessons.all.items() if key not in dropped]


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
