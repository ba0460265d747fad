"""Reads a plan and checks it against the lifted domain, sharing nothing with grounding and search.

It substitutes objects into schemas and works on sets of facts, so a mistake in the compiled
representation can't confirm itself here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from galley.domain.errors import did_you_mean
from galley.domain.files import read_text
from galley.domain.pddl.formula import Exists, Formula, FunctionTerm
from galley.domain.pddl.model import ActionSchema, Domain, Problem
from galley.domain.pddl.syntax import SList, SyntaxFaults, parse_sexprs, read_name
from galley.planning.checks.semantics import Binding, Semantics, State, instantiate, kinds
from galley.planning.operators import COST_DECIMALS, GroundAction


@dataclass(frozen=True)
class Validation:
    """The verdict on a plan.

    Attributes:
        valid: every action was applicable and the goal holds at the end.
        message: one sentence: the first failing action and precondition, or the missing goal.
        step: index of the first failing action, counted from 0; None where all are applicable.
        action: the first failing action.
        missing: what should hold and doesn't, of that action's preconditions or of the goal: the
            smallest parts to blame, with objects in place of variables.
        states: the state before the first action and after each applicable one.
        cost: of the applicable actions: what they add to ``total-cost`` where the problem asks to
            minimise it, else their number.
    """

    valid: bool
    message: str
    step: int | None
    action: GroundAction | None
    missing: tuple[Formula, ...]
    states: tuple[State, ...]
    cost: float


def validate_actions(
    domain: Domain, problem: Problem, actions: Iterable[GroundAction]
) -> Validation:
    """Executes a plan from the initial state, up to the first action that can't be.

    Args:
        domain: the domain.
        problem: a problem of that domain.
        actions: the plan.
    """
    semantics = Semantics(domain, problem)
    states: list[State] = [frozenset(problem.init)]
    cost = 0.0
    for step, action in enumerate(actions):
        what, missing = _fault(semantics, states[-1], action)
        if what:
            message = f"step {step + 1}, {action}: {what}"
            return Validation(False, message, step, action, missing, tuple(states), cost)
        schema, binding = _bound(domain, action)
        states.append(semantics.successor(schema.effect, binding, states[-1]))
        cost = round(cost + _cost(schema, binding, problem), COST_DECIMALS)
    count = len(states) - 1
    failing = _Failing.of(semantics, problem.goal, {}, states[-1])
    if failing.missing:
        heads = {0: "there is no action", 1: "the action is applicable"}
        head = heads.get(count, f"all {count} actions are applicable")
        message = f"{head}, but at the end {failing.names} is not achieved{failing.why}"
        return Validation(False, message, None, None, failing.missing, tuple(states), cost)
    length = f"{count} action{'' if count == 1 else 's'}"
    price = f" of cost {cost:g}" if problem.metric else ""
    message = f"valid: {length}{price}, and the goal holds at the end"
    return Validation(True, message, None, None, (), tuple(states), cost)


def _fault(
    semantics: Semantics, state: State, action: GroundAction
) -> tuple[str, tuple[Formula, ...]]:
    """Why ``action`` can't be done in ``state``; an empty text where it can."""
    domain, problem = semantics.domain, semantics.problem
    schema = domain.action(action.name)
    if schema is None:
        hint = did_you_mean(action.name, [each.name for each in domain.actions])
        return f"the domain has no action '{action.name}'{hint}", ()
    if len(action.args) != len(schema.parameters):
        expected = len(schema.parameters)
        return f"'{schema.name}' takes {expected} object{'' if expected == 1 else 's'}", ()
    for arg, parameter in zip(action.args, schema.parameters, strict=True):
        found = problem.object(arg)
        if found is None:
            hint = did_you_mean(arg, [each.name for each in problem.objects])
            return f"the problem has no object '{arg}'{hint}", ()
        if not domain.is_a(found.type, parameter.types):
            types = " or ".join(parameter.types)
            return f"{parameter.name} must be of type {types}, '{arg}' is {found.type}", ()
    _, binding = _bound(domain, action)
    failing = _Failing.of(semantics, schema.precondition, binding, state)
    if failing.missing:
        several = failing.count > 1
        word, verb = ("preconditions", "do") if several else ("precondition", "does")
        return f"{word} {failing.names} {verb} not hold{failing.why}", failing.missing
    unknown = _unknown_values(schema, binding, problem)
    if unknown:
        return f"its cost needs {' and '.join(unknown)}, which the problem gives no value", ()
    return "", ()


@dataclass(frozen=True)
class _Failing:
    """Those of some conditions that fail: their number, their names, why, and what is to blame."""

    count: int
    names: str
    why: str
    missing: tuple[Formula, ...]

    @classmethod
    def of(
        cls, semantics: Semantics, formulas: tuple[Formula, ...], binding: Binding, state: State
    ) -> _Failing:
        """What fails of ``formulas``."""
        names: list[str] = []
        missing: list[Formula] = []
        for formula in formulas:
            parts = semantics.culprits(formula, binding, state)
            if parts:
                whole = instantiate(formula, binding)
                blamed = " and ".join(map(str, parts))
                names.append(blamed if parts == (whole,) else f"{blamed} of {whole}")
                missing += parts
        why = [_why_none(semantics, each) for each in missing if isinstance(each, Exists)]
        tail = f": {', '.join(why)}" if why else ""
        return cls(len(names), " and ".join(names), tail, tuple(missing))


def _why_none(semantics: Semantics, formula: Exists) -> str:
    for variable in formula.variables:
        if not semantics.objects(variable.types):
            return f"there is no {kinds((variable,))}"
    return f"no {kinds(formula.variables)} will do"


def _bound(domain: Domain, action: GroundAction) -> tuple[ActionSchema, Binding]:
    """The schema of ``action``, which exists and fits, and objects for its variables."""
    schema = domain.action(action.name)
    assert schema is not None
    return schema, {p.name: arg for p, arg in zip(schema.parameters, action.args, strict=True)}


def _unknown_values(schema: ActionSchema, binding: Binding, problem: Problem) -> tuple[str, ...]:
    """The terms of the cost that have no value."""
    if not problem.metric:
        return ()
    terms = [each.ground(binding) for each in schema.cost if isinstance(each, FunctionTerm)]
    return tuple(str(each) for each in dict.fromkeys(terms) if each not in problem.values)


def _cost(schema: ActionSchema, binding: Binding, problem: Problem) -> float:
    if not problem.metric:
        return 1.0
    terms = (
        problem.values[each.ground(binding)] if isinstance(each, FunctionTerm) else each
        for each in schema.cost
    )
    return float(sum(terms))


def read_plan(path: str | Path) -> tuple[GroundAction, ...]:
    """The actions of a plan file: one ``(pick sugar burner h1)`` a line, ``;`` begins a comment.

    An empty file is the empty plan. Only the form is checked here; whether actions and objects
    exist is for ``validate_actions`` to say.

    Raises:
        BadInput: every fault of the file, with line and column.
    """
    faults = SyntaxFaults(str(path))
    actions: list[GroundAction] = []
    for node in parse_sexprs(read_text(path), faults.file):
        if not isinstance(node, SList):
            faults.add(node, f"expected an action such as (name object ...), got '{node}'")
        elif not node.items:
            faults.add(node, "an action needs a name")
        else:
            name = read_name(node.items[0], "an action's name", faults)
            args = [read_name(each, "an object", faults) for each in node.items[1:]]
            actions.append(GroundAction(name or "", tuple(each or "" for each in args)))
    faults.raise_if_any()
    return tuple(actions)
