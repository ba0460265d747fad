"""Binds a PDDL problem's objects to the scene, and checks that problem and scene agree."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import numpy as np

from galley.domain.errors import BadInput, InputError, did_you_mean
from galley.domain.frames import Array
from galley.domain.pddl.formula import Fact
from galley.domain.pddl.model import Domain, Problem
from galley.domain.predicates import corners, fact_holds, inside, on, opened, rests_on, state_facts
from galley.domain.scene.model import Binding, Region, Scene
from galley.domain.state import State, item_pose
from galley.planning import GroundAction
from galley.robots.catalog import robot_of
from galley.skills import SKILLS
from galley.skills.infeasibility.refusals import cannot_take, region_out_of_reach
from galley.skills.manipulation.context import PlanningContext
from galley.skills.manipulation.grasps import is_upright
from galley.skills.skill import BoundAction, Skill, region_of, stance_of
from galley.tamp.task import TampTask

# The kind in the scene of each PDDL type of the kitchen domains.
_KIND_OF_TYPE = {"furniture": "furniture", "objective": "item", "hand": "hand"}


def tamp_task(
    scene: Scene, domain: Domain, problem: Problem, skills: Mapping[str, Skill] = SKILLS
) -> TampTask:
    """The task with all objects of the problem bound to the scene.

    Raises:
        BadInput: an object can't be bound.
    """
    return TampTask(scene, domain, problem, bind(scene, domain, problem), skills)


def bind(scene: Scene, domain: Domain, problem: Problem) -> dict[str, Binding]:
    """The Binding of every object of the problem.

    Raises:
        BadInput: the scene binds an object to nothing, or to another kind than its type says.
    """
    known = {binding.object: binding for binding in scene.bindings}
    bound: dict[str, Binding] = {}
    errors = []
    for entry in problem.objects:
        binding = known.get(entry.name)
        if binding is None:
            hint = did_you_mean(entry.name, tuple(known))
            text = f"object '{entry.name}' has no binding in {scene.source}{hint}"
            errors.append(InputError(entry.file, entry.line, entry.column, text))
            continue
        allowed = _kinds(domain, (entry.type,))
        if allowed and binding.kind not in allowed:
            text = (
                f"object '{entry.name}' is {_a(entry.type)} here but {_a(binding.kind)} in "
                f"{scene.source}"
            )
            errors.append(InputError(entry.file, entry.line, entry.column, text))
            continue
        bound[entry.name] = binding
    if errors:
        raise BadInput(errors)
    return bound


def check_skills(domain: Domain, skills: Mapping[str, Skill]) -> None:
    """Check that each action of a domain has a skill that takes its parameters.

    Raises:
        BadInput: with the line of each action without one.
    """
    known = tuple(sorted(skills))
    errors = []
    for action in domain.actions:
        text = None
        if action.name not in skills:
            hint = did_you_mean(action.name, known) or f"; there are {', '.join(known)}"
            text = f"no skill carries out the action '{action.name}'{hint}"
        else:
            parameters = skills[action.name].parameters
            kinds = [_kinds(domain, variable.types) for variable in action.parameters]
            fits = len(kinds) == len(parameters) and all(
                not kind or want in kind for want, kind in zip(parameters, kinds, strict=True)
            )
            if not fits:
                text = f"the skill '{action.name}' takes ({', '.join(parameters)}), in this order"
        if text is not None:
            errors.append(InputError(domain.file, action.line, action.column, text))
    if errors:
        raise BadInput(errors)


def item_places(task: TampTask, state: State) -> list[tuple[str, str]]:
    """PDDL names of each item and of the furniture that it stands on or in, as pairs."""
    scene, bindings = task.scene, task.bindings
    X_WH = _hand(scene, state)
    pairs = []
    for place in bindings.values():
        if place.kind != "furniture" or place.region is None:
            continue
        region = scene.region(place.region)
        for thing in bindings.values():
            if thing.kind != "item":
                continue
            if region.kind == "volume":
                verdict = inside(scene, state, thing.target, region, None, X_WH)
            else:
                verdict = on(scene, state, thing.target, region, X_WH)
                if verdict.holds and _hangs_over(scene, state, thing.target, region, X_WH):
                    continue  # it overhangs, so it takes less room there than its size
            if verdict.holds:
                pairs.append((thing.object, place.object))
    return pairs


def _hangs_over(scene: Scene, state: State, name: str, region: Region, X_WH: Array) -> bool:
    """Whether no single box of a region holds the whole item, seen from above."""
    X_WI = item_pose(scene, state, scene.item_index[name], X_WH)
    X_BI = scene.in_parent(X_WI, region.body, state.scene_q)
    return not lies_within(
        (corners(scene.item(name)) @ X_BI[:3, :3].T + X_BI[:3, 3])[:, :2], region
    )


def lies_within(xy: Array, region: Region) -> bool:
    """Whether all points (n, 2), seen from above, lie in one of the region's boxes."""
    return any(
        (xy >= lower[:2] - 1e-9).all() and (xy <= upper[:2] + 1e-9).all()
        for lower, upper in region.boxes
    )


def open_furniture(task: TampTask, state: State) -> list[str]:
    """PDDL names of the furniture whose drawer or door is open."""
    scene = task.scene
    return [
        binding.object
        for binding in task.bindings.values()
        if binding.handle is not None
        and opened(scene, state, scene.handle(binding.handle).joint).holds
    ]


def movable_items(task: TampTask, state: State) -> set[int]:
    """Indices of the items that a plan could move.

    The problem names them, and either a hand can take them or an action of the domain pushes.
    """
    items = task.scene.item_index
    named = {items[b.target] for b in task.bindings.values() if b.kind == "item"}
    if task.pushes:
        return named
    grippers = [hand.gripper for hand in robot_of(task.scene.robot).hands]
    return {k for k in named if not all(cannot_take(task.scene, state, k, g) for g in grippers)}


def check_init(task: TampTask) -> list[str]:
    """Check that ``:init`` and the scene agree.

    Every fact of ``:init`` with a geometric meaning must hold, and every open drawer must be
    declared open. Facts without a geometric meaning (a hand is empty) are not checked.

    Returns:
        PDDL names of the items that are where ``:init`` has them, but lie where they should stand.

    Raises:
        BadInput: with each fact on which they disagree, and why.
    """
    scene, state, problem, bindings = task.scene, task.start, task.problem, task.bindings
    X_WH = _hand(scene, state)
    errors, lying = [], []
    for fact, (line, column) in zip(problem.init, problem.init_places, strict=True):
        arguments = tuple(bindings[name] for name in fact.args)
        verdict = fact_holds(scene, state, fact.predicate, arguments, X_WH)
        if verdict is not None and not verdict.holds and _lies_on(task, fact):
            lying.append(fact.args[0])
        elif verdict is not None and not verdict.holds:
            message = f"{fact} does not hold in {scene.source}: {verdict.why}"
            errors.append(InputError(problem.file, line, column, message))
    declared = {p.name: p.arity for p in task.domain.predicates if p.name == "opened"}
    for fact, verdict in state_facts(scene, state, declared, bindings, X_WH).items():
        if verdict.holds and fact not in problem.init:
            thing = problem.object(fact.args[0])
            line, column = (thing.line, thing.column) if thing is not None else (1, 1)
            message = f"{fact} holds in {scene.source} but is missing in :init: {verdict.why}"
            errors.append(InputError(problem.file, line, column, message))
    if errors:
        raise BadInput(errors)
    return lying


def _lies_on(task: TampTask, fact: Fact) -> bool:
    """Whether a fact ``on`` is false only because the item lies on the surface, not stands."""
    scene, state, bindings = task.scene, task.start, task.bindings
    place = bindings[fact.args[-1]]
    if fact.predicate != "on" or place.region is None or place.spot is not None:
        return False
    thing, region = bindings[fact.args[0]].target, scene.region(place.region)
    rests = rests_on(scene, state, thing, region, np.eye(4))
    return region.kind == "surface" and not is_upright(scene.item(thing).X_WI) and rests.holds


def out_of_reach(task: TampTask, context: PlanningContext) -> list[InputError]:
    """Places of a task where the robot can put down none of its items: an error for each."""
    scene, errors = task.scene, []
    items = [scene.item(b.target) for b in task.bindings.values() if b.kind == "item"]
    for name, place in task.bindings.items():
        region = region_of(context, place) if items else None
        if region is None:
            continue
        near = stance_of(context, place)
        views = [context.acting(hand) for hand in context.robot.views or ("",)]
        failures = [
            region_out_of_reach(view, i, region, near, spot=place.spot)
            for view, i in product(views, items)
        ]
        if all(failures):
            key = f"objects.{name}"
            file, line, column = scene.places.get(key) or (scene.source, None, None)
            errors.append(InputError(file, line, column, f"{key}: {failures[0]}"))
    return errors


def bind_plan(
    actions: tuple[GroundAction, ...], bindings: Mapping[str, Binding]
) -> tuple[BoundAction, ...]:
    """The plan's actions with their arguments bound to the scene, numbered in order."""
    return tuple(
        BoundAction(k, action.name, tuple(bindings[name] for name in action.args))
        for k, action in enumerate(actions)
    )


def _hand(scene: Scene, state: State) -> Array:
    """X_WH (4, 4), the pose of the acting hand; the identity if it holds nothing.

    Only a held item needs it, and forward kinematics takes a second to load.
    """
    if state.held is None:
        return np.eye(4)
    return robot_of(scene.robot).acting(state.hand).kinematics.hand_pose(state.q)


def _kinds(domain: Domain, types: tuple[str, ...]) -> set[str]:
    """Kinds in a scene that these PDDL types allow; an empty set allows any."""
    above = {t for name in types for t in domain.supertypes(name)}
    return {_KIND_OF_TYPE[t] for t in above if t in _KIND_OF_TYPE}


def _a(kind: str) -> str:
    """The word with its indefinite article."""
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
