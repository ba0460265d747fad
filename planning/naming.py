"""From what a caller writes to actions, facts and goals of a task, checked against its names."""

from __future__ import annotations

from collections.abc import Sequence

from galley.domain.errors import did_you_mean
from galley.domain.formula import EQUALITY, Fact, Formula, Literal, Variable
from galley.domain.goal_text import read_goal_text
from galley.domain.pddl import Domain, Problem
from galley.domain.sexpr import SList, parse_sexprs
from galley.planning.operators import GroundAction


def action_of(domain: Domain, problem: Problem, given: GroundAction | str) -> GroundAction:
    """The ground action that ``given`` names.

    Raises:
        ValueError: it is not one of the domain's actions applied to the problem's objects.
    """
    if not isinstance(given, GroundAction | str):
        raise TypeError(f"expected an action or its text, got {given!r}")
    action = given if isinstance(given, GroundAction) else GroundAction(*_words(given, "an action"))
    schema = domain.action(action.name)
    if schema is None:
        hint = did_you_mean(action.name, [each.name for each in domain.actions])
        raise ValueError(f"the domain has no action '{action.name}'{hint}")
    _check_objects(domain, problem, action.args, schema.parameters, str(action))
    return action


def fact_of(domain: Domain, problem: Problem, given: Fact | str) -> Fact:
    """The fact that ``given`` names.

    Raises:
        ValueError: it is not one of the domain's predicates applied to the problem's objects.
    """
    if not isinstance(given, Fact | str):
        raise TypeError(f"expected a fact or its text, got {given!r}")
    fact = Fact(*_words(given, "a fact")) if isinstance(given, str) else given
    predicate = domain.predicate(fact.predicate)
    if predicate is None:
        hint = did_you_mean(fact.predicate, [each.name for each in domain.predicates])
        raise ValueError(f"the domain has no predicate '{fact.predicate}'{hint}")
    _check_objects(domain, problem, fact.args, predicate.parameters, str(fact))
    return fact


def goal_of(
    domain: Domain, problem: Problem, given: Sequence[Formula | Fact | str]
) -> tuple[Formula, ...]:
    """The goal that asks for all of ``given``, flattened.

    Raises:
        ValueError: a name is not declared (BadInput, with line and column, for text).
    """
    goal: dict[Formula, None] = {}
    for each in given:
        if isinstance(each, str):
            goal.update(dict.fromkeys(read_goal_text(each, domain, problem)))
        elif isinstance(each, Fact):
            goal[Literal(*fact_of(domain, problem, each))] = None
        elif not isinstance(each, Formula):
            raise TypeError(f"expected a formula, a fact or its text, got {each!r}")
        else:
            if isinstance(each, Literal) and each.predicate != EQUALITY:
                fact_of(domain, problem, each.fact)
            goal[each] = None
    for formula in goal:
        opposite = isinstance(formula, Literal) and Literal(
            formula.predicate, formula.args, not formula.positive
        )
        if opposite in goal:
            raise ValueError(f"the goal asks for {formula} and {opposite}")
    return tuple(goal)


def _words(text: str, what: str) -> tuple[str, tuple[str, ...]]:
    nodes = parse_sexprs(text, what)
    node = nodes[0] if len(nodes) == 1 else None
    if (
        not isinstance(node, SList)
        or not node.items
        or any(isinstance(i, SList) for i in node.items)
    ):
        raise ValueError(f"expected {what} such as (name object ...), got '{text}'")
    head, *args = (str(item) for item in node.items)
    return head, tuple(args)


def _check_objects(
    domain: Domain,
    problem: Problem,
    args: tuple[str, ...],
    parameters: tuple[Variable, ...],
    where: str,
) -> None:
    if len(args) != len(parameters):
        raise ValueError(f"{where}: expected {len(parameters)} objects, got {len(args)}")
    for arg, parameter in zip(args, parameters, strict=True):
        found = problem.object(arg)
        if found is None:
            hint = did_you_mean(arg, [each.name for each in problem.objects])
            raise ValueError(f"{where}: the problem has no object '{arg}'{hint}")
        if not domain.is_a(found.type, parameter.types):
            expected = " or ".join(parameter.types)
            what = f"{parameter.name} must be of type {expected}, '{arg}' is {found.type}"
            raise ValueError(f"{where}: {what}")
