"""Reads PDDL files: ADL with action costs.

Every fault of a file is collected and raised together, each with its line and column. What is
PDDL but lies outside this subset is refused by name, never skipped.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from galley.domain.collection import paused_collection
from galley.domain.errors import BadInput
from galley.domain.pddl import Domain, Problem
from galley.domain.pddl_actions import read_actions
from galley.domain.pddl_costs import read_functions
from galley.domain.pddl_declarations import read_objects, read_predicates, read_types
from galley.domain.pddl_faults import Faults, short
from galley.domain.pddl_problem import read_goal, read_init, read_metric
from galley.domain.pddl_requirements import read_requirements
from galley.domain.pddl_scope import Scope, object_types
from galley.domain.pddl_syntax import Definition, read_definition, read_name

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
    ":objects": f"{_IN_PROBLEM}; what every problem has is declared as :constants",
    **dict.fromkeys((":domain", ":init", ":goal", ":metric"), _IN_PROBLEM),
}
_PROBLEM_REFUSED = {
    **_UNSUPPORTED,
    ":constants": f"{_IN_DOMAIN}; a problem's own are declared as :objects",
    **dict.fromkeys((":types", ":predicates", ":functions", ":action"), _IN_DOMAIN),
}


def read_task(domain_path: str | Path, problem_path: str | Path) -> tuple[Domain, Problem]:
    """Reads a domain and a problem file.

    Raises:
        BadInput: every fault of both files, the domain's first. Where the domain has faults, the
            problem is checked for what needs no domain: its form, but no names and types.
    """
    try:
        domain = read_domain(domain_path)
    except BadInput as bad:
        try:
            _read_problem(problem_path, Domain("", str(domain_path)), loose=True)
        except BadInput as more:
            raise BadInput(bad.errors + more.errors) from None
        raise
    return domain, read_problem(problem_path, domain)


def read_domain(path: str | Path) -> Domain:
    """Reads a domain file.

    Raises:
        BadInput: every fault of the file, with line and column.
    """
    faults = Faults(str(path))
    parts = read_definition(path, "domain", _DOMAIN_SECTIONS, _DOMAIN_REFUSED, faults)
    requirements = read_requirements(parts.body(":requirements"), faults)
    domain = Domain(parts.name, faults.file, requirements)
    # Each part is checked against those before it, whatever their order in the file.
    domain = replace(domain, types=read_types(parts.body(":types"), faults))
    domain = replace(domain, constants=read_objects(parts.body(":constants"), domain, (), faults))
    domain = replace(domain, predicates=read_predicates(parts.body(":predicates"), domain, faults))
    domain = replace(domain, functions=read_functions(parts.body(":functions"), domain, faults))
    domain = replace(domain, actions=read_actions(parts, domain, faults))
    faults.raise_if_any()
    return domain


def read_problem(path: str | Path, domain: Domain) -> Problem:
    """Reads a problem file of ``domain``.

    Raises:
        BadInput: every fault of the file, with line and column.
    """
    with paused_collection():
        return _read_problem(path, domain, loose=False)


def _read_problem(path: str | Path, domain: Domain, *, loose: bool) -> Problem:
    faults = Faults(str(path))
    parts = read_definition(path, "problem", _PROBLEM_SECTIONS, _PROBLEM_REFUSED, faults)
    read_requirements(parts.body(":requirements"), faults)
    _check_domain_name(parts, domain, faults, loose)
    constants = domain.constants
    own = read_objects(parts.body(":objects"), domain, constants, faults, loose=loose)
    objects = constants + own
    scope = Scope(domain, object_types(objects), {}, ":init", faults, loose)
    state = read_init(parts, scope)
    goal = read_goal(parts, replace(scope, place="the goal"))
    metric = read_metric(parts, state, scope)
    faults.raise_if_any()
    return Problem(
        parts.name,
        domain.name,
        faults.file,
        objects,
        init=tuple(state.facts),
        goal=goal,
        init_places=tuple(state.facts.values()),
        values=state.values,
        metric=metric,
    )


def _check_domain_name(parts: Definition, domain: Domain, faults: Faults, loose: bool) -> None:
    section = parts.one(":domain")
    if section is None:
        name = "NAME" if loose else domain.name
        faults.add(parts.node, f"the problem names no domain; add (:domain {name})")
        return
    if len(section.body) != 1:
        faults.add(section.node, f"expected (:domain NAME), got '{short(section.node)}'")
        return
    name = read_name(section.body[0], "the domain's name", faults) or domain.name
    if name != domain.name and not loose:
        what = f"this problem is for domain '{name}', but {domain.file} defines '{domain.name}'"
        faults.add(section.body[0], what)
