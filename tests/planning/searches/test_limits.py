"""Limits end a search with a BUDGET failure."""

from time import perf_counter

import pytest

from galley.domain.failure import Failure, FailureKind
from galley.planning import Plan, SearchLimits, search
from galley.planning.limits import resident_mib
from galley.planning.searches.methods import METHODS
from galley.tests.planning.random_tasks import task_of

SWITCHES = [f"x{i}" for i in range(18)]


@pytest.fixture(scope="module")
def large():
    """Eighteen switches, all to be thrown, each from one of two sides: 2^18 states."""
    return task_of(
        "(define (domain d) (:predicates (up ?x) (down ?x))"
        "(:action a :parameters (?x) :precondition (down ?x)"
        " :effect (and (up ?x) (not (down ?x))))"
        "(:action b :parameters (?x) :precondition (up ?x)"
        " :effect (and (down ?x) (not (up ?x)))))",
        f"(define (problem p) (:domain d) (:objects {' '.join(SWITCHES)})"
        f" (:init {' '.join(f'(down {each})' for each in SWITCHES)})"
        f" (:goal (and {' '.join(f'(up {each})' for each in SWITCHES)})))",
    )


@pytest.mark.parametrize("method", METHODS)
def test_a_node_limit_is_kept_to_the_state(large, method):
    found = search(large, method, SearchLimits(nodes=10))
    assert isinstance(found, Failure)
    assert found.kind is FailureKind.BUDGET
    assert found.certificate is None
    assert found.numbers["expanded"] == 10
    assert "node limit of 10" in found.message


@pytest.mark.parametrize("nodes", [1000, 20_000])
def test_a_node_limit_holds_in_large_layers_too(large, nodes):
    found = search(large, "bfs", SearchLimits(nodes=nodes))
    assert found.kind is FailureKind.BUDGET
    assert found.numbers["expanded"] == nodes


@pytest.mark.parametrize("method", ["bfs", "astar"])
def test_a_limit_of_just_enough_is_no_limit(kitchen_task, method):
    plan = search(kitchen_task, method)
    assert search(kitchen_task, method, SearchLimits(nodes=plan.expanded)).actions == plan.actions
    assert search(kitchen_task, method, SearchLimits(nodes=plan.expanded // 2)).certificate is None


@pytest.mark.parametrize("method", METHODS)
def test_without_time_or_memory_there_is_no_answer(large, method):
    limits = SearchLimits(seconds=0), SearchLimits(memory_mib=resident_mib() / 2)
    for limit, words in zip(limits, ("time limit of 0 s", "memory limit"), strict=True):
        found = search(large, method, limit)
        assert found.kind is FailureKind.BUDGET
        assert words in found.message


def test_a_goal_that_holds_needs_no_nodes(kitchen_task, with_goal):
    task = with_goal(kitchen_task, "(near center)")
    for method in METHODS:
        found = search(task, method, SearchLimits(nodes=0))
        assert isinstance(found, Plan)
        assert found.actions == ()


def test_progress_is_told(large, monkeypatch):
    monkeypatch.setattr("galley.planning.limits._PROGRESS_S", 0)
    told = []
    search(large, "bfs", SearchLimits(nodes=2000, progress=told.append))
    assert len(told) > 3
    assert told == sorted(told)


WIDE = """(define (domain wide) (:predicates (at ?x) (on ?x) (off ?x))
  (:action swap :parameters (?a ?b) :precondition (and (on ?a) (off ?b))
    :effect (and (not (on ?a)) (off ?a) (on ?b) (not (off ?b))))
  (:action never :parameters (?a ?b) :precondition (and (on ?a) (at ?b))
    :effect (and (not (off ?b)) (at ?a))))"""


def test_a_search_ends_soon_after_its_limit_where_states_have_hundreds_of_successors():
    """40 objects in two halves that swap: 400 successors, a goal that takes very long."""
    names = [f"o{i}" for i in range(40)]
    init = " ".join(f"({'on' if i < 20 else 'off'} {name})" for i, name in enumerate(names))
    goal = " ".join(f"(at {name})" for name in names)
    task = task_of(
        WIDE,
        f"(define (problem p) (:domain wide) (:objects {' '.join(names)})"
        f"(:init (at o0) {init}) (:goal (and {goal})))",
    )
    for method in ("bfs", "gbfs"):
        began = perf_counter()
        found = search(task, method, SearchLimits(seconds=0.5))
        assert perf_counter() - began < 1.5
        if method == "bfs" or isinstance(found, Failure):  # a greedy one may well solve it in time
            assert found.kind is FailureKind.BUDGET
            assert found.numbers["expanded"] > 1


@pytest.mark.parametrize("wrong", [{"nodes": -1}, {"seconds": -0.5}, {"memory_mib": float("nan")}])
def test_limits_that_make_no_sense(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        SearchLimits(**wrong)


def test_an_unknown_search(kitchen_task):
    with pytest.raises(ValueError, match="did you mean 'astar'"):
        search(kitchen_task, "a-star")
