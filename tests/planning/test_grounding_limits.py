"""Grounding that would not end is refused by the name of what is too large."""

import os
from itertools import pairwise

import pytest

from galley.domain.failure import FailureKind
from galley.planning import LimitReached, SearchLimits, ground, limits, search
from galley.planning.limits import resident_mib

MOST = 50_000
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


@pytest.fixture(autouse=True)
def fewer_combinations(monkeypatch):
    """As many as an action that is too large makes in a moment."""
    monkeypatch.setattr(limits, "_MAX_COMBINATIONS", MOST)


@pytest.mark.parametrize(
    ("action", "more"),
    [
        (f"(?a ?b ?c ?d ?e) :precondition (and {ALL}) :effect (s ?e)", {}),
        ("(?a ?b ?c ?d ?e) :precondition (not (p ?a)) :effect (s ?e)", {}),
        # It reaches itself what it takes.
        (f"(?a ?b ?c ?d ?e ?f) :precondition (and {ALL} (q ?e ?f)) :effect (p ?f)", {}),
        (f"(?a ?b ?c ?d ?e ?z) :precondition (and {HERE}) :effect (s ?e)", {"init": TWO}),
        ("(?a) :precondition (forall (?b ?c ?d ?e) (or (p ?b) (q ?c ?e))) :effect (s ?a)", {}),
        ("(?a) :effect (forall (?b ?c ?d ?e) (when (p ?b) (q ?c ?d)))", {}),
        ("(?a ?b) :precondition (and (p ?a) (p ?b) (exists (?c ?d) (q ?c ?d))) :effect (r)", {}),
    ],
)
def test_an_action_that_is_too_large_is_named(action, more, pddl):
    with pytest.raises(LimitReached, match=r"most of them of action 'large'; give") as caught:
        ground(*pddl(*texts(action, **more)))
    assert caught.value.failure.kind is FailureKind.BUDGET
    assert caught.value.failure.numbers["combinations"] >= MOST


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
def test_a_goal_with_too_many_instances_is_named(goal, pddl):
    with pytest.raises(LimitReached, match=r"most of them of the goal; give"):
        ground(*pddl(*texts("(?a) :effect (r)", goal)))


@pytest.mark.parametrize("limit", [{"seconds": 0.3}, {"memory_mib": 1}])
def test_grounding_ends_at_a_limit(limit, pddl, monkeypatch):
    monkeypatch.undo()
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
