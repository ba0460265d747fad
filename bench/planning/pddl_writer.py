"""Writes PDDL for other planners."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from galley.domain.pddl.formula import OBJECT, Fact, FunctionTerm, Variable
from galley.domain.pddl.model import TOTAL_COST, ActionSchema, Domain, Object, Problem


def write_pddl(domain: Domain, problem: Problem) -> tuple[str, str]:
    """The texts of a domain and of a problem in it.

    Reading them gives the same data again, places in files and the order of a type's parents
    aside. The domain's constants are declared in the domain's text only.
    """
    return domain_text(domain), problem_text(domain, problem)


def domain_text(domain: Domain) -> str:
    """A domain as PDDL."""
    types = [f"{each.name} - {parent}" for each in domain.types for parent in each.parents]
    predicates = [_signature(each.name, each.parameters) for each in domain.predicates]
    functions = [f"{_signature(each.name, each.parameters)} - number" for each in domain.functions]
    lines = [f"(define (domain {domain.name})"]
    if domain.requirements:
        lines.append(f"  (:requirements {' '.join(domain.requirements)})")
    lines += _section("types", types)
    lines += _section("constants", map(_declared, domain.constants))
    lines += ["  (:predicates", *(f"    {each}" for each in predicates), "  )"]
    lines += _section("functions", functions)
    for action in domain.actions:
        lines += _action(action)
    return "\n".join((*lines, ")", ""))


def problem_text(domain: Domain, problem: Problem) -> str:
    """A problem as PDDL."""
    constants = {each.name for each in domain.constants}
    objects = [_declared(each) for each in problem.objects if each.name not in constants]
    values = [f"(= {term} {_number(value)})" for term, value in problem.values.items()]
    lines = [f"(define (problem {problem.name})", f"  (:domain {problem.domain})"]
    lines += ["  (:objects", *(f"    {each}" for each in objects), "  )"]
    lines += ["  (:init", *(f"    {each}" for each in (*problem.init, *values)), "  )"]
    lines.append(f"  (:goal {_conjunction(problem.goal)})")
    if problem.metric:
        lines.append(f"  (:metric minimize ({TOTAL_COST}))")
    return "\n".join((*lines, ")", ""))


def _action(action: ActionSchema) -> list[str]:
    costs = [f"(increase ({TOTAL_COST}) {_amount(each)})" for each in action.cost]
    return [
        f"  (:action {action.name}",
        f"    :parameters ({_typed(action.parameters)})",
        f"    :precondition {_conjunction(action.precondition)}",
        f"    :effect {_conjunction((*action.effect, *costs))})",
    ]


def _section(name: str, entries: Iterable[str]) -> list[str]:
    lines = [f"    {each}" for each in entries]
    return [f"  (:{name}", *lines, "  )"] if lines else []


def _conjunction(parts: Iterable[object]) -> str:
    return f"(and {' '.join(map(str, parts))})"


def _signature(name: str, parameters: tuple[Variable, ...]) -> str:
    return f"({name} {_typed(parameters)})" if parameters else f"({name})"


def _typed(variables: tuple[Variable, ...]) -> str:
    # The root type is written too: "?a ?b - t" would give ?a the type of ?b.
    return " ".join(f"{each.name} - {_type(each.types)}" for each in variables)


def _type(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else f"(either {' '.join(names)})"


def _declared(item: Object) -> str:
    return f"{item.name} - {item.type or OBJECT}"


def _amount(cost: float | FunctionTerm) -> str:
    return str(Fact(cost.function, cost.args)) if isinstance(cost, FunctionTerm) else _number(cost)


def _number(value: float) -> str:
    """Digits and a point; PDDL knows no exponents."""
    text = format(Decimal(repr(value)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
