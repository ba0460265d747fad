"""What a domain and problem must not use for PDDLGym 0.0.7 to read them as they are meant.

Its parser takes more than its engine can execute: disjunctions and quantifiers in conditions are
handed to SWI-Prolog, objects of subtypes, or in no fact, being left out; a fact about constants
alone is never checked. Other constructs it fails on with an exception that says little. Each is
refused here by name, from our own reading, before PDDLGym sees a file. PDDLGym is not imported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from galley.domain.formula import (
    And,
    Effect,
    Exists,
    Forall,
    ForEach,
    Formula,
    Imply,
    Literal,
    Or,
    When,
)
from galley.domain.pddl import ActionSchema, Domain, Problem
from galley.planning.operators import GroundAction


def beyond_pddlgym(domain: Domain, problem: Problem, actions: Iterable[GroundAction]) -> str:
    """Why PDDLGym can't judge a plan, in one line; empty where nothing is known against it.

    Args:
        domain: the domain.
        problem: the problem.
        actions: the plan; what can be read but not executed does no harm in other actions.
    """
    used = {each.name for each in actions}
    found = list(_in_declarations(domain))
    for schema in domain.actions:
        found += (f"{what} in action '{schema.name}'" for what in _in_action(domain, schema))
        if schema.name in used:
            found += (f"{what} of action '{schema.name}'" for what in _unchecked(schema))
    found += (f"{what} in the goal" for what in _in_conditions(problem.goal))
    if problem.metric or problem.values:
        found.append("action costs in the problem")
    return f"PDDLGym can't represent {found[0]}" if found else ""


def _in_declarations(domain: Domain) -> Iterator[str]:
    for predicate in domain.predicates:
        if predicate.name == "probabilistic":  # it would read the fact as an effect of chance
            yield "a predicate named 'probabilistic'"
        for variable in predicate.parameters:
            if len(variable.types) > 1:
                yield f"'either' in predicate '{predicate.name}'"
    names = {each.name for each in domain.predicates}
    for action in domain.actions:
        if action.name in names:
            yield f"a predicate and an action of one name, '{action.name}'"


def _in_action(domain: Domain, schema: ActionSchema) -> Iterator[str]:
    """What it fails on in an action that it reads, whether or not the plan has it."""
    for parameter in schema.parameters:
        if len(parameter.types) > 1:
            yield "'either'"
        if domain.types and "-" in parameter.name:
            yield f"the dash in '{parameter.name}'"
    if schema.cost:
        yield "action costs"
    yield from _in_conditions(schema.precondition)
    yield from _in_effects(schema.effect)


def _in_conditions(formulas: Iterable[Formula]) -> Iterator[str]:
    names = {Or: "a disjunction", Imply: "an implication", Exists: "'exists'", Forall: "'forall'"}
    for formula in formulas:
        if isinstance(formula, And):
            yield from _in_conditions(formula.parts)
        elif not isinstance(formula, Literal):
            yield names.get(type(formula), "a negated formula")


def _in_effects(effects: Iterable[Effect]) -> Iterator[str]:
    for effect in effects:
        if isinstance(effect, When):
            yield "a conditional effect"
        elif isinstance(effect, ForEach):
            yield "a universal effect"


def _unchecked(schema: ActionSchema) -> Iterator[str]:
    """Preconditions on which its inference gives up, or which it passes over."""
    for literal in schema.precondition:
        if not isinstance(literal, Literal) or not literal.args:
            continue
        if len(set(literal.args)) < len(literal.args):
            yield f"the repeated argument in precondition {literal}"
        elif not any(arg.startswith("?") for arg in literal.args):
            yield f"precondition {literal}, about constants alone,"
