"""From a task without a plan to the refusal: the lessons that it rests on, if they are proven.

The lessons are thinned out one by one while there is still no plan. What is left is a set
that no plan gets by, and none of which can be left out; the refusal names its weightiest member and
carries the certificates of all.

What the search only suspects is proven by a covering bound: no grasp of the family is possible
for the hand alone, or within the arm's reach. A proof must hold whenever the task planner relies on
it: after other items have been moved, and with drawers and doors as any plan may leave them. So it
is asked in a barer world, in which more is possible: items that a plan could move are gone, and so
are the bodies of what a plan could open. What is impossible there is so in any state of the task.
Where nothing is proven a grid of grasps and stances, in the same world, says what was tried.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace

from galley.domain.failure import Failure, FailureKind
from galley.domain.scene.model import WORLD, Binding, Stance
from galley.domain.state import State
from galley.planning import SearchLimits, Task, search
from galley.skills.drawer import NEEDED, Open, wanted
from galley.skills.pick import Pick, TakeOut
from galley.skills.solving.context import PlanningContext, without
from galley.skills.stow import Stow
from galley.tamp.binding import movable
from galley.tamp.feedback.constraints import (
    ConstrainedTask,
    Key,
    LearnedConstraint,
    LearnedConstraints,
)
from galley.tamp.task import TampTask

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
_OURS = (Pick, TakeOut, Open, Stow)  # skills whose ways to take and to open are known here


def core(
    task: ConstrainedTask, lessons: LearnedConstraints, but: Collection[Key] = ()
) -> list[LearnedConstraint]:
    """Lessons under which the task has no plan, none of which can be left out.

    As far as searches of a limited size can tell.

    Lessons with the keys ``but`` don't count.

    Halves are left out first, then what is left one by one (Zeller and Hildebrandt, "Simplifying
    and isolating failure-inducing input", 2002).
    """

    def hopeless(kept: list[LearnedConstraint]) -> bool:
        keys = {each.key for each in kept}
        left_out = [key for key in lessons.all if key not in keys]
        return _hopeless(lessons.applied_to(task, left_out))

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


def refusal(
    lessons: list[LearnedConstraint], prove: Callable[[LearnedConstraint], LearnedConstraint]
) -> Failure | None:
    """The refusal that these lessons amount to; None where one of them can't be proven.

    Args:
        lessons: a set under which there is no plan.
        prove: the same lesson with a certificate, if one can be found.
    """
    proven: list[LearnedConstraint] = []
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
    found = search(task, "bfs", SearchLimits(nodes=_NODES))
    return isinstance(found, Failure) and found.kind is not FailureKind.BUDGET


@dataclass(frozen=True)
class _SearchProblem:
    """Whether an item can be taken, or a drawer opened, from any of some places.

    Attributes:
        blockers: names of the items that stay; other movable ones are gone.
    """

    subject: Binding
    places: tuple[Binding, ...]
    blockers: frozenset[str]

    @property
    def what(self) -> str:
        """For messages."""
        return f"{'take' if self.subject.kind == 'item' else 'open'} {self.subject.object}"


@dataclass
class Prover:
    """Looks for certificates; each question is asked once.

    Attributes:
        context: robot, settings. task: what is to be refused.
        start: the State at the start.
    """

    context: PlanningContext
    task: TampTask
    start: State
    _known: dict[tuple[str, ...], Failure | None] = field(default_factory=dict)

    def prove(self, lesson: LearnedConstraint) -> LearnedConstraint:
        """The lesson with a certificate, or as it is where none was found."""
        asked = self._question(lesson)
        found = None if asked is None else self._once("proof", asked, self._proof)
        return lesson if found is None else replace(lesson, failure=found)

    def tried(self, lesson: LearnedConstraint) -> Failure | None:
        """What a grid without a solution says of a lesson; None where it has one, or has no say."""
        asked = self._question(lesson)
        return None if asked is None else self._once("grid", asked, self._grid)

    def _once(
        self, what: str, asked: _SearchProblem, answer: Callable[[_SearchProblem], Failure | None]
    ) -> Failure | None:
        places = sorted(each.target for each in asked.places)
        key = (what, asked.subject.object, *places, "but", *sorted(asked.blockers))
        if key not in self._known:
            self._known[key] = answer(asked)
        return self._known[key]

    def _question(self, lesson: LearnedConstraint) -> _SearchProblem | None:
        """What a lesson asks; None where ways to take and to open have no say in it."""
        fact = lesson.fact
        things = [self.task.bindings[name] for name in fact.args if name in self.task.bindings]
        if not fact.predicate.startswith(("blocked-by", "no-stance")) or not things:
            return None
        subject = things[0]
        names = {action.name for action in lesson.actions} | ({lesson.by} if lesson.by else set())
        roles = [self.task.skills[name].role for name in sorted(names)]
        if not self._only_ours("takes" if subject.kind == "item" else "opens"):
            return None  # no other ways than ours are known
        if subject.kind == "item":
            if any(role.takes is None for role in roles) or not self._stands(subject):
                return None  # that it can't be taken there says nothing of putting it there
            places = [b for b in things[1:] if b.kind == "furniture"] or self._places()
        elif subject.handle is not None and all(role.opens is not None for role in roles):
            places = [subject]
        else:
            return None
        blockers = frozenset(b.target for b in things[1:] if b.kind == "item")
        return _SearchProblem(subject, tuple(places), blockers)

    def _only_ours(self, what: str) -> bool:
        """Whether all skills that take, or open, are those whose ways the grid lists."""
        doing = (each for each in self.task.skills.values() if getattr(each.role, what) is not None)
        return all(type(each) in _OURS for each in doing)

    def _stands(self, thing: Binding) -> bool:
        """Whether an item is where no drawer can bring it elsewhere."""
        return self.start.items[self.context.scene.item_index[thing.target]].parent == WORLD

    def _places(self) -> list[Binding]:
        """One piece of furniture for each set of stances."""
        found = {b.target: b for b in self.task.bindings.values() if b.kind == "furniture"}
        return list(found.values())

    def _proof(self, asked: _SearchProblem) -> Failure | None:
        from galley.skills.impossible.covering import covered, every_grasp, every_hold

        context, state, said = self._bare(asked)
        subject, stances = asked.subject, self._stances(asked)
        if subject.kind == "item":
            families = every_grasp(context, state, context.scene.item_index[subject.target])
            found = covered(context, state, families, stances, asked.what, subject.target)
        else:
            families = every_hold(context, state, subject, min(self._values(context, subject)))
            found = covered(context, state, families, stances, asked.what)
        if found is None:
            return None
        return replace(found, certificate={**(found.certificate or {}), **said})

    def _grid(self, asked: _SearchProblem) -> Failure | None:
        from galley.skills.impossible.grid import every_operation, every_pick, tried

        context, state, said = self._bare(asked)
        subject = asked.subject
        if subject.kind == "item":
            ways = every_pick(context, state, context.scene.item_index[subject.target])
        else:
            assert subject.handle is not None
            handle = context.scene.handle(subject.handle)
            values = self._values(context, subject)
            ways = [w for v in values for w in every_operation(context, state, handle, v)]
        found = tried(context, state, ways, self._stances(asked), asked.what)
        if found is None:
            return None
        return replace(found, evidence=tuple({**each, **said} for each in found.evidence))

    def _stances(self, asked: _SearchProblem) -> list[Stance]:
        scene = self.context.scene
        return [scene.stance(name) for name in dict.fromkeys(p.target for p in asked.places)]

    @staticmethod
    def _values(context: PlanningContext, subject: Binding) -> list[float]:
        """A drawer is opened as far as it goes: the least that will do, or all of it."""
        far = wanted(context, subject)
        return list(dict.fromkeys((far, min(NEEDED, far))))

    def _bare(self, asked: _SearchProblem) -> tuple[PlanningContext, State, dict[str, list[str]]]:
        """The world without what a plan could bring out of the way, and what that is."""
        away = self._movable(asked.subject, asked.blockers)
        left_out = self._openable(asked.subject)
        context = self.context.without(left_out) if left_out else self.context
        state = without(self.start, [self.context.scene.item_index[name] for name in away])
        return context, state, {"moved_away": list(away), "left_out": sorted(left_out)}

    def _movable(self, subject: Binding, blockers: frozenset[str]) -> tuple[str, ...]:
        """Items that a plan could move, ``blockers`` left out; and all that stand in drawers."""
        scene = self.context.scene
        can_go = movable(self.task, self.start)
        return tuple(
            item.name
            for index, item in enumerate(scene.items)
            if item.name not in (*blockers, subject.target)
            and (index in can_go or self.start.items[index].parent != WORLD)
        )

    def _openable(self, subject: Binding) -> frozenset[str]:
        """Bodies that something else than the subject could bring out of the way."""
        scene = self.context.scene
        found: set[str] = set()
        for binding in self.task.bindings.values():
            if binding.handle is not None and binding.handle != subject.handle:
                found |= set(scene.moved_by(scene.handle(binding.handle).joint))
        return frozenset(found)
