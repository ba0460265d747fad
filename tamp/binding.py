"""Binds a PDDL problem's objects to the scene, or says which can't be bound, and where."""

from __future__ import annotations

from collections.abc import Mapping

from galley.domain.errors import BadInput, InputError, did_you_mean
from galley.domain.failure import Failure
from galley.domain.pddl import Domain, Problem
from galley.domain.predicates import fact_holds
from galley.domain.scene import Binding, Scene
from galley.domain.state import State, initial_state
from galley.planning import GroundAction, Task
from galley.robots.kinematics import hand_pose
from galley.skills import SKILLS, BoundAction, Skill, Workbench
from galley.worlds.pybullet_world import PyBulletWorld

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
        wanted = _kinds(domain, (thing.type,))
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


def check_skills(domain: Domain, skills: Mapping[str, Skill]) -> None:
    """Raise BadInput if an action of the domain has no skill, or other parameters than its skill.

    Each fault stands at its action's line.
    """
    known = tuple(sorted(skills))
    errors = []
    for action in domain.actions:
        what = None
        if action.name not in skills:
            hint = did_you_mean(action.name, known) or f"; there are {', '.join(known)}"
            what = f"no skill carries out the action '{action.name}'{hint}"
        else:
            wanted = skills[action.name].parameters
            kinds = [_kinds(domain, variable.types) for variable in action.parameters]
            fits = len(kinds) == len(wanted) and all(
                not kind or want in kind for want, kind in zip(wanted, kinds, strict=True)
            )
            if not fits:
                what = f"the skill '{action.name}' takes ({', '.join(wanted)}), in this order"
        if what is not None:
            errors.append(InputError(domain.file, action.line, action.column, what))
    if errors:
        raise BadInput(errors)


def impossible_actions(
    scene: Scene, world: PyBulletWorld, task: Task, bindings: dict[str, Binding]
) -> dict[GroundAction, Failure]:
    """The ground actions that the scene rules out whatever the state, each with its certificate."""
    bench = Workbench(scene, world.robot, world)
    start = initial_state(scene)
    found = {}
    for operator in task.operators:
        (action,) = bind_plan((operator.action,), bindings)
        failed = SKILLS[action.name].impossible(bench, action, start)
        if failed is not None:
            found[operator.action] = failed.within(str(action))
    return found


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


def _kinds(domain: Domain, types: tuple[str, ...]) -> set[str]:
    """What things of these PDDL types are in a scene; empty if that isn't known."""
    above = {t for name in types for t in domain.supertypes(name)}
    return {_KIND_OF_TYPE[t] for t in above if t in _KIND_OF_TYPE}


def _a(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
