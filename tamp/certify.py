"""Proofs of what a search only suspects: a grid without a solution, and one with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from galley.domain.failure import Failure
from galley.domain.formula import Fact
from galley.domain.scene import Binding
from galley.domain.state import State
from galley.skills import Skill, Workbench
from galley.skills.manipulation import Manipulation
from galley.tamp.lessons import Lesson


@dataclass
class Prover:
    """Looks for certificates; each question is asked once.

    Attributes:
        bench: scene, robot, settings. bindings: of the PDDL objects. skills: by action.
        start: the State at the start, for which everything is asked.
    """

    bench: Workbench
    bindings: Mapping[str, Binding]
    skills: Mapping[str, Skill]
    start: State
    _known: dict[tuple[str, str], Failure | None] = field(default_factory=dict)

    def prove(self, lesson: Lesson) -> Lesson:
        """The lesson with a certificate, or as it is where none was found."""
        found = self._failure(lesson.fact)
        return lesson if found is None else replace(lesson, failure=found)

    def _failure(self, fact: Fact) -> Failure | None:
        things = [self.bindings[name] for name in fact.args if name in self.bindings]
        if fact.predicate.startswith(("blocked-by", "no-stance")) and things:
            subject = things[0]
            if subject.kind == "item":
                places = [b for b in things[1:] if b.kind == "furniture"] or self._places()
                return self._first([(subject, place) for place in places])
            if subject.kind == "furniture" and subject.handle is not None:
                return self._first([(subject, subject)])
        return None

    def _places(self) -> list[Binding]:
        """One piece of furniture for each set of stances."""
        found = {b.target: b for b in self.bindings.values() if b.kind == "furniture"}
        return list(found.values())

    def _first(self, questions: Sequence[tuple[Binding, Binding]]) -> Failure | None:
        """The failure that all of the questions come to; None where one has a solution."""
        failures = []
        for subject, place in questions:
            key = (subject.object, place.target)
            if key not in self._known:
                self._known[key] = self._ask(subject, place)
            failures.append(self._known[key])
        if not failures or any(each is None for each in failures):
            return None
        # Blocked says more than out of reach: from some stances it would be there.
        ranked = sorted((f for f in failures if f is not None), key=lambda f: f.kind.value)
        return ranked[0]

    def _ask(self, subject: Binding, place: Binding) -> Failure | None:
        from galley.skills.exhaustive import every_operation, every_pick, exhaustive

        stance = self.bench.scene.stance(place.target)

        def contacts(bench: Workbench, state: State) -> Sequence[Manipulation]:
            if subject.kind == "item":
                return every_pick(bench, state, bench.scene.item_index[subject.target])
            assert subject.handle is not None
            handle = bench.scene.handle(subject.handle)
            opening = min(subject.opening, bench.scene.joint(handle.joint).upper)
            return every_operation(bench, state, handle, opening)

        what = f"take {subject.object}" if subject.kind == "item" else f"open {subject.object}"
        return exhaustive(self.bench, self.start, contacts, stance, what)
