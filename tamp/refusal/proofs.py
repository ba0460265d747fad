"""From a task without a plan to the refusal: the lessons that it rests on, if they are proven.

The lessons are thinned out one by one while there is still no plan. What is left is a set
that no plan gets by, and none of which can be left out; the refusal names its weightiest member and
carries the certificates of all.

What the search only suspects is proven by a grid without a solution, and one with it. A proof must
hold whenever the task planner relies on it: after other items have been moved, and with drawers and
doors as any plan may leave them. So the grid is asked in a barer world, in which more is possible:
items that a plan could move are gone, and so are the bodies of what a plan could open. What has no
solution there has none in any state of the task.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from galley.domain.failure import Failure, FailureKind
from galley.domain.scene.model import WORLD, Binding
from galley.domain.state import State
from galley.planning import Limits, Task, search
from galley.skills import Skill, Workbench
from galley.skills.drawer import NEEDED, Open, wanted
from galley.skills.manipulation.manipulation import Manipulation
from galley.skills.pick import Pick, TakeOut
from galley.skills.solving.workbench import without
from galley.skills.stow import Stow
from galley.tamp.binding import movable
from galley.tamp.feedback.lessons import Augmented, Key, Lesson, Lessons

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
_LISTED = (Pick, TakeOut, Open, Stow)  # skills whose ways to take and to open a grid lists


def core(seen: Augmented, lessons: Lessons, but: Collection[Key] = ()) -> list[Lesson]:
    """Lessons under which the task has no plan, none of which can be left out.

    As far as searches of a limited size can tell.

    Lessons with the keys ``but`` don't count.

    Halves are left out first, then what is left one by one (Zeller and Hildebrandt, "Simplifying
    and isolating failure-inducing input", 2002).
    """

    def hopeless(kept: list[Lesson]) -> bool:
        keys = {each.key for each in kept}
        left_out = [key for key in lessons.all if key not in keys]
        return _hopeless(lessons.taught(seen, left_out))

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


@dataclass
class Prover:
    """Looks for certificates; each question is asked once.

    Attributes:
        bench: scene, robot, settings. bindings: of the PDDL objects. skills: by action.
        start: the State at the start.
    """

    bench: Workbench
    bindings: Mapping[str, Binding]
    skills: Mapping[str, Skill]
    start: State
    _known: dict[tuple[str, ...], Failure | None] = field(default_factory=dict)

    def prove(self, lesson: Lesson) -> Lesson:
        """The lesson with a certificate, or as it is where none was found."""
        found = self._failure(lesson)
        return lesson if found is None else replace(lesson, failure=found)

    def _failure(self, lesson: Lesson) -> Failure | None:
        fact = lesson.fact
        things = [self.bindings[name] for name in fact.args if name in self.bindings]
        if not fact.predicate.startswith(("blocked-by", "no-stance")) or not things:
            return None
        subject = things[0]
        names = {action.name for action in lesson.actions} | ({lesson.by} if lesson.by else set())
        roles = [self.skills[name].role for name in sorted(names)]
        if not self._only_ours("takes" if subject.kind == "item" else "opens"):
            return None  # the grid knows no other ways than ours
        if subject.kind == "item":
            if any(role.takes is None for role in roles) or not self._stands(subject):
                return None  # that it can't be taken there says nothing of putting it there
            places = [b for b in things[1:] if b.kind == "furniture"] or self._places()
        elif subject.handle is not None and all(role.opens is not None for role in roles):
            places = [subject]
        else:
            return None
        blockers = frozenset(b.target for b in things[1:] if b.kind == "item")
        return self._all(subject, places, blockers)

    def _only_ours(self, what: str) -> bool:
        """Whether all skills that take, or open, are those whose ways the grid lists."""
        doing = (each for each in self.skills.values() if getattr(each.role, what) is not None)
        return all(type(each) in _LISTED for each in doing)

    def _stands(self, thing: Binding) -> bool:
        """Whether an item is where no drawer can bring it elsewhere."""
        return self.start.items[self.bench.scene.item_index[thing.target]].parent == WORLD

    def _places(self) -> list[Binding]:
        """One piece of furniture for each set of stances."""
        found = {b.target: b for b in self.bindings.values() if b.kind == "furniture"}
        return list(found.values())

    def _all(
        self, subject: Binding, places: Sequence[Binding], blockers: frozenset[str]
    ) -> Failure | None:
        """The failure that all stances come to; None where one has a solution."""
        failures: list[Failure] = []
        for place in places:
            key = (subject.object, place.target, *sorted(blockers))
            if key not in self._known:
                self._known[key] = self._ask(subject, place, blockers)
            found = self._known[key]
            if found is None:
                return None
            failures.append(found)
        # Blocked says more than out of reach: from some stances it would be there.
        return min(failures, key=lambda failure: failure.kind.value)

    def _ask(self, subject: Binding, place: Binding, blockers: frozenset[str]) -> Failure | None:
        from galley.skills.impossible.exhaustive import every_operation, every_pick, exhaustive

        scene = self.bench.scene
        away = self._movable(subject, blockers)
        left_out = self._openable(subject)
        bench = self.bench.without(left_out) if left_out else self.bench
        state = without(self.start, [scene.item_index[name] for name in away])

        def contacts(bench: Workbench, state: State) -> Sequence[Manipulation]:
            if subject.kind == "item":
                return every_pick(bench, state, bench.scene.item_index[subject.target])
            assert subject.handle is not None
            handle, far = bench.scene.handle(subject.handle), wanted(bench, subject)
            # A drawer is opened as far as it goes: the least that will do, or all of it.
            values = dict.fromkeys((far, min(NEEDED, far)))
            return [w for v in values for w in every_operation(bench, state, handle, v)]

        what = f"take {subject.object}" if subject.kind == "item" else f"open {subject.object}"
        found = exhaustive(bench, state, contacts, scene.stance(place.target), what)
        if found is None:
            return None
        said = {"moved_away": list(away), "left_out": sorted(left_out)}
        return replace(found, certificate={**(found.certificate or {}), **said})

    def _movable(self, subject: Binding, blockers: frozenset[str]) -> tuple[str, ...]:
        """Items that a plan could move, ``blockers`` left out; and all that stand in drawers."""
        scene = self.bench.scene
        can_go = movable(scene, self.start, self.bindings)
        return tuple(
            item.name
            for index, item in enumerate(scene.items)
            if item.name not in (*blockers, subject.target)
            and (index in can_go or self.start.items[index].parent != WORLD)
        )

    def _openable(self, subject: Binding) -> frozenset[str]:
        """Bodies that something else than the subject could bring out of the way."""
        scene = self.bench.scene
        found: set[str] = set()
        for binding in self.bindings.values():
            if binding.handle is not None and binding.handle != subject.handle:
                found |= set(scene.moved_by(scene.handle(binding.handle).joint))
        return frozenset(found)
