"""Action costs that are read."""

import pytest

from galley.domain.pddl.formula import Fact, FunctionTerm, Literal, Variable
from galley.domain.pddl.model import Function
from galley.tests.domain.pddl.places import COSTS_DOMAIN as DOMAIN
from galley.tests.domain.pddl.places import COSTS_PROBLEM as PROBLEM


@pytest.fixture
def read(read):
    return lambda domain=DOMAIN, problem=PROBLEM: read(domain, problem)


def test_costs_and_values_are_data(read):
    domain, problem = read()
    places = (Variable("?a", ("place",)), Variable("?b", ("place",)))
    assert domain.functions == (
        Function("total-cost", ()),
        Function("way", places),
        Function("toll", ()),
    )
    go, rest = domain.actions
    assert go.cost == (FunctionTerm("way", ("?a", "?b")),)
    assert (go.cost[0].line, go.cost[0].column) == (9, 64)
    assert go.effect == (Literal("at", ("?b",)), Literal("at", ("?a",), False))
    assert (rest.cost, rest.effect) == ((2.0,), ())
    assert problem.metric
    assert problem.values == {
        Fact("way", ("home", "inn")): 3.0,
        Fact("way", ("inn", "home")): 2.5,
    }
    assert problem.init == (Fact("at", ("home",)),)
    assert go.cost[0].ground({"?a": "home", "?b": "inn"}) in problem.values


def test_several_costs_are_kept_and_constants_may_be_named(read):
    cost = "(and (increase (total-cost) 2) (increase (total-cost) (way home home)))"
    domain, _ = read(DOMAIN.replace("(increase (total-cost) 2)", cost))
    assert domain.action("rest").cost == (2.0, FunctionTerm("way", ("home", "home")))


def test_functions_without_arguments_need_no_parentheses(read):
    domain, problem = read(
        DOMAIN.replace("(total-cost) 2", "total-cost toll"),
        PROBLEM.replace("(total-cost)", "total-cost").replace("(:init", "(:init (= toll 4)"),
    )
    assert domain.action("rest").cost == (FunctionTerm("toll", ()),)
    assert problem.values[Fact("toll", ())] == 4.0
    assert problem.metric


def test_without_a_metric_values_may_be_missing(read):
    problem = PROBLEM.replace("(:metric minimize (total-cost))", "")
    problem = problem.replace("(= (way home inn) 3) (= (way inn home) 2.5)", "")
    assert not read(problem=problem)[1].metric


@pytest.mark.parametrize(("text", "number"), [("007", 7), (".5", 0.5), ("1e2", 100), ("+3.", 3)])
def test_numbers(text, number, read):
    domain, _ = read(DOMAIN.replace("(total-cost) 2", f"(total-cost) {text}"))
    assert domain.action("rest").cost == (number,)
