"""Grounding that would not end is refused at once, by the name of what is too large."""

import os
from itertools import pairwise, product
from time import process_time

import pytest

from galley.domain.failure import FailureKind
from galley.domain.pddl.formula import Fact
from galley.planning import LimitReached, SearchLimits, ground, search
from galley.planning.grounding.forecast import Forecast
from galley.planning.limits import resident_mib
from galley.tests.planning.random_tasks import make

ITEMS = [f"o{i}" for i in range(60)]
DOMAIN = """(define (domain d) (:requirements :adl) (:predicates (p ?x) (q ?x ?y) (r) (s ?x))
 (:action step :parameters (?x ?y) :precondition (and (p ?x) (q ?x ?y)) :effect (p ?y))
 (:action large :parameters {}))"""
PROBLEM = "(define (problem x) (:domain d) (:objects {}) (:init {}) (:goal {}))"
CHAIN = "(p o0) " + " ".join(f"(q {a} {b})" for a, b in pairwise(ITEMS))


def texts(action, goal="(s o9)", init=CHAIN):
    """A task in which ``p`` is reached from o0 on along ``q``."""
    return DOMAIN.format(action), PROBLEM.format(" ".join(ITEMS), init, goal)


ALL = "(p ?a) (p ?b) (p ?c) (p ?d) (p ?e)"
HERE = "(q ?a ?z) (q ?b ?z) (q ?c ?z) (q ?d ?z) (q ?e ?z)"
TWO = " ".join(f"(q {each} o{i % 2})" for i, each in enumerate(ITEMS))


@pytest.mark.parametrize(
    ("action", "most", "more"),
    [
        (f"(?a ?b ?c ?d ?e) :precondition (and {ALL}) :effect (s ?e)", 60**5, {}),
        ("(?a ?b ?c ?d ?e) :precondition (not (p ?a)) :effect (s ?e)", 60**5, {}),
        # It reaches itself what it takes.
        (f"(?a ?b ?c ?d ?e ?f) :precondition (and {ALL} (q ?e ?f)) :effect (p ?f)", 60**5, {}),
        (
            f"(?a ?b ?c ?d ?e ?z) :precondition (and {HERE}) :effect (s ?e)",
            2 * 30**5,
            {"init": TWO},
        ),
        (
            "(?a) :precondition (forall (?b ?c ?d ?e) (or (p ?b) (q ?c ?e))) :effect (s ?a)",
            60**5,
            {},
        ),
        ("(?a) :effect (forall (?b ?c ?d ?e) (when (p ?b) (q ?c ?d)))", 60**5, {}),
        (
            "(?a ?b) :precondition (and (p ?a) (p ?b) (exists (?c ?d ?e) (q ?c ?d))) :effect (r)",
            60**5,
            {},
        ),
    ],
)
def test_an_action_that_is_too_large_is_named_at_once(action, most, more, pddl):
    began = process_time()
    with pytest.raises(LimitReached, match=r"action 'large' has [0-9,]+ or more") as caught:
        ground(*pddl(*texts(action, **more)))
    assert process_time() - began < 2.5
    assert caught.value.failure.kind is FailureKind.BUDGET
    numbers = caught.value.failure.numbers
    assert numbers["combinations"] < 200_000
    assert 5_000_000 < numbers["foreseen"] <= 1.1 * most


def test_many_parameters_are_no_fault_if_few_combinations_are_reached(pddl):
    """60^8 combinations, of which 53 are reached: those along the chain."""
    names = "?a ?b ?c ?d ?e ?f ?g ?h"
    links = " ".join(f"(q {a} {b})" for a, b in pairwise(names.split()))
    action = f"({names}) :precondition (and (p ?a) {links}) :effect (s ?h)"
    task = ground(*pddl(*texts(action)))
    assert sum(each.action.name == "large" for each in task.operators) == 53
    assert len(search(task).actions) == 3


@pytest.mark.parametrize(
    "goal",
    [
        "(forall (?x ?y ?z ?w) (or (q ?x ?y) (p ?z) (p ?w)))",
        "(exists (?x ?y ?z ?u) (and (q ?x ?y) (p ?u) (r)))",
    ],
)
def test_a_goal_with_too_many_instances_is_named_at_once(goal, pddl):
    began = process_time()
    with pytest.raises(LimitReached, match=r"the goal has [0-9,]+ or more"):
        ground(*pddl(*texts("(?a) :effect (r)", goal)))
    assert process_time() - began < 2.5


@pytest.mark.parametrize("limit", [{"seconds": 0.3}, {"memory_mib": 1}])
def test_grounding_ends_at_a_limit(limit, pddl):
    task = pddl(*texts("(?a ?b ?c) :precondition (and (p ?a) (p ?b) (p ?c)) :effect (s ?a)"))
    with pytest.raises(LimitReached, match=r"grounding stopped at the (time|memory) limit"):
        ground(*task, SearchLimits(**limit))


def test_memory_is_limited_by_default():
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**20
    assert 0 < SearchLimits().memory_mib - resident_mib() <= pages / 2 + 100


def test_why_a_goal_is_unreachable_is_told_though_with_a_remedy_too_much_is_reachable(pddl):
    action = f"(?a ?b ?c ?d ?e) :precondition (and {ALL}) :effect (s ?e)"
    never = search(ground(*pddl(*texts(action, init=CHAIN.removeprefix("(p o0)")))))
    assert never.kind is FailureKind.CONTRADICTION
    assert "(p o0)" in never.certificate["never"]


@pytest.mark.parametrize("seed", range(20))
def test_the_forecast_counts_what_trying_all_bindings_counts(seed, pddl):
    made = make(seed)
    fixpoint = ground(*pddl(made.domain_text, made.problem_text)).fixpoint
    for schema in fixpoint.schemas.values():
        conditions = dict.fromkeys(schema.positive)
        variables = sorted({i for _, pattern in conditions for i in pattern if isinstance(i, int)})
        tried = (
            dict(zip(variables, objects, strict=True))
            for objects in product(*(schema.candidates[i] for i in variables))
        )
        whole = sum(
            all(
                Fact(p, tuple(b.get(i, i) for i in args)) in fixpoint.true for p, args in conditions
            )
            for b in tried
        )
        unbound = [None] * len(schema.candidates)
        matches = fixpoint._matches
        assert Forecast(schema, matches, 10**9).count(list(conditions), unbound) == whole
        assert Forecast(schema, matches, 3).count(list(conditions), unbound) <= whole
