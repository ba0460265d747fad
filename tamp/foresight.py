"""What can be said of a plan before anything moves: impossible actions, reach, and room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from galley.domain.failure import Failure, FailureKind
from galley.domain.formula import Fact
from galley.domain.scene import Binding
from galley.domain.state import State
from galley.planning import GroundAction, Task
from galley.skills import BoundAction, Skill, Workbench
from galley.skills.refusals import out_of_reach_as_found
from galley.tamp.augment import Augmented
from galley.tamp.binding import bind_plan
from galley.tamp.lessons import Lesson
from galley.tamp.occupancy import Occupancy

_NAMES = {
    FailureKind.DOES_NOT_FIT: "no-room",
    FailureKind.UNREACHABLE: "no-stance",
    FailureKind.BLOCKED: "blocked-by",
}


@dataclass
class Foresight:
    """Judges plans without a search; each question is asked once.

    Attributes:
        bench: scene, robot, settings.
        names: of the facts. task: the ground task. bindings: of its objects. skills: by action.
        start: the State at the start.
    """

    bench: Workbench
    names: Augmented
    task: Task
    bindings: Mapping[str, Binding]
    skills: Mapping[str, Skill]
    start: State
    _asked: dict[GroundAction, Failure | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        seed = self.bench.settings.seed
        self._room = Occupancy(
            self.bench.scene, self.start, self.names, self.bindings, self.skills, seed
        )

    def lessons(self, plan: Sequence[BoundAction]) -> list[Lesson] | None:
        """Why the plan can't work: lessons, perhaps none; None if nothing is known against it."""
        found: list[Lesson] = []
        for name in dict.fromkeys(action.name for action in plan):
            if any(self._impossible(a) for a in plan if a.name == name):
                found += self._all_impossible(name)
        moved: set[str] = set()  # what stands as found no longer
        for action in plan:
            role = self.skills[action.name].role
            if role.takes is not None:
                thing = action.bindings[role.takes].object
                found += self._out_of_reach(action) if thing not in moved else []
                moved.add(thing)
        return found or self._room.lessons(plan)

    def of_goal(self) -> Failure | None:
        """A proof that what the goal wants together can't stand together, or None."""
        return self._room.too_much(self.task.problem.goal)

    def _impossible(self, action: BoundAction) -> Failure | None:
        ground = GroundAction(action.name, tuple(b.object for b in action.bindings))
        if ground not in self._asked:
            failed = self.skills[action.name].impossible(self.bench, action, self.start)
            self._asked[ground] = None if failed is None else failed.within(str(action))
        return self._asked[ground]

    def _all_impossible(self, name: str) -> list[Lesson]:
        """All actions of one name that the scene rules out: the next plan won't have another."""
        found = []
        for operator in self.task.operators:
            if operator.action.name == name:
                (action,) = bind_plan((operator.action,), dict(self.bindings))
                failed = self._impossible(action)
                if failed is not None:
                    args = [b.object for b in action.bindings if b.kind != "hand"]
                    args += failed.objects if failed.kind is FailureKind.BLOCKED else ()
                    takes = self.skills[name].role.takes is not None
                    fits = failed.kind is not FailureKind.DOES_NOT_FIT or not takes
                    known = _NAMES.get(failed.kind, "impossible") if fits else "impossible"
                    fact = Fact(known, tuple(args))
                    found.append(Lesson(fact, failed, (operator.action,)))
        return found

    def _out_of_reach(self, action: BoundAction) -> list[Lesson]:
        """An item that can't be reached where it stands as found."""
        role = self.skills[action.name].role
        if role.takes is None or role.place is None:
            return []
        failed = out_of_reach_as_found(self.bench, self.start, action, self.skills[action.name])
        if failed is None:
            return []
        names = (action.bindings[role.takes].object, action.bindings[role.place].object)
        return [Lesson(self.names.fact("no-stance", *names), failed.within(str(action)))]
