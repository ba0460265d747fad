"""Reads PDDL files: ADL with action costs.

A file is read in steps: its sections, its types, its other declarations, and the formulas that use
them. All errors of a step are raised together, each with line and column; later steps would only
add errors that follow from them. PDDL outside this subset is an error, never skipped.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from galley.domain.pddl.actions import (
    Scope,
    is_total_cost,
    object_types,
    read_actions,
    read_condition,
    read_literal,
    read_number,
    read_term,
)
from galley.domain.pddl.declarations import (
    read_functions,
    read_objects,
    read_predicates,
    read_types,
)
from galley.domain.pddl.formula import EQUALITY, Fact, Formula, FunctionTerm, Literal
from galley.domain.pddl.model import TOTAL_COST, Domain, Problem
from galley.domain.pddl.syntax import (
    CONNECTIVES,
    Definition,
    Node,
    SList,
    SyntaxFaults,
    read_definition,
    read_name,
    short,
)
from galley.domain.shipped import shipped_file


def read_task(domain_path: str | Path, problem_path: str | Path) -> tuple[Domain, Problem]:
    """Reads a domain and a problem file.

    Raises:
        BadInput: as ``read_domain`` or, if that is sound, ``read_problem``.
    """
    domain = read_domain(domain_path)
    return domain, read_problem(problem_path, domain)


def read_domain(path: str | Path) -> Domain:
    """Reads a domain file, or a shipped one by its bare name.

    Raises:
        BadInput: every error of the first step that finds any, with line and column.
    """
    path = shipped_file(path)
    faults = SyntaxFaults(str(path))
    parts = read_definition(path, "domain", faults)
    # Many files declare other requirements than they use, so these are not checked: an unsupported
    # construct is an error where it is used.
    requirements = tuple(map(str, parts.body(":requirements")))
    domain = Domain(parts.name, faults.file, requirements)
    # Sections may stand in any order in the file, but each needs those read before it.
    domain = replace(domain, types=read_types(parts.body(":types"), faults))
    faults.raise_if_any()
    domain = replace(
        domain,
        constants=read_objects(parts.body(":constants"), domain, (), faults),
        predicates=read_predicates(parts.body(":predicates"), domain, faults),
        functions=read_functions(parts.body(":functions"), domain, faults),
    )
    faults.raise_if_any()
    domain = replace(domain, actions=read_actions(parts.actions, domain, faults))
    faults.raise_if_any()
    return domain


def read_problem(path: str | Path, domain: Domain) -> Problem:
    """Reads a problem file of ``domain``, or a shipped one by its bare name.

    Raises:
        BadInput: every error of the first step that finds any, with line and column.
    """
    path = shipped_file(path)
    faults = SyntaxFaults(str(path))
    parts = read_definition(path, "problem", faults)
    for section, example in (
        (":domain", f"(:domain {domain.name})"),
        (":init", "(:init) if no fact holds initially"),
        (":goal", "(:goal (and ...))"),
    ):
        if section not in parts.sections:
            faults.add(parts.node, f"the problem has no {section}; add {example}")
    for node in parts.body(":domain"):
        name = read_name(node, "the domain's name", faults)
        if name is not None and name != domain.name:
            what = f"this problem is for domain '{name}', but {domain.file} defines '{domain.name}'"
            faults.add(node, what)
    own = read_objects(parts.body(":objects"), domain, domain.constants, faults)
    faults.raise_if_any()
    objects = domain.constants + own
    scope = Scope(domain, object_types(objects), {}, ":init", faults)
    facts, values = _read_init(parts, scope)
    goal = _read_goal(parts, replace(scope, place="the goal"))
    metric = _read_metric(parts, scope)
    faults.raise_if_any()
    return Problem(
        parts.name,
        domain.name,
        faults.file,
        objects,
        init=tuple(facts),
        goal=goal,
        init_places=tuple(facts.values()),
        values=values,
        metric=metric,
    )


def _read_init(
    parts: Definition, scope: Scope
) -> tuple[dict[Fact, tuple[int, int]], dict[Fact, float]]:
    """The initial facts, each with line and column, and the value of each ground function term."""
    values: dict[Fact, float] = {}
    literals: dict[Fact, Literal] = {}
    terms = (term for action in scope.domain.actions for term in action.cost)
    costs = {term.function for term in terms if isinstance(term, FunctionTerm)}
    for node in parts.body(":init"):
        if isinstance(node, SList) and node.head == EQUALITY:
            _read_value(node, scope, costs, values)
            continue
        literal = _read_fact(node, scope)
        if literal is None:
            continue
        first = literals.setdefault(literal.fact, literal)
        if first.positive != literal.positive:
            scope.faults.add(node, f":init states {literal} and, at line {first.line}, {first}")
    # Unlisted facts are false anyway, so negated ones are dropped.
    held = {fact: each for fact, each in literals.items() if each.positive}
    return {fact: (each.line, each.column) for fact, each in held.items()}, values


def _read_fact(node: Node, scope: Scope) -> Literal | None:
    """A possibly negated fact of ``:init``; None after reporting an error."""
    head = node.head if isinstance(node, SList) else ""
    if isinstance(node, SList) and head == "not" and len(node.items) == 2:
        literal = _read_fact(node.items[1], scope)
        return literal and replace(literal, positive=False)
    if head in CONNECTIVES:
        scope.faults.add(node, f"'{head}' can't stand in :init, which is a list of facts")
        return None
    return read_literal(node, scope)


def _read_value(node: SList, scope: Scope, costs: set[str], values: dict[Fact, float]) -> None:
    """Adds the value in ``(= (f a) 3)`` to ``values``.

    ``costs`` are the functions that the costs of actions use: their values can't be negative.
    """
    if len(node.items) != 3:
        scope.faults.add(node, f"expected (= (function object ...) number), got '{short(node)}'")
        return
    target, amount = node.items[1:]
    if is_total_cost(target):
        if read_number(amount, scope) != 0.0:
            scope.faults.add(amount, f"({TOTAL_COST}) must be 0 at the start")
        return
    term = read_term(target, scope)
    if term is None:
        return
    number = read_number(amount, scope, cost=term.function in costs)
    key = Fact(term.function, term.args)
    if number is None:
        what = f"the value of a function must be a number, got '{short(amount)}'"
        scope.faults.add(amount, what)
    elif values.setdefault(key, number) != number:
        scope.faults.add(node, f"{key} has another value already: {values[key]:g}")


def _read_goal(parts: Definition, scope: Scope) -> tuple[Formula, ...]:
    """The parts of the goal, with its top-level conjunction flattened."""
    body = parts.body(":goal")
    if len(body) != 1:
        what = "the goal must be one condition; join several by (and ...)"
        scope.faults.add(parts.sections[":goal"], what)
        return ()
    return read_condition(body[0], scope)


def _read_metric(parts: Definition, scope: Scope) -> bool:
    """Whether to minimise ``total-cost``; any other metric is an error."""
    section = parts.sections.get(":metric")
    if section is None:
        return False
    body = section.items[1:]
    if len(body) != 2 or str(body[0]) != "minimize" or not is_total_cost(body[1]):
        what = f"only (:metric minimize ({TOTAL_COST})) is supported, got '{short(section)}'"
        scope.faults.add(section, what)
    elif scope.domain.function(TOTAL_COST) is None:
        what = f"function '{TOTAL_COST}' is not declared in the domain's :functions"
        scope.faults.add(body[1], what)
    return True
