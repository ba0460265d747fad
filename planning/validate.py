"""Checks a plan against the lifted domain, sharing nothing with grounding and search.

It substitutes objects into schemas and works on sets of facts, so a mistake in the compiled
representation can't confirm itself here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from galley.domain.errors import did_you_mean
from galley.domain.pddl import EQUALITY, ActionSchema, Domain, Fact, Literal, Problem
from galley.planning.task import GroundAction

State = frozenset[Fact]


@dataclass(frozen=True)
class Validation:
    """The verdict on a plan.

    Attributes:
        valid: every action was applicable and the goal holds at the end.
        message: one sentence: the first failing action and precondition, or the missing goal.
        step: index of the first failing action, counted from 0; None where all are applicable.
        action: the first failing action.
        missing: literals that should hold and don't: preconditions of that action, or of the goal.
        states: the state before the first action and after each applicable one.
    """

    valid: bool
    message: str
    step: int | None
    action: GroundAction | None
    missing: tuple[Literal, ...]
    states: tuple[State, ...]


def validate(domain: Domain, problem: Problem, actions: Iterable[GroundAction]) -> Validation:
    """Executes ``actions`` from the initial state, up to the first that can't be."""
    states = [frozenset(problem.init)]
    count = 0
    for step, action in enumerate(actions):
        count = step + 1
        fault, missing = _fault(domain, problem, states[-1], action)
        if fault:
            message = f"step {count}, {action}: {fault}"
            return Validation(False, message, step, action, missing, tuple(states))
        schema = domain.action(action.name)
        assert schema is not None  # _fault has found it
        states.append(_apply(schema, action, states[-1]))
    missing = tuple(each for each in problem.goal if not _holds(each, states[-1]))
    if missing:
        listed = " and ".join(map(str, missing))
        message = f"all {count} actions are applicable, but at the end {listed} is not achieved"
        return Validation(False, message, None, None, missing, tuple(states))
    message = f"valid: {count} actions, and the goal holds at the end"
    return Validation(True, message, None, None, (), tuple(states))


def _fault(
    domain: Domain, problem: Problem, state: State, action: GroundAction
) -> tuple[str, tuple[Literal, ...]]:
    """Why ``action`` can't be done in ``state``; an empty text where it can."""
    schema = domain.action(action.name)
    if schema is None:
        hint = did_you_mean(action.name, [each.name for each in domain.actions])
        return f"the domain has no action '{action.name}'{hint}", ()
    if len(action.args) != len(schema.parameters):
        return f"'{schema.name}' takes {len(schema.parameters)} objects", ()
    for arg, parameter in zip(action.args, schema.parameters, strict=True):
        found = problem.object(arg)
        if found is None:
            hint = did_you_mean(arg, [each.name for each in problem.objects])
            return f"the problem has no object '{arg}'{hint}", ()
        if not domain.is_a(found.type, parameter.types):
            expected = " or ".join(parameter.types)
            return f"{parameter.name} must be of type {expected}, '{arg}' is {found.type}", ()
    binding = _binding(schema, action)
    conditions = (_substitute(each, binding) for each in schema.precondition)
    missing = tuple(each for each in conditions if not _holds(each, state))
    if missing:
        word = "preconditions" if len(missing) > 1 else "precondition"
        verb = "do" if len(missing) > 1 else "does"
        return f"{word} {' and '.join(map(str, missing))} {verb} not hold", missing
    return "", ()


def _binding(schema: ActionSchema, action: GroundAction) -> dict[str, str]:
    return {p.name: arg for p, arg in zip(schema.parameters, action.args, strict=True)}


def _substitute(literal: Literal, binding: dict[str, str]) -> Literal:
    fact = literal.ground(binding)
    return Literal(fact.predicate, fact.args, literal.positive, literal.line, literal.column)


def _holds(literal: Literal, state: State) -> bool:
    if literal.predicate == EQUALITY:
        return (literal.args[0] == literal.args[1]) == literal.positive
    return (literal.fact in state) == literal.positive


def _apply(schema: ActionSchema, action: GroundAction, state: State) -> State:
    binding = _binding(schema, action)
    added = {each.ground(binding) for each in schema.effect if each.positive}
    deleted = {each.ground(binding) for each in schema.effect if not each.positive}
    return (state - deleted) | added
