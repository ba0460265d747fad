"""Names for the places of items that lie where no object of the problem says.

An item that has fallen over stands on nothing; one may lie on the floor, or between two regions. A
new piece of furniture stands for each such place, so that the task planner can have it picked up
from there. Its stance set is a box around all those of the problem: what can't be reached from
there can't be reached. Nothing can be put there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np

from galley.domain.frames import Array, frozen
from galley.domain.pddl.formula import Fact, Literal
from galley.domain.pddl.model import ActionSchema, Domain, Object, Problem
from galley.domain.scene.model import Binding, Stance
from galley.domain.state import State, item_pose
from galley.planning import Semantics
from galley.skills import BoundAction, Skill, Workbench


@dataclass(frozen=True)
class FoundPlace:
    """A place that the problem has no name for.

    Attributes:
        binding: its new name.
        type: the PDDL type of the new object.
        fact: what holds of it: the item is on it, or the base near it.
        why: one sentence.
    """

    binding: Binding
    type: str
    fact: Fact
    why: str


@dataclass(frozen=True)
class FoundPlaces:
    """Finds names for places in one State.

    Attributes:
        bench: scene, robot, settings.
        domain, problem: the user's. bindings: of its objects. skills: by action.
        state: as observed.
    """

    bench: Workbench
    domain: Domain
    problem: Problem
    bindings: Mapping[str, Binding]
    skills: Mapping[str, Skill]
    state: State

    def of_item(self, thing: Binding) -> FoundPlace | None:
        """A place for an item; None where no action of the domain would take it from there."""
        name = self._unused(f"found_{thing.object}")
        place = Binding(name, "furniture", self.anywhere.name)
        for schema, literal, type_ in self._takers():
            skill = self.skills[schema.name]
            bound = self._bound(schema, skill, thing, place)
            if bound is None:
                continue
            refused = skill.impossible(self.bench, bound, self.state)
            if refused is not None and (refused.certificate or {}).get("kind") == "scene":
                continue  # it takes things from other places
            names = dict(zip((v.name for v in schema.parameters), bound.bindings, strict=True))
            args = tuple(names[arg].object for arg in literal.args)
            where = ", ".join(f"{v:.2f}" for v in self._at(thing))
            why = f"{thing.object} is at ({where}), where no object of the task is: called {name}"
            return FoundPlace(place, type_, Fact(literal.predicate, args), why)
        return None

    def of_base(self, predicate: str) -> FoundPlace | None:
        """A place for the base, which stands near nothing that the problem names."""
        declared = self.domain.predicate(predicate)
        if declared is None:
            return None
        base = self.state.q[self.bench.robot.slice("base")]
        place = Binding(self._unused("found_base"), "furniture", self.anywhere.name)
        why = f"the base stands near nothing at ({base[0]:.2f}, {base[1]:.2f}, {base[2]:.2f})"
        fact = Fact(predicate, (place.object,))
        return FoundPlace(place, declared.parameters[0].types[0], fact, why)

    @cached_property
    def anywhere(self) -> Stance:
        """A box around the stance sets of the problem's furniture."""
        scene = self.bench.scene
        targets = {b.target for b in self.bindings.values() if b.kind == "furniture"}
        stances = [scene.stance(name) for name in sorted(targets)] or list(scene.stances)
        name = "anywhere"
        while any(each.name == name for each in scene.stances):
            name += "_"
        lower = np.min([each.lower for each in stances], axis=0)
        upper = np.max([each.upper for each in stances], axis=0)
        return Stance(name, frozen(lower), frozen(upper))

    def _takers(self) -> Iterator[tuple[ActionSchema, Literal, str]]:
        """Actions that take an item, what they need of it and its place, and the place's type."""
        for schema in self.domain.actions:
            skill = self.skills.get(schema.name)
            if skill is None or skill.role.takes is None or skill.role.place is None:
                continue
            item = schema.parameters[skill.role.takes]
            place = schema.parameters[skill.role.place]
            for part in schema.precondition:
                if not isinstance(part, Literal) or not part.positive:
                    continue
                if sorted(part.args) == sorted((item.name, place.name)):
                    yield schema, part, place.types[0]

    def _bound(
        self, schema: ActionSchema, skill: Skill, thing: Binding, place: Binding
    ) -> BoundAction | None:
        """The action that takes the item from the place, whatever else it names."""
        semantics, found = Semantics(self.domain, self.problem), []
        for k, variable in enumerate(schema.parameters):
            others = semantics.objects(variable.types)
            if k == skill.role.takes:
                found.append(thing)
            elif k == skill.role.place:
                found.append(place)
            elif others:
                found.append(self.bindings[others[0]])
            else:
                return None
        return BoundAction(0, schema.name, tuple(found))

    def _at(self, thing: Binding) -> Array:
        """p_WI (3,) of an item that is not in the hand."""
        index = self.bench.scene.item_index[thing.target]
        X_WI = item_pose(self.bench.scene, self.state, index, np.eye(4))
        return np.asarray(X_WI[:3, 3])

    def _unused(self, name: str) -> str:
        while self.problem.object(name) is not None or name in self.bindings:
            name += "_"
        return name


def with_places(problem: Problem, domain: Domain, places: Sequence[FoundPlace]) -> Problem:
    """The problem with an object for each place; what costs depend on is as dear as elsewhere."""
    if not places:
        return problem
    new = tuple(Object(each.binding.object, each.type, problem.file, 0, 0) for each in places)
    whole = replace(problem, objects=problem.objects + new)
    if not problem.values:
        return whole
    values = dict(problem.values)
    semantics = Semantics(domain, whole)
    for function in domain.functions:
        known = [cost for term, cost in problem.values.items() if term.predicate == function.name]
        if not function.parameters or not known:
            continue
        every = (semantics.objects(variable.types) for variable in function.parameters)
        for args in product(*every):
            values.setdefault(Fact(function.name, args), max(known))
    return replace(whole, values=values)
