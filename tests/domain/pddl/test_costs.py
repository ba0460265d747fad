"""Action costs: what is supported, and what is refused."""

import pytest

from galley.domain.errors import BadInput
from galley.domain.pddl.formula import Fact, FunctionTerm, Literal, Variable
from galley.domain.pddl.model import Function
from galley.domain.pddl.reader import read_task
from galley.tests.domain.pddl.places import place_of

DOMAIN = """\
(define (domain d)
  (:types place)
  (:constants home - place)
  (:predicates (at ?p - place))
  (:functions (total-cost) - number (way ?a ?b - place) (toll) - number)
  (:action go
    :parameters (?a ?b - place)
    :precondition (at ?a)
    :effect (and (at ?b) (not (at ?a)) (increase (total-cost) (way ?a ?b))))
  (:action rest :effect (increase (total-cost) 2)))
"""
PROBLEM = """\
(define (problem p) (:domain d)
  (:objects inn - place)
  (:init (at home) (= (total-cost) 0) (= (way home inn) 3) (= (way inn home) 2.5))
  (:goal (at inn))
  (:metric minimize (total-cost)))
"""


@pytest.fixture
def read(tmp_path):
    def run(domain=DOMAIN, problem=PROBLEM):
        (tmp_path / "d.pddl").write_text(domain, encoding="utf-8")
        (tmp_path / "p.pddl").write_text(problem, encoding="utf-8")
        return read_task(tmp_path / "d.pddl", tmp_path / "p.pddl")

    return run


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


def test_a_function_of_no_objects_needs_no_value(read):
    domain = DOMAIN.replace("(:types place)", "(:types place inn)").replace(
        "(way ?a ?b - place)", "(way ?a - place ?b - inn)"
    )
    domain = domain.replace("?a ?b - place)\n", "?a - place ?b - inn)\n")
    domain = domain.replace("(at ?b) (not", "(not")
    problem = PROBLEM.replace("(= (way home inn) 3) (= (way inn home) 2.5)", "")
    assert read(domain, problem)[1].values == {}


@pytest.mark.parametrize(("text", "number"), [("007", 7), (".5", 0.5), ("1e2", 100), ("+3.", 3)])
def test_numbers(text, number, read):
    domain, _ = read(DOMAIN.replace("(total-cost) 2", f"(total-cost) {text}"))
    assert domain.action("rest").cost == (number,)


ADD = "(increase (total-cost) 2)"
NEGATIVE = "a cost must be a finite number, 0 or more"

DOMAIN_FAULTS = {
    "negative": ("(total-cost) 2", "(total-cost) -2", "@-2", NEGATIVE),
    "infinite": ("(total-cost) 2", "(total-cost) 1e999", "@1e999", NEGATIVE),
    "no number": ("(total-cost) 2", "(total-cost) two", "@two", "expected a number or a function"),
    "no amount": (ADD, "(increase (total-cost))", "@(increase (total-cost)))", "expected (incr"),
    "other function": (ADD, "(increase (toll) 2)", "@(increase (toll)", "only (total-cost) can"),
    "undeclared": ("(way ?a ?b))", "(wy ?a ?b))", "(@wy", "did you mean 'way'"),
    "arity": ("(way ?a ?b))", "(way ?a))", "(@way ?a))", "takes 2 arguments (?a ?b), got 1"),
    "variable": ("(way ?a ?b))", "(way ?a ?c))", "?a @?c", "'?c' is not among"),
    "arithmetic": ("(total-cost) 2", "(total-cost) (* 2 (toll))", "@(* 2", "arithmetic"),
    "itself": ("(total-cost) 2", "(total-cost) (total-cost)", ") @(total-cost)", "an amount"),
    "total-cost": (
        "(total-cost) - number ",
        "",
        "se @(total-cost) (way ?a",
        "add (:functions (total-cost) - number)",
    ),
    "in when": (ADD, f"(when (at home) {ADD})", f"@{ADD}", "'increase' inside 'when'"),
    "in forall": (ADD, f"(forall (?x) (and {ADD}))", f"@{ADD}", "'increase' inside 'forall'"),
    "object fluent": ("(toll) - number", "(toll) - place", "(toll) - @place", "object fluents"),
    "twice": ("(toll) - number", "(way) - number", "@(way) -", "declared twice"),
    "parameters": ("(total-cost) - n", "(total-cost ?x) - n", "@(total-cost ?x)", "no parameters"),
    "type": ("?b - place) (toll)", "?b - plce) (toll)", "@plce", "did you mean 'place'"),
    "bare name": ("(toll) -", "toll -", "@toll", "expected a function such as"),
    "function as a fact": ("(at ?a)\n", "(toll)\n", "(@toll)\n", "is a function"),
    "numeric equality": ("(at ?a)\n", "(= (toll) 3)\n", "@(= (toll", "numeric fluent"),
    "assign": (ADD, "(assign (total-cost) 2)", "@(assign", "numeric fluent"),
    "scale": (ADD, "(scale-up (total-cost) 2)", "@(scale-up", "numeric fluent"),
}

PROBLEM_FAULTS = {
    "negative": ("inn) 3", "inn) -3", "@-3", NEGATIVE),
    "no number": ("inn) 3", "inn) home", "inn) @home", "must be a number, got 'home'"),
    "no value": ("inn) 3)", "inn))", "@(= (way home inn))", "expected (= (function"),
    "two values": ("(= (way inn home)", "(= (way home inn)", ") @(= (way home inn) 2", "3"),
    "undeclared": ("(= (way home", "(= (wy home", "(@wy", "did you mean 'way'"),
    "object": ("(way home inn)", "(way home in)", "home @in)", "did you mean 'inn'"),
    "variable": ("(way home inn)", "(way home ?x)", "home @?x", "can't stand in :init"),
    "start": ("(total-cost) 0", "(total-cost) 5", "@5", "must be 0 at the start"),
    "maximize": ("minimize", "maximize", "@maximize", "only (:metric minimize"),
    "duration": ("minimize (total-cost)", "minimize (total-time)", "@(total-time)", "only (:m"),
    "sum": ("minimize (total-cost)", "minimize (+ (toll) 1)", "@(+ (toll", "only (:metric"),
    "no measure": ("minimize (total-cost)", "minimize", "@(:metric", "expected (:metric"),
    "values missing": (
        "(= (way home inn) 3) (= (way inn home) 2.5)",
        "",
        "@(:init",
        "function 'way' has no value, but the cost of action 'go' needs it",
    ),
}


def check(caught, text, place, what, letter):
    errors = caught.value.errors
    assert what in errors[0].what
    assert errors[0].file.endswith(f"{letter}.pddl")
    if place:
        assert (errors[0].line, errors[0].column) == place_of(text, place), str(errors[0])
        assert len(errors) == 1, [str(each) for each in errors]


@pytest.mark.parametrize("name", DOMAIN_FAULTS)
def test_a_domain_fault_has_its_place(name, read):
    old, new, place, what = DOMAIN_FAULTS[name]
    assert old in DOMAIN
    text = DOMAIN.replace(old, new, 1)
    with pytest.raises(BadInput) as caught:
        read(domain=text)
    # Read alone: whether the problem's metric then has a fault too is another question.
    check(caught, text, place, what, "d")


@pytest.mark.parametrize("name", PROBLEM_FAULTS)
def test_a_problem_fault_has_its_place(name, read):
    old, new, place, what = PROBLEM_FAULTS[name]
    assert old in PROBLEM
    text = PROBLEM.replace(old, new, 1)
    with pytest.raises(BadInput) as caught:
        read(problem=text)
    check(caught, text, place, what, "p")


def test_a_metric_needs_the_domains_total_cost(read):
    domain = DOMAIN.replace("(total-cost) - number ", "").replace(ADD, "()")
    domain = domain.replace(" (increase (total-cost) (way ?a ?b))", "")
    with pytest.raises(BadInput) as caught:
        read(domain)
    assert [(each.line, each.column) for each in caught.value.errors] == [(3, 23), (5, 21)]
