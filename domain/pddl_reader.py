"""Reads PDDL files: STRIPS with types, constants, equality and negative conditions.

Every fault of a file is collected and raised together, each with its line and column. What is
PDDL but lies outside this subset is refused by name, never skipped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from galley.domain.pddl import Domain, Fact, Literal, Object, Problem
from galley.domain.pddl_actions import read_actions
from galley.domain.pddl_declarations import (
    read_objects,
    read_predicates,
    read_requirements,
    read_types,
)
from galley.domain.pddl_formula import Scope, object_types, read_condition, read_literal
from galley.domain.pddl_syntax import Definition, Faults, read_definition, read_name
from galley.domain.sexpr import Atom

_DOMAIN_SECTIONS = (":requirements", ":types", ":constants", ":predicates", ":action")
_DOMAIN_REFUSED = (
    (":functions", "action costs and numeric fluents"),
    (":durative-action", "actions with a duration"),
    (":derived", "derived predicates"),
    (":axiom", "derived predicates"),
    (":constraints", "trajectory constraints"),
)
_PROBLEM_SECTIONS = (":domain", ":requirements", ":objects", ":init", ":goal")
_PROBLEM_REFUSED = (
    (":metric", "plan costs"),
    (":constraints", "trajectory constraints"),
    (":length", "bounds on the plan's length"),
)


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
    domain = replace(domain, actions=read_actions(parts, domain, faults))
    faults.raise_if_any()
    return domain


def read_problem(path: str | Path, domain: Domain) -> Problem:
    """Reads a problem file of ``domain``.

    Raises:
        BadInput: every fault of the file, with line and column.
    """
    faults = Faults(str(path))
    parts = read_definition(path, "problem", _PROBLEM_SECTIONS, _PROBLEM_REFUSED, faults)
    read_requirements(parts.body(":requirements"), faults)
    _check_domain_name(parts, domain, faults)
    own = read_objects(parts.body(":objects"), domain, domain.constants, faults)
    objects = domain.constants + own
    init = _read_init(parts, domain, objects, faults)
    goal = _read_goal(parts, domain, objects, faults)
    faults.raise_if_any()
    places = tuple((each.line, each.column) for each in init)
    facts = tuple(each.fact for each in init)
    return Problem(parts.name, domain.name, faults.file, objects, facts, goal, places)


def _check_domain_name(parts: Definition, domain: Domain, faults: Faults) -> None:
    section = parts.one(":domain")
    if section is None:
        faults.add(parts.node, f"the problem names no domain; add (:domain {domain.name})")
        return
    if len(section.body) != 1:
        faults.add(section.node, f"expected (:domain NAME), got '{section.node}'")
        return
    name = read_name(section.body[0], "the domain's name", faults)
    if name is not None and name != domain.name:
        what = f"this problem is for domain '{name}', but {domain.file} defines '{domain.name}'"
        faults.add(section.body[0], what)


def _read_init(
    parts: Definition, domain: Domain, objects: tuple[Object, ...], faults: Faults
) -> tuple[Literal, ...]:
    section = parts.one(":init")
    if section is None:
        faults.add(parts.node, "the problem has no :init; write (:init) if nothing holds at first")
        return ()
    scope = Scope(domain, object_types(objects), ":init", False, faults)
    literals = [read_literal(node, scope) for node in section.body]
    found = [each for each in literals if each is not None]
    _check_contradiction(found, ":init states", faults)
    # Facts that are not listed are false already, so a negated one says nothing new.
    return tuple({each.fact: each for each in reversed(found) if each.positive}.values())[::-1]


def _read_goal(
    parts: Definition, domain: Domain, objects: tuple[Object, ...], faults: Faults
) -> tuple[Literal, ...]:
    section = parts.one(":goal")
    if section is None:
        faults.add(parts.node, "the problem has no goal; add (:goal (and ...))")
        return ()
    if len(section.body) != 1:
        faults.add(section.node, "the goal must be one condition; put several into (and ...)")
        return ()
    scope = Scope(domain, object_types(objects), "the goal", False, faults)
    goal = read_condition(section.body[0], scope)
    _check_contradiction(goal, "the goal asks for", faults)
    return goal


def _check_contradiction(literals: Sequence[Literal], who: str, faults: Faults) -> None:
    signs: dict[Fact, Literal] = {}
    for literal in literals:
        first = signs.setdefault(literal.fact, literal)
        if first.positive != literal.positive:
            where = Atom(literal.predicate, literal.line, literal.column)
            faults.add(where, f"{who} {literal} and, at line {first.line}, {first}")
