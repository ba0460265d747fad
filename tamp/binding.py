"""Binds a PDDL problem's objects to the scene, or says which can't be bound, and where."""

from __future__ import annotations

from collections.abc import Collection

from galley.domain.errors import BadInput, InputError, did_you_mean
from galley.domain.pddl import Domain, Problem
from galley.domain.predicates import fact_holds
from galley.domain.scene import Binding, Scene
from galley.domain.state import State
from galley.planning import GroundAction
from galley.robots.kinematics import hand_pose
from galley.skills.skill import BoundAction

# What a PDDL type of the kitchen domains means in the scene.
_KIND_OF_TYPE = {"furniture": "furniture", "objective": "item", "hand": "hand"}


def bind(scene: Scene, domain: Domain, problem: Problem) -> dict[str, Binding]:
    """The Binding of every object of the problem.

    Raises:
        BadInput: an object maps to nothing, or to a thing of another kind than its type says.
    """
    known = {binding.object: binding for binding in scene.bindings}
    found: dict[str, Binding] = {}
    errors = []
    for thing in problem.objects:
        binding = known.get(thing.name)
        if binding is None:
            hint = did_you_mean(thing.name, tuple(known))
            what = f"object '{thing.name}' maps to nothing in {scene.source}{hint}"
            errors.append(InputError(thing.file, thing.line, thing.column, what))
            continue
        wanted = {_KIND_OF_TYPE[t] for t in domain.supertypes(thing.type) if t in _KIND_OF_TYPE}
        if wanted and binding.kind not in wanted:
            what = (
                f"object '{thing.name}' is {_a(thing.type)} here but {_a(binding.kind)} in "
                f"{scene.source}"
            )
            errors.append(InputError(thing.file, thing.line, thing.column, what))
            continue
        found[thing.name] = binding
    if errors:
        raise BadInput(errors)
    return found


def check_skills(domain: Domain, skills: Collection[str]) -> None:
    """Raise BadInput if the domain has an action that no skill carries out, naming each."""
    known = tuple(sorted(skills))
    errors = [
        InputError(
            domain.file,
            action.line,
            action.column,
            f"no skill carries out the action '{action.name}'"
            f"{did_you_mean(action.name, known) or '; there are ' + ', '.join(known)}",
        )
        for action in domain.actions
        if action.name not in known
    ]
    if errors:
        raise BadInput(errors)


def check_init(scene: Scene, state: State, problem: Problem, bindings: dict[str, Binding]) -> None:
    """Raise BadInput if a fact of ``:init`` does not hold in the scene, naming each and why.

    Facts without a geometric meaning (a hand is empty) are left to the domain.
    """
    X_WH = hand_pose(state.q, scene.robot.base)
    errors = []
    for fact, (line, column) in zip(problem.init, problem.init_places, strict=True):
        arguments = tuple(bindings[name] for name in fact.args)
        verdict = fact_holds(scene, state, fact.predicate, arguments, X_WH)
        if verdict is not None and not verdict.holds:
            what = f"{fact} does not hold in {scene.source}: {verdict.why}"
            errors.append(InputError(problem.file, line, column, what))
    if errors:
        raise BadInput(errors)


def bind_plan(
    actions: tuple[GroundAction, ...], bindings: dict[str, Binding]
) -> tuple[BoundAction, ...]:
    """The plan's actions with their arguments bound."""
    return tuple(
        BoundAction(k, action.name, tuple(bindings[name] for name in action.args))
        for k, action in enumerate(actions)
    )


def _a(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
