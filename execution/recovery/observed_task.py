"""The observed task: the user's task from an observed State on, after a deviation from the plan.

Its initial facts are observed as far as they have a geometric meaning. The others are the facts
after the executed actions, by their effects, corrected by the items in the hands. The goal is the
user's.

The domain decides which facts say that a hand holds an item, but the effects of its actions that
pick and place show them. If the symbolic facts have a hand hold another item than the observed one,
these effects are applied, except those on furniture (``hand_facts``).

An item that has fallen over, or lies between two regions, stands on no object of the problem. Each
such place becomes a new piece of furniture, from which the item can be picked up (``AdHocPlaces``),
but on which nothing can be placed. Its stance set is a box around all stance sets of the problem.
For an item that fell onto the base it is the current base pose.
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

# The predicates with a geometric meaning (see ``domain.predicates``), with their arity.
_GEOMETRIC = {"near": 1, "on": 2, "in": 2, "inside": 2, "opened": 1, "grasp": 1}
PLACING = ("on", "in", "inside")


@dataclass(frozen=True)
class ObservedTask(TampTask):
    """The user's task from an observed State on: the initial facts are those that hold now.

    Attributes:
        scene: the user's scene, with the stance sets of ``places``.
        places: new objects for places that the problem has no object for, in order.
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

    An item in no place of the problem gets a new place. If by the symbolic facts the base is near
    exactly one place, it is near exactly one in the new task, too: the same if it still is, else
    the first of ``prefer`` that it is near, else any that it is near, else a new one.

    Args:
        context: robot, world and settings of the planner.
        task: the user's task.
        state: the observed State.
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
    # The base was near a new place of an earlier recovery, which this task doesn't have.
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
    extended = with_places(problem, domain, places)
    used = {place.binding.target for place in places}
    stances = tuple(s for s in (finder.anywhere, finder.here) if s.name in used)
    return ObservedTask(
        replace(scene, stances=scene.stances + stances),
        domain,
        replace(extended, init=init, init_places=((0, 0),) * len(init)),
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
    """The fact of the one place that the base counts as near; None if it is near none.

    The best is a place believed near, then one preferred, then any with a name.
    """
    candidates = [fact.args[0] for fact in believed] + list(prefer) + list(bindings)
    return next(
        (Fact("near", (name,)) for name in candidates if Fact("near", (name,)) in near), None
    )


def _typed(domain: Domain, problem: Problem, fact: Fact) -> bool:
    """Whether a fact's arguments have the types that its predicate declares."""
    declared = domain.predicate(fact.predicate)
    objects = [problem.object(name) for name in fact.args]
    return declared is not None and all(
        each is not None and domain.is_a(each.type, variable.types)
        for each, variable in zip(objects, declared.parameters, strict=True)
    )


def _has_objects(problem: Problem, fact: Fact) -> bool:
    """Whether the problem has all objects of a fact: an earlier ad hoc place may be gone."""
    return all(problem.object(name) is not None for name in fact.args)


def hand_facts(task: TampTask, facts: Collection[Fact], held: Mapping[str, str]) -> frozenset[Fact]:
    """The facts corrected so that exactly the items of ``held`` are in hands.

    The correction is the effect of an action that takes or places the item: of the one with the
    fewest preconditions that don't hold.

    Args:
        task: the user's task.
        facts: the symbolic facts.
        held: the hand of each held item, by PDDL names; an empty name stands for any hand.
    """
    state = frozenset(facts)
    items = [name for name, binding in task.bindings.items() if binding.kind == "item"]
    # First put down the items that are in a hand by the facts, but not in the observed one.
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
    """The facts after a hand has taken or put down an item, apart from facts about furniture.

    ``what`` is ``takes`` or ``puts``; an empty ``hand`` stands for any hand.
    """
    changes = _hand_changes(task, state, what, item)
    changes = [change for change in changes if not hand or change[3] in ("", hand)]
    if not changes:
        return state
    _, added, deleted, _ = min(changes, key=lambda change: change[0])
    return (state - deleted) | added


def _takers(task: TampTask, state: frozenset[Fact], item: str) -> set[str]:
    """The hands that hold an item by the facts: all effects of taking it with them are true."""
    changes = _hand_changes(task, state, "takes", item)
    return {hand for _, added, _, hand in changes if added and added <= state}


def _hand_changes(
    task: TampTask, state: frozenset[Fact], what: str, item: str
) -> list[tuple[int, frozenset[Fact], frozenset[Fact], str]]:
    """The effects on facts about hands and items of each action that takes (or puts) an item.

    Returns:
        For each action and hand, with one arbitrary piece of furniture: the number of preconditions
        about hands and items that don't hold, the facts added, the facts deleted, and the hand.
    """
    semantics, hand_changes = Semantics(task.domain, task.problem), []
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
            added, deleted = (frozenset(filter(of_hand, facts)) for facts in changes)
            hand = next((name for name in args if kinds.get(name) == "hand"), "")
            hand_changes.append((missing, added, deleted, hand))
    return hand_changes


@dataclass(frozen=True)
class AdHocPlace:
    """A place that the problem has no object for.

    Attributes:
        binding: the binding of the new object.
        type: the PDDL type of the new object.
        fact: the fact that the item is on it, or that the base is near it.
    """

    binding: Binding
    type: str
    fact: Fact


@dataclass(frozen=True)
class AdHocPlaces:
    """Makes ad hoc places for one State.

    Attributes:
        context: robot, world and settings of the planner.
        task: the user's task.
        state: the observed State.
    """

    context: PlanningContext
    task: TampTask
    state: State

    def of_item(self, thing: Binding) -> AdHocPlace | None:
        """A place for an item; None if no action of the domain takes or pushes it from there.

        The new object gets the type of the action's parameter for the place, and the fact is the
        precondition of the action that relates item and place, such as ``(on ?item ?place)``.
        """
        task = self.task
        name = self._unused(f"found_{thing.object}")
        index = self.context.scene.item_index[thing.target]
        fell = any(fallen.index == index for fallen in self.context.on_base)
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
                continue  # it takes items from other kinds of furniture
            item, source = (schema.parameters[k].name for k in (role.removes, at))
            objects = {item: thing.object, source: name}
            for part in schema.precondition:
                if not isinstance(part, Literal) or not part.positive:
                    continue
                if sorted(part.args) == sorted(objects):
                    fact = Fact(part.predicate, tuple(objects[arg] for arg in part.args))
                    type_ = schema.parameters[at].types[0]
                    return AdHocPlace(place, type_, fact)
        return None

    def of_base(self, predicate: str) -> AdHocPlace | None:
        """A place for the base, which is near no object of the problem; None without ``near``."""
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
        lower = np.min([stance.lower for stance in stances], axis=0)
        upper = np.max([stance.upper for stance in stances], axis=0)
        return Stance(self._unused_stance("anywhere"), frozen(lower), frozen(upper))

    @cached_property
    def here(self) -> Stance:
        """The stance set that has only the current base pose."""
        base = frozen(self.state.q[self.context.robot.slice("base")])
        return Stance(self._unused_stance("here"), base, base)

    def _bound(self, schema: ActionSchema, given: Mapping[int, Binding]) -> BoundAction | None:
        """An action with some of its arguments given, by position, and the others arbitrary.

        None if the problem has no object of a type that is needed.
        """
        semantics, args = Semantics(self.task.domain, self.task.problem), []
        for k, variable in enumerate(schema.parameters):
            others = semantics.objects(variable.types)
            if k not in given and not others:
                return None
            args.append(given[k] if k in given else self.task.bindings[others[0]])
        return BoundAction(0, schema.name, tuple(args))

    def _unused_stance(self, name: str) -> str:
        """``name``, with underscores added until no stance set has it."""
        while any(stance.name == name for stance in self.context.scene.stances):
            name += "_"
        return name

    def _unused(self, name: str) -> str:
        """``name``, with underscores added until no PDDL object has it."""
        while self.task.problem.object(name) is not None or name in self.task.bindings:
            name += "_"
        return name


def with_places(problem: Problem, domain: Domain, places: Sequence[AdHocPlace]) -> Problem:
    """The problem with an object for each place.

    Function terms of new objects, such as the distance to one, get the largest value known of their
    function.
    """
    if not places:
        return problem
    new = tuple(Object(place.binding.object, place.type, problem.file, 0, 0) for place in places)
    extended = replace(problem, objects=problem.objects + new)
    if not problem.values:
        return extended
    values = dict(problem.values)
    semantics = Semantics(domain, extended)
    for function in domain.functions:
        known = [cost for term, cost in problem.values.items() if term.predicate == function.name]
        if not function.parameters or not known:
            continue
        every = (semantics.objects(variable.types) for variable in function.parameters)
        for args in product(*every):
            values.setdefault(Fact(function.name, args), max(known))
    return replace(extended, values=values)
