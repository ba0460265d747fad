"""Reads PDDL files: ADL with action costs.

All errors of a file are raised together, each with line and column. PDDL outside this subset is
refused by name, never skipped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from galley.domain.errors import BadInput
from galley.domain.gc_pause import paused_gc
from galley.domain.pddl.actions import (
    Scope,
    check_amount,
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
    read_requirements,
    read_types,
)
from galley.domain.pddl.formula import EQUALITY, Fact, Formula, FunctionTerm, Literal
from galley.domain.pddl.model import TOTAL_COST, Domain, Problem
from galley.domain.pddl.syntax import (
    CONNECTIVES,
    Atom,
    Definition,
    Node,
    Section,
    SList,
    SyntaxFaults,
    read_definition,
    read_name,
    short,
)
from galley.domain.shipped import shipped_file

_DOMAIN_SECTIONS = (
    ":requirements",
    ":types",
    ":constants",
    ":predicates",
    ":functions",
    ":action",
)
_PROBLEM_SECTIONS = (":domain", ":requirements", ":objects", ":init", ":goal", ":metric", ":length")

_UNSUPPORTED = {
    ":durative-action": "(an action with a duration) is not supported",
    ":derived": "(a derived predicate) is not supported",
    ":axiom": "(a derived predicate) is not supported",
    ":constraints": "(trajectory constraints) is not supported",
    ":process": "(a process) is not supported",
    ":event": "(an event) is not supported",
    ":task": "(a task network) is not supported",
    ":method": "(a task network) is not supported",
    ":htn": "(a task network) is not supported",
    ":goal-reward": "(rewards) is not supported",
}
_IN_PROBLEM = "belongs in the problem, not the domain"
_IN_DOMAIN = "belongs in the domain, not the problem"
_DOMAIN_REFUSED = {
    **_UNSUPPORTED,
    ":objects": f"{_IN_PROBLEM}; objects of every problem are declared as :constants",
    **dict.fromkeys((":domain", ":init", ":goal", ":metric"), _IN_PROBLEM),
}
_PROBLEM_REFUSED = {
    **_UNSUPPORTED,
    ":constants": f"{_IN_DOMAIN}; a problem declares its own as :objects",
    **dict.fromkeys((":types", ":predicates", ":functions", ":action"), _IN_DOMAIN),
}


def read_task(domain_path: str | Path, problem_path: str | Path) -> tuple[Domain, Problem]:
    """Reads a domain and a problem file.

    Raises:
        BadInput: every error of both files, the domain's first. If the domain has errors, only the
            syntax of the problem is checked, not its names and types.
    """
    try:
        domain = read_domain(domain_path)
    except BadInput as bad:
        try:
            _read_problem(problem_path, Domain("", str(domain_path)), syntax_only=True)
        except BadInput as more:
            raise BadInput(bad.errors + more.errors) from None
        raise
    return domain, read_problem(problem_path, domain)


def read_domain(path: str | Path) -> Domain:
    """Reads a domain file, or a shipped one by its bare name.

    Raises:
        BadInput: every error of the file, with line and column.
    """
    path = shipped_file(path)
    faults = SyntaxFaults(str(path))
    parts = read_definition(path, "domain", _DOMAIN_SECTIONS, _DOMAIN_REFUSED, faults)
    requirements = read_requirements(parts.body(":requirements"), faults)
    domain = Domain(parts.name, faults.file, requirements)
    # Sections may stand in any order in the file, but each needs those read before it.
    domain = replace(domain, types=read_types(parts.body(":types"), faults))
    domain = replace(domain, constants=read_objects(parts.body(":constants"), domain, (), faults))
    domain = replace(domain, predicates=read_predicates(parts.body(":predicates"), domain, faults))
    domain = replace(domain, functions=read_functions(parts.body(":functions"), domain, faults))
    domain = replace(domain, actions=read_actions(parts, domain, faults))
    faults.raise_if_any()
    return domain


def read_problem(path: str | Path, domain: Domain) -> Problem:
    """Reads a problem file of ``domain``, or a shipped one by its bare name.

    Raises:
        BadInput: every error of the file, with line and column.
    """
    with paused_gc():
        return _read_problem(path, domain, syntax_only=False)


def _read_problem(path: str | Path, domain: Domain, *, syntax_only: bool) -> Problem:
    path = shipped_file(path)
    faults = SyntaxFaults(str(path))
    parts = read_definition(path, "problem", _PROBLEM_SECTIONS, _PROBLEM_REFUSED, faults)
    read_requirements(parts.body(":requirements"), faults)
    _check_domain_name(parts, domain, faults, syntax_only)
    constants = domain.constants
    own = read_objects(parts.body(":objects"), domain, constants, faults, syntax_only=syntax_only)
    objects = constants + own
    scope = Scope(domain, object_types(objects), {}, ":init", faults, syntax_only)
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


def _check_domain_name(
    parts: Definition, domain: Domain, faults: SyntaxFaults, syntax_only: bool
) -> None:
    section = parts.one(":domain")
    if section is None:
        name = "NAME" if syntax_only else domain.name
        parts.note_missing(f"the problem names no domain; add (:domain {name})", faults)
        return
    if len(section.body) != 1:
        faults.add(section.node, f"expected (:domain NAME), got '{short(section.node)}'")
        return
    name = read_name(section.body[0], "the domain's name", faults) or domain.name
    if name != domain.name and not syntax_only:
        what = f"this problem is for domain '{name}', but {domain.file} defines '{domain.name}'"
        faults.add(section.body[0], what)


def _read_init(
    parts: Definition, scope: Scope
) -> tuple[dict[Fact, tuple[int, int]], dict[Fact, float]]:
    """The initial facts, each with line and column, and the value of each ground function term."""
    values: dict[Fact, float] = {}
    section = parts.one(":init")
    if section is None:
        what = "the problem has no :init; write (:init) if no fact holds initially"
        parts.note_missing(what, scope.faults)
        return {}, values
    negative: dict[Fact, Literal] = {}
    positive: dict[Fact, Literal] = {}
    cost_functions = _cost_functions(scope)
    for node in section.body:
        if isinstance(node, SList) and _is_value(node, scope):
            _read_value(node, scope, cost_functions, values)
            continue
        literal = _read_fact(node, scope)
        if literal is None:
            continue
        fact = literal.fact
        (positive if literal.positive else negative).setdefault(fact, literal)
        if fact in negative and fact in positive:
            _note_contradiction(
                literal, negative[fact], positive[fact], ":init states", scope.faults
            )
    # Unlisted facts are false anyway, so negated ones are dropped.
    return {fact: (each.line, each.column) for fact, each in positive.items()}, values


def _read_fact(node: Node, scope: Scope) -> Literal | None:
    head = node.head if isinstance(node, SList) else ""
    if isinstance(node, SList) and _is_timed(node):
        what = "a timed initial literal is not supported"
        scope.faults.add(node, what)
        return None
    if isinstance(node, SList) and head == "not":
        inner = node.items[1] if len(node.items) == 2 else None
        if not isinstance(inner, SList) or inner.head in CONNECTIVES:
            scope.faults.add(node, "'not' takes exactly one fact in :init")
            return None
        literal = _read_fact(inner, scope)
        if literal is None:
            return None
        return replace(literal, positive=False)
    if head in CONNECTIVES:
        what = f"'{head}' can't stand in :init, which is a list of facts"
        scope.faults.add(node, what)
        return None
    literal = read_literal(node, scope)
    if literal is not None and literal.predicate == EQUALITY:
        scope.faults.add(node, ":init can't say which objects are equal; leave it out")
        return None
    return literal


def _is_timed(node: SList) -> bool:
    """Whether it is ``(at 5 (fact))``; ``at`` is also a common predicate name."""
    return (
        node.head == "at"
        and len(node.items) == 3
        and read_number(node.items[1]) is not None
        and isinstance(node.items[2], SList)
    )


def _is_value(node: SList, scope: Scope) -> bool:
    """Whether it is ``(= (f a) 3)``, or ``(= f 3)`` for a function without parameters."""
    if node.head != EQUALITY or len(node.items) < 2:
        return False
    first = node.items[1]
    return isinstance(first, SList) or (
        first.text not in scope.objects and scope.domain.function(first.text) is not None
    )


def _read_value(
    node: SList, scope: Scope, cost_functions: Mapping[str, str], values: dict[Fact, float]
) -> None:
    if len(node.items) != 3:
        scope.faults.add(node, f"expected (= (function object ...) number), got '{short(node)}'")
        return
    target, amount = node.items[1:]
    number = read_number(amount)
    if number is None:
        what = f"the value of a function must be a number, got '{short(amount)}'"
        scope.faults.add(amount, what)
    if is_total_cost(target):
        if scope.domain.function(TOTAL_COST) is None and not scope.syntax_only:
            what = f"function '{TOTAL_COST}' is not declared in the domain's :functions"
            scope.faults.add(target, what)
        elif number:
            scope.faults.add(amount, f"({TOTAL_COST}) must be 0 at the start")
        return
    term = read_term(target, scope)
    if term is None or number is None:
        return
    if term.function in cost_functions and not check_amount(number, amount, scope.faults):
        return
    key = Fact(term.function, term.args)
    if values.setdefault(key, number) != number:
        scope.faults.add(node, f"{key} has another value already: {values[key]:g}")


def _cost_functions(scope: Scope) -> dict[str, str]:
    """The functions that action costs use, each with the first action that does."""
    functions: dict[str, str] = {}
    for action in scope.domain.actions:
        for term in action.cost:
            if isinstance(term, FunctionTerm):
                functions.setdefault(term.function, action.name)
    return functions


def _read_goal(parts: Definition, scope: Scope) -> tuple[Formula, ...]:
    section = parts.one(":goal")
    if section is None:
        parts.note_missing("the problem has no goal; add (:goal (and ...))", scope.faults)
        return ()
    if len(section.body) != 1:
        what = "the goal must be one condition; join several by (and ...)"
        scope.faults.add(section.node, what)
        return ()
    goal = read_condition(section.body[0], scope)
    _check_contradiction(goal, scope.faults)
    return goal


def _check_contradiction(goal: Iterable[Formula], faults: SyntaxFaults) -> None:
    """Reports a goal that asks for a fact and its negation."""
    signs: dict[Fact, Literal] = {}
    for literal in goal:
        if not isinstance(literal, Literal):
            continue
        first = signs.setdefault(literal.fact, literal)
        if first.positive != literal.positive:
            _note_contradiction(literal, literal, first, "the goal asks for", faults)


def _note_contradiction(
    later: Literal, one: Literal, other: Literal, who: str, faults: SyntaxFaults
) -> None:
    first = other if later is one else one
    where = Atom(later.predicate, later.line, later.column)
    faults.add(where, f"{who} {later} and, at line {first.line}, {first}")


def _read_metric(parts: Definition, scope: Scope) -> bool:
    """Whether to minimise ``total-cost``; any other metric is an error."""
    section = parts.one(":metric")
    if section is None:
        return False
    expected = f"(:metric minimize ({TOTAL_COST}))"
    if len(section.body) != 2:
        scope.faults.add(section.node, f"expected {expected}, got '{short(section.node)}'")
        return False
    direction, measure = section.body
    if not isinstance(direction, Atom) or direction.text != "minimize":
        scope.faults.add(direction, f"'{short(direction)}' is not supported; only {expected} is")
        return False
    if not is_total_cost(measure):
        scope.faults.add(measure, f"metric '{short(measure)}' is not supported; only {expected} is")
        return False
    if scope.syntax_only:
        return True
    if scope.domain.function(TOTAL_COST) is None:
        what = f"function '{TOTAL_COST}' is not declared in the domain's :functions"
        scope.faults.add(measure, what)
        return False
    init = parts.one(":init")
    if init is not None:
        _check_values(init, scope)
    return True


def _check_values(init: Section, scope: Scope) -> None:
    """Reports functions that costs use and that have no value at all.

    Values missing for some objects are reported by the grounder, since actions that are never
    applicable need none.
    """
    # Malformed values count too: they have been reported.
    pairs = (each.items for each in init.body if isinstance(each, SList) and len(each.items) > 1)
    targets = (target for head, target, *_ in pairs if str(head) == EQUALITY)
    defined = {each.head if isinstance(each, SList) else each.text for each in targets}
    for name, action in _cost_functions(scope).items():
        function = scope.domain.function(name)
        if name in defined or function is None:
            continue
        kinds = set(scope.objects.values())
        if all(
            any(kind and scope.fits(kind, each.types) for kind in kinds)
            for each in function.parameters
        ):
            example = Fact(name, tuple(each.name for each in function.parameters))
            what = f"function '{name}' has no value, but the cost of action '{action}' needs it; "
            scope.faults.add(init.node, what + f"add (= {example} number) for each {example}")
