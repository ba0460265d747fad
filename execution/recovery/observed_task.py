"""The user's task from an observed State on, after execution deviated from the plan.

Facts with a geometric meaning are read from the geometry; the others are those that the executed
actions left, corrected by what is in the hand. The goal stays the user's.

Which facts say what a hand holds is up to the domain, but the effects of its taking and placing
actions reveal them. Where the symbols have another item in the hand than is observed, these effects
are applied, except those on furniture (``HandFacts``).

An item that has fallen over, or lies between two regions, stands on no object of the problem. Each
such place becomes a new piece of furniture, from which the item can be picked up (``AdHocPlaces``).
Its stance set is a box around all those of the problem. Nothing can be placed there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np

from galley.domain.frames import Array, frozen
from galley.domain.pddl.formula import Fact, Literal
from galley.domain.pddl.model import ActionSchema, Domain, Object, Problem
from galley.domain.predicates import state_facts
from galley.domain.scene.model import Binding, Stance
from galley.domain.state import State, item_pose
from galley.planning import Semantics
from galley.robots.panda.mobile import hand_pose
from galley.skills.manipulation.context import PlanningContext
from galley.skills.skill import BoundAction, Skill
from galley.tamp.task import TampTask

# Predicates with a meaning in metres (see ``domain.predicates``), and how many arguments they take.
_GEOMETRIC = {"near": 1, "on": 2, "in": 2, "inside": 2, "opened": 1, "grasp": 1}
PLACING = ("on", "in", "inside")


@dataclass(frozen=True)
class ObservedTask(TampTask):
    """The user's task from an observed State on: its problem begins with the facts that hold now.

    Attributes:
        places: objects for places that had no name, in order.
        stances: the sets that they are reached from, added to the scene.
    """

    places: tuple[AdHocPlace, ...] = ()
    stances: tuple[Stance, ...] = ()

    @property
    def facts(self) -> frozenset[Fact]:
        """The facts that hold now."""
        return frozenset(self.problem.init)


def observed_task(
    context: PlanningContext,
    task: TampTask,
    state: State,
    symbolic: Collection[Fact],
    prefer: Sequence[str] = (),
) -> ObservedTask:
    """The task from ``state`` on.

    An item in no place of the problem gets a new one. If the symbols have the base near one place,
    so has the new task: that one if the base is still near it, else one of ``prefer``, else any
    that it is near, else a new one.

    Args:
        context: robot, world. task: the user's.
        state: as observed.
        symbolic: the facts after the executed actions, by their effects.
        prefer: PDDL names of furniture, best first.
    """
    scene, domain, problem, bindings = task.scene, task.domain, task.problem, task.bindings
    names = {
        predicate.name: predicate.arity
        for predicate in domain.predicates
        if _GEOMETRIC.get(predicate.name) == predicate.arity
    }
    X_WH = hand_pose(state.q, scene.robot.base) if state.held is not None else np.eye(4)
    judged = state_facts(scene, state, names, bindings, X_WH)
    observed = {fact for fact, v in judged.items() if v.holds and _typed(domain, problem, fact)}
    held = next(
        (
            name
            for name, b in bindings.items()
            if b.kind == "item" and scene.item_index[b.target] == state.held
        ),
        None,
    )
    hands = HandFacts(task)
    facts = {
        f for f in hands.corrected(symbolic, held) if f not in judged and _has_objects(problem, f)
    }

    finder = AdHocPlaces(context, task, state)
    places: list[AdHocPlace] = []
    placed = {fact.args[0] for fact in observed if fact.predicate in PLACING}
    for name, binding in bindings.items():
        if binding.kind == "item" and name not in placed and name != held:
            place = finder.of_item(binding)
            if place is not None:
                places.append(place)
    near = {fact for fact in observed if fact.predicate == "near"}
    believed = [fact for fact in symbolic if fact.predicate == "near" and fact in judged]
    lost = any(f.predicate == "near" and not _has_objects(problem, f) for f in symbolic)
    if len(believed) == 1 or lost:
        only = _nearest(near, believed, prefer, bindings)
        if only is None:
            place = finder.of_base("near")
            places += [place] if place is not None else []
        observed = (observed - near) | ({only} if only is not None else set())
    facts |= observed | {place.fact for place in places}
    order = {fact: k for k, fact in enumerate(problem.init)}
    init = tuple(sorted(facts, key=lambda fact: (order.get(fact, len(order)), fact)))
    whole = with_places(problem, domain, places)
    stances = (finder.anywhere,) if places else ()
    return ObservedTask(
        replace(scene, stances=scene.stances + stances),
        domain,
        replace(whole, init=init, init_places=((0, 0),) * len(init)),
        {**bindings, **{place.binding.object: place.binding for place in places}},
        task.skills,
        tuple(places),
        stances,
    )


def _nearest(
    near: Collection[Fact],
    believed: Sequence[Fact],
    prefer: Sequence[str],
    bindings: Mapping[str, Binding],
) -> Fact | None:
    """The fact for the place that the base counts as near, or None."""
    candidates = [fact.args[0] for fact in believed] + list(prefer) + list(bindings)
    return next(
        (Fact("near", (name,)) for name in candidates if Fact("near", (name,)) in near), None
    )


def _typed(domain: Domain, problem: Problem, fact: Fact) -> bool:
    """Whether a fact's arguments have the types that its predicate declares."""
    declared = domain.predicate(fact.predicate)
    objects = [problem.object(name) for name in fact.args]
    return declared is not None and all(
        thing is not None and domain.is_a(thing.type, variable.types)
        for thing, variable in zip(objects, declared.parameters, strict=True)
    )


def _has_objects(problem: Problem, fact: Fact) -> bool:
    """Whether the problem has all objects of a fact: an earlier ad hoc place may be gone."""
    return all(problem.object(name) is not None for name in fact.args)


@dataclass(frozen=True)
class HandFacts:
    """Corrects the holding facts of a task from observation.

    Attributes:
        task: whose objects and actions they are about.
    """

    task: TampTask

    def corrected(self, facts: Collection[Fact], held: str | None) -> frozenset[Fact]:
        """The facts with exactly the item ``held`` (a PDDL name) in a hand, or none."""
        state = frozenset(facts)
        for item in self._held_by_symbols(state):
            if item != held:
                state = self._changed(state, "puts", item)
        if held is not None and held not in self._held_by_symbols(state):
            state = self._changed(state, "takes", held)
        return state

    def _held_by_symbols(self, state: frozenset[Fact]) -> list[str]:
        """The items that the symbols have in a hand: all effects of taking them hold."""
        found = []
        for item, binding in self.task.bindings.items():
            if binding.kind != "item":
                continue
            for schema, bound in self._groundings("takes", item):
                added = self._changes(schema, bound, state)[0]
                if added and added <= state:
                    found.append(item)
                    break
        return found

    def _changed(self, state: frozenset[Fact], what: str, item: str) -> frozenset[Fact]:
        """The facts after taking or placing an item, by the most nearly applicable action."""
        best: tuple[int, frozenset[Fact]] | None = None
        for schema, bound in self._groundings(what, item):
            added, deleted = self._changes(schema, bound, state)
            missing = sum(
                (literal.ground(bound) in state) != literal.positive
                for literal in schema.precondition
                if isinstance(literal, Literal) and self._of_hand(literal.ground(bound))
            )
            if best is None or missing < best[0]:
                best = missing, (state - deleted) | added
        return state if best is None else best[1]

    def _groundings(self, what: str, item: str) -> Iterator[tuple[ActionSchema, dict[str, str]]]:
        """Ground actions that take (or place) an item, for each hand and one piece of furniture."""
        semantics = Semantics(self.task.domain, self.task.problem)
        for schema in self.task.domain.actions:
            skill = self.task.skills.get(schema.name)
            position = None if skill is None else getattr(skill.role, what)
            if position is None:
                continue
            choices = []
            for k, variable in enumerate(schema.parameters):
                fitting = semantics.objects(variable.types)
                if k == position:
                    fitting = tuple(name for name in fitting if name == item)
                elif fitting and self._kind(fitting[0]) != "hand":
                    fitting = fitting[:1]
                choices.append(fitting)
            names = [variable.name for variable in schema.parameters]
            for args in product(*choices):
                yield schema, dict(zip(names, args, strict=True))

    def _changes(
        self, schema: ActionSchema, bound: Mapping[str, str], state: frozenset[Fact]
    ) -> tuple[frozenset[Fact], frozenset[Fact]]:
        """Facts that an action adds and deletes, except those on furniture."""
        semantics = Semantics(self.task.domain, self.task.problem)
        added, deleted = semantics.changes(schema.effect, bound, state)
        return (
            frozenset(fact for fact in added if self._of_hand(fact)),
            frozenset(fact for fact in deleted if self._of_hand(fact)),
        )

    def _of_hand(self, fact: Fact) -> bool:
        return all(self._kind(name) in ("hand", "item") for name in fact.args)

    def _kind(self, name: str) -> str:
        binding = self.task.bindings.get(name)
        return "" if binding is None else binding.kind


@dataclass(frozen=True)
class AdHocPlace:
    """A place that the problem has no object for.

    Attributes:
        binding: of the new object. type: its PDDL type.
        fact: the item is on it, or the base near it.
        why: one sentence.
    """

    binding: Binding
    type: str
    fact: Fact
    why: str


@dataclass(frozen=True)
class AdHocPlaces:
    """Makes ad hoc places for one State.

    Attributes:
        context: robot, settings. task: the user's.
        state: as observed.
    """

    context: PlanningContext
    task: TampTask
    state: State

    def of_item(self, thing: Binding) -> AdHocPlace | None:
        """A place for an item; None if no action of the domain takes it from there."""
        name = self._unused(f"found_{thing.object}")
        place = Binding(name, "furniture", self.anywhere.name)
        for schema, literal, type_ in self._taking_actions():
            skill = self.task.skills[schema.name]
            bound = self._bound(schema, skill, thing, place)
            if bound is None:
                continue
            refused = skill.impossible(self.context, bound, self.state)
            if refused is not None and (refused.certificate or {}).get("kind") == "scene":
                continue  # it takes things from other places
            names = dict(zip((v.name for v in schema.parameters), bound.bindings, strict=True))
            args = tuple(names[arg].object for arg in literal.args)
            where = ", ".join(f"{v:.2f}" for v in self._at(thing))
            why = f"{thing.object} is at ({where}), where no object of the task is: called {name}"
            return AdHocPlace(place, type_, Fact(literal.predicate, args), why)
        return None

    def of_base(self, predicate: str) -> AdHocPlace | None:
        """A place for the base, which is near no object of the problem."""
        declared = self.task.domain.predicate(predicate)
        if declared is None:
            return None
        base = self.state.q[self.context.robot.slice("base")]
        place = Binding(self._unused("found_base"), "furniture", self.anywhere.name)
        why = f"the base stands near nothing at ({base[0]:.2f}, {base[1]:.2f}, {base[2]:.2f})"
        fact = Fact(predicate, (place.object,))
        return AdHocPlace(place, declared.parameters[0].types[0], fact, why)

    @cached_property
    def anywhere(self) -> Stance:
        """A box around the stance sets of the problem's furniture."""
        scene = self.context.scene
        targets = {b.target for b in self.task.bindings.values() if b.kind == "furniture"}
        stances = [scene.stance(name) for name in sorted(targets)] or list(scene.stances)
        name = "anywhere"
        while any(each.name == name for each in scene.stances):
            name += "_"
        lower = np.min([each.lower for each in stances], axis=0)
        upper = np.max([each.upper for each in stances], axis=0)
        return Stance(name, frozen(lower), frozen(upper))

    def _taking_actions(self) -> Iterator[tuple[ActionSchema, Literal, str]]:
        """Actions that take an item, their precondition on item and place, and the place's type."""
        for schema in self.task.domain.actions:
            skill = self.task.skills.get(schema.name)
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
        """The action that takes the item from the place, other arguments arbitrary."""
        semantics, found = Semantics(self.task.domain, self.task.problem), []
        for k, variable in enumerate(schema.parameters):
            others = semantics.objects(variable.types)
            if k == skill.role.takes:
                found.append(thing)
            elif k == skill.role.place:
                found.append(place)
            elif others:
                found.append(self.task.bindings[others[0]])
            else:
                return None
        return BoundAction(0, schema.name, tuple(found))

    def _at(self, thing: Binding) -> Array:
        """p_WI (3,) of an item that is not in the hand."""
        index = self.context.scene.item_index[thing.target]
        X_WI = item_pose(self.context.scene, self.state, index, np.eye(4))
        return np.asarray(X_WI[:3, 3])

    def _unused(self, name: str) -> str:
        while self.task.problem.object(name) is not None or name in self.task.bindings:
            name += "_"
        return name


def with_places(problem: Problem, domain: Domain, places: Sequence[AdHocPlace]) -> Problem:
    """The problem with an object for each place; new places get the largest known cost."""
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
