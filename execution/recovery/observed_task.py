"""The user's task from an observed State on, after execution deviated from the plan.

Facts with a geometric meaning are read from the geometry; the others are those that the executed
actions left, corrected by what is in the hand. The goal stays the user's.

Which facts say what a hand holds is up to the domain, but the effects of its taking and placing
actions reveal them. Where the symbols have another item in the hand than is observed, these effects
are applied, except those on furniture (``hand_facts``).

An item that has fallen over, or lies between two regions, stands on no object of the problem. Each
such place becomes a new piece of furniture, from which the item can be picked up (``AdHocPlaces``).
Its stance set is a box around all those of the problem, or where the base stands for an item that
fell onto it. Nothing can be placed there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np

from galley.domain.frames import frozen
from galley.domain.pddl.formula import Fact, Literal
from galley.domain.pddl.model import ActionSchema, Domain, Object, Problem
from galley.domain.predicates import state_facts
from galley.domain.scene.model import Binding, Stance
from galley.domain.state import State
from galley.planning import Semantics
from galley.skills.manipulation.context import PlanningContext
from galley.skills.skill import BoundAction, Role
from galley.tamp.task import TampTask

# Predicates with a meaning in metres (see ``domain.predicates``), and how many arguments they take.
_GEOMETRIC = {"near": 1, "on": 2, "in": 2, "inside": 2, "opened": 1, "grasp": 1}
PLACING = ("on", "in", "inside")


@dataclass(frozen=True)
class ObservedTask(TampTask):
    """The user's task from an observed State on: its problem begins with the facts that hold now.

    Attributes:
        scene: with the stance sets of ``places``.
        places: objects for places that had no name, in order.
    """

    places: tuple[AdHocPlace, ...] = ()

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
    hand_pose = context.robot.acting(state.hand).kinematics.hand_pose
    X_WH = hand_pose(state.q) if state.held is not None else np.eye(4)
    judged = state_facts(scene, state, names, bindings, X_WH)
    observed = {fact for fact, v in judged.items() if v.holds and _typed(domain, problem, fact)}
    items = {name: scene.item_index[b.target] for name, b in bindings.items() if b.kind == "item"}
    robot_hands = scene.robot.hands
    hands = {b.target: name for name, b in bindings.items() if b.kind == "hand"}
    holds = dict(zip(state.holds(robot_hands), robot_hands or ("",), strict=True))
    held = {n: hands.get(holds[index], "") for n, index in items.items() if index in holds}
    facts = {
        f for f in hand_facts(task, symbolic, held) if f not in judged and _has_objects(problem, f)
    }

    finder = AdHocPlaces(context, task, state)
    places: list[AdHocPlace] = []
    placed = {fact.args[0] for fact in observed if fact.predicate in PLACING}
    for name, binding in bindings.items():
        if binding.kind == "item" and name not in placed and name not in held:
            place = finder.of_item(binding)
            if place is not None:
                places.append(place)
    near = {fact for fact in observed if fact.predicate == "near"}
    believed = [fact for fact in symbolic if fact.predicate == "near" and fact in judged]
    lost = any(f.predicate == "near" and not _has_objects(problem, f) for f in symbolic)
    if len(believed) == 1 or lost:
        own = (p.binding.object for p in places if p.binding.target == finder.here.name)
        beside = (Fact("near", (name,)) for name in own)  # what lies on the base is taken first
        only = next(beside, None) or _nearest(near, believed, prefer, bindings)
        if only is None:
            place = finder.of_base("near")
            places += [place] if place is not None else []
        observed = (observed - near) | ({only} if only is not None else set())
    facts |= observed | {place.fact for place in places}
    order = {fact: k for k, fact in enumerate(problem.init)}
    init = tuple(sorted(facts, key=lambda fact: (order.get(fact, len(order)), fact)))
    whole = with_places(problem, domain, places)
    used = {place.binding.target for place in places}
    stances = tuple(s for s in (finder.anywhere, finder.here) if s.name in used)
    return ObservedTask(
        replace(scene, stances=scene.stances + stances),
        domain,
        replace(whole, init=init, init_places=((0, 0),) * len(init)),
        {**bindings, **{place.binding.object: place.binding for place in places}},
        task.skills,
        tuple(places),
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


def hand_facts(task: TampTask, facts: Collection[Fact], held: Mapping[str, str]) -> frozenset[Fact]:
    """The facts with exactly the items ``held`` in hands.

    What the symbols say of a hand is corrected by the effects of the action that would take or
    place the item and that is most nearly applicable.

    Args:
        held: items with the hand of each, by their PDDL names; an empty one is any hand.
    """
    state = frozenset(facts)
    items = [name for name, binding in task.bindings.items() if binding.kind == "item"]
    # First what is to leave a hand, if only for another.
    for item in items:
        takers = _takers(task, state, item)
        if takers and not (item in held and (not held[item] or takers & {"", held[item]})):
            state = _changed(task, state, "puts", item, "")
    for item, hand in held.items():
        if not _takers(task, state, item):
            state = _changed(task, state, "takes", item, hand)
    return state


def _changed(
    task: TampTask, state: frozenset[Fact], what: str, item: str, hand: str
) -> frozenset[Fact]:
    """The facts after a hand, or any, has taken or put down an item, as far as hands go."""
    changes = _hand_changes(task, state, what, item)
    changes = [each for each in changes if not hand or each[3] in ("", hand)]
    if not changes:
        return state
    _, added, deleted, _ = min(changes, key=lambda change: change[0])
    return (state - deleted) | added


def _takers(task: TampTask, state: frozenset[Fact], item: str) -> set[str]:
    """The hands in which the symbols have an item: all effects of taking it hold."""
    changes = _hand_changes(task, state, "takes", item)
    return {hand for _, added, _, hand in changes if added and added <= state}


def _hand_changes(
    task: TampTask, state: frozenset[Fact], what: str, item: str
) -> list[tuple[int, frozenset[Fact], frozenset[Fact], str]]:
    """What each action that takes (or puts) an item does to the facts about hands and items.

    Returns:
        The number of preconditions about these that do not hold, the facts that it adds and
        deletes, and the hand; for each hand, and one piece of furniture.
    """
    semantics, found = Semantics(task.domain, task.problem), []
    kinds = {name: binding.kind for name, binding in task.bindings.items()}

    def of_hand(fact: Fact) -> bool:
        return all(kinds.get(name) in ("hand", "item") for name in fact.args)

    for schema in task.domain.actions:
        skill = task.skills.get(schema.name)
        position = None if skill is None else getattr(skill.role, what)
        if position is None:
            continue
        choices = []
        for k, variable in enumerate(schema.parameters):
            fitting = semantics.objects(variable.types)
            if k == position:
                fitting = tuple(name for name in fitting if name == item)
            elif fitting and kinds.get(fitting[0]) != "hand":
                fitting = fitting[:1]
            choices.append(fitting)
        for args in product(*choices):
            names = (variable.name for variable in schema.parameters)
            bound = dict(zip(names, args, strict=True))
            conditions = [
                (literal.ground(bound), literal.positive)
                for literal in schema.precondition
                if isinstance(literal, Literal)
            ]
            missing = sum(of_hand(f) and (f in state) != positive for f, positive in conditions)
            changes = semantics.changes(schema.effect, bound, state)
            added, deleted = (frozenset(filter(of_hand, each)) for each in changes)
            hand = next((name for name in args if kinds.get(name) == "hand"), "")
            found.append((missing, added, deleted, hand))
    return found


@dataclass(frozen=True)
class AdHocPlace:
    """A place that the problem has no object for.

    Attributes:
        binding: of the new object. type: its PDDL type.
        fact: the item is on it, or the base near it.
    """

    binding: Binding
    type: str
    fact: Fact


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
        """A place for an item; None if no action of the domain takes or pushes it from there."""
        task = self.task
        name = self._unused(f"found_{thing.object}")
        index = self.context.scene.item_index[thing.target]
        fell = any(each.index == index for each in self.context.on_base)
        place = Binding(name, "furniture", (self.here if fell else self.anywhere).name)
        for schema in task.domain.actions:
            skill = task.skills.get(schema.name)
            role = Role() if skill is None else skill.role
            at = role.place if role.source is None else role.source
            if skill is None or role.removes is None or at is None:
                continue
            bound = self._bound(schema, {role.removes: thing, at: place})
            if bound is None:
                continue
            refused = skill.impossible(self.context.acting(self.state.hand), bound, self.state)
            if refused is not None and (refused.certificate or {}).get("kind") == "scene":
                continue  # it takes things from other places
            item, where = (schema.parameters[k].name for k in (role.removes, at))
            objects = {item: thing.object, where: name}
            for part in schema.precondition:
                if not isinstance(part, Literal) or not part.positive:
                    continue
                if sorted(part.args) == sorted(objects):
                    fact = Fact(part.predicate, tuple(objects[arg] for arg in part.args))
                    type_ = schema.parameters[at].types[0]
                    return AdHocPlace(place, type_, fact)
        return None

    def of_base(self, predicate: str) -> AdHocPlace | None:
        """A place for the base, which is near no object of the problem."""
        declared = self.task.domain.predicate(predicate)
        if declared is None:
            return None
        place = Binding(self._unused("found_base"), "furniture", self.anywhere.name)
        fact = Fact(predicate, (place.object,))
        return AdHocPlace(place, declared.parameters[0].types[0], fact)

    @cached_property
    def anywhere(self) -> Stance:
        """A box around the stance sets of the problem's furniture."""
        scene = self.context.scene
        targets = {b.target for b in self.task.bindings.values() if b.kind == "furniture"}
        stances = [scene.stance(name) for name in sorted(targets)] or list(scene.stances)
        lower = np.min([each.lower for each in stances], axis=0)
        upper = np.max([each.upper for each in stances], axis=0)
        return Stance(self._unused_stance("anywhere"), frozen(lower), frozen(upper))

    @cached_property
    def here(self) -> Stance:
        """Where the base stands."""
        base = frozen(self.state.q[self.context.robot.slice("base")])
        return Stance(self._unused_stance("here"), base, base)

    def _bound(self, schema: ActionSchema, given: Mapping[int, Binding]) -> BoundAction | None:
        """An action with some of its arguments given, the others arbitrary."""
        semantics, found = Semantics(self.task.domain, self.task.problem), []
        for k, variable in enumerate(schema.parameters):
            others = semantics.objects(variable.types)
            if k not in given and not others:
                return None
            found.append(given[k] if k in given else self.task.bindings[others[0]])
        return BoundAction(0, schema.name, tuple(found))

    def _unused_stance(self, name: str) -> str:
        while any(each.name == name for each in self.context.scene.stances):
            name += "_"
        return name

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
