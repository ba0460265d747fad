"""Plan validation: executes a plan on the lifted domain, with states as sets of facts.

It shares no code with grounding and search, so it can't repeat their mistakes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from galley.domain.errors import did_you_mean
from galley.domain.files import read_text
from galley.domain.pddl.formula import Fact, Formula, FunctionTerm
from galley.domain.pddl.model import ActionSchema, Domain, Problem
from galley.domain.pddl.syntax import SList, SyntaxFaults, parse_sexprs, read_name
from galley.planning.checks.semantics import Binding, Semantics, State, instantiate
from galley.planning.operators import COST_DECIMALS, GroundAction, cost_text


@dataclass(frozen=True)
class Validation:
    """The result of validating a plan.

    Attributes:
        valid: whether every action is applicable and the goal holds at the end.
        message: the result in one sentence; of an invalid plan, the first inapplicable action with
            its failing precondition, or the failing part of the goal.
        step: 0-based index of the first inapplicable action; None if all are applicable.
        action: the first inapplicable action; None if all are applicable.
        missing: the failing ground parts of that action's precondition or of the goal.
        states: the initial state and the state after each applicable action.
        cost: cost of the applicable actions: their ``total-cost`` if the problem minimises it, else
            their number.
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
    """Validates a plan: executes it from the initial state, up to the first inapplicable action.

    Args:
        domain: the domain.
        problem: a problem of that domain.
        actions: the plan's actions in order.
    """
    semantics = Semantics(domain, problem)
    states: list[State] = [frozenset(problem.init)]
    cost = 0.0
    for step, action in enumerate(actions):
        reason, missing = _inapplicable(semantics, states[-1], action)
        if reason:
            message = f"step {step + 1}, {action}: {reason}"
            return Validation(False, message, step, action, missing, tuple(states), cost)
        schema, binding = bound_action(domain, action)
        added, deleted = semantics.changes(schema.effect, binding, states[-1])
        states.append((states[-1] - deleted) | added)  # a fact both deleted and added holds
        terms = (t for t in _costs(schema, binding, problem) if not isinstance(t, Fact))
        cost = round(cost + sum(terms), COST_DECIMALS)
    count = len(states) - 1
    names, missing = _failing(semantics, problem.goal, {}, states[-1])
    if missing:
        heads = {0: "there is no action", 1: "the action is applicable"}
        head = heads.get(count, f"all {count} actions are applicable")
        message = f"{head}, but at the end {' and '.join(names)} is not achieved"
        return Validation(False, message, None, None, missing, tuple(states), cost)
    length = f"{count} action{'' if count == 1 else 's'}"
    price = f" of cost {cost_text(cost)}" if problem.metric else ""
    message = f"valid: {length}{price}, and the goal holds at the end"
    return Validation(True, message, None, None, (), tuple(states), cost)


def _inapplicable(
    semantics: Semantics, state: State, action: GroundAction
) -> tuple[str, tuple[Formula, ...]]:
    """Why ``action`` is not applicable in ``state``, and its failing parts; both empty if it is."""
    domain, problem = semantics.domain, semantics.problem
    schema = domain.action(action.name)
    if schema is None:
        hint = did_you_mean(action.name, [schema.name for schema in domain.actions])
        return f"the domain has no action '{action.name}'{hint}", ()
    if len(action.args) != len(schema.parameters):
        expected = len(schema.parameters)
        return f"'{schema.name}' takes {expected} object{'' if expected == 1 else 's'}", ()
    for arg, parameter in zip(action.args, schema.parameters, strict=True):
        declared = problem.object(arg)
        if declared is None:
            hint = did_you_mean(arg, [item.name for item in problem.objects])
            return f"the problem has no object '{arg}'{hint}", ()
        if not domain.is_a(declared.type, parameter.types):
            types = " or ".join(parameter.types)
            return f"{parameter.name} must be of type {types}, '{arg}' is {declared.type}", ()
    _, binding = bound_action(domain, action)
    names, missing = _failing(semantics, schema.precondition, binding, state)
    if missing:
        word, verb = ("preconditions", "do") if len(names) > 1 else ("precondition", "does")
        return f"{word} {' and '.join(names)} {verb} not hold", missing
    values = dict.fromkeys(str(t) for t in _costs(schema, binding, problem) if isinstance(t, Fact))
    if values:
        return f"its cost needs {' and '.join(values)}, which the problem does not give", ()
    return "", ()


def _failing(
    semantics: Semantics, formulas: tuple[Formula, ...], binding: Binding, state: State
) -> tuple[list[str], tuple[Formula, ...]]:
    """The names of those of ``formulas`` that fail in ``state``, and their failing parts."""
    names: list[str] = []
    missing: list[Formula] = []
    for formula in formulas:
        parts = semantics.failing_parts(formula, binding, state)
        if parts:
            whole = instantiate(formula, binding)
            failing_parts = " and ".join(map(str, parts))
            names.append(failing_parts if parts == (whole,) else f"{failing_parts} of {whole}")
            missing += parts
    return names, tuple(missing)


def bound_action(domain: Domain, action: GroundAction) -> tuple[ActionSchema, Binding]:
    """The schema of a well-formed ``action``, and the binding of its parameters."""
    schema = domain.action(action.name)
    assert schema is not None
    return schema, {p.name: arg for p, arg in zip(schema.parameters, action.args, strict=True)}


def _costs(schema: ActionSchema, binding: Binding, problem: Problem) -> list[float | Fact]:
    """The terms of an action's cost; of a function term without a value the term itself."""
    terms = schema.cost if problem.metric else (1.0,)
    keys = [term.ground(binding) if isinstance(term, FunctionTerm) else term for term in terms]
    return [problem.values.get(key, key) if isinstance(key, Fact) else key for key in keys]


def read_plan(path: str | Path) -> tuple[GroundAction, ...]:
    """The actions of a plan file: one ``(pick sugar burner h1)`` per line, ``;`` starts a comment.

    Reads other planners' formats too: ``0: (pick a b)``, and ``0.000: (pick a b) [1.000]`` as for
    VAL. The actions are then put in the order of their times. Parentheses may be left out if each
    line is one action. Case is ignored.

    Only the syntax is checked; ``validate_actions`` checks names. An empty file is the empty plan.

    Raises:
        BadInput: every error of the file, with line and column.
    """
    faults = SyntaxFaults(str(path))
    text = read_text(path).splitlines()  # once: it may be a pipe
    lines = [_TIME.sub(_blank, line) for line in text]
    times = [_TIME.match(line) for line in text]
    if not any(re.match(r"[^;]*[()]", line) for line in lines):
        lines = [_bare_action(line) for line in lines]
    steps: list[tuple[float, GroundAction]] = []
    for node in parse_sexprs("\n".join(_DURATION.sub(_blank, line) for line in lines), faults.file):
        time = times[node.line - 1]
        start = float(time.group(1)) if time else (steps[-1][0] if steps else 0.0)
        if not isinstance(node, SList):
            faults.add(node, f"expected an action such as (name object ...), got '{node}'")
        elif not node.items:
            faults.add(node, "an action needs a name")
        else:
            name = read_name(node.items[0], "an action's name", faults)
            args = [read_name(item, "an object", faults) for item in node.items[1:]]
            steps.append((start, GroundAction(name or "", tuple(arg or "" for arg in args))))
    faults.raise_if_any()
    return tuple(action for _, action in sorted(steps, key=lambda step: step[0]))


# Before an action, or its number: ``0.5:``, ``1.``, ``1)`` or ``step 1:``.
_TIME = re.compile(r"^\s*(?:step\s+)?(\d+(?:\.\d*)?)(?:\s*[:)]|(?<=\.)(?=\s))", re.IGNORECASE)
_DURATION = re.compile(r"\[\s*(?:D:)?\d+(?:\.\d*)?\s*(?:;[^\]]*)?\]", re.IGNORECASE)


def _blank(match: re.Match[str]) -> str:
    """Spaces in place of a match, so that columns stay."""
    return " " * len(match.group())


def _bare_action(line: str) -> str:
    """A line ``pick sugar burner`` with parentheses."""
    words = _DURATION.sub(_blank, line).split(";")[0].strip()
    return f"({words})" if words else ""
