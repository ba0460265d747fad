"""Limits end a search with a BUDGET failure."""

from dataclasses import replace

import pytest

from galley.domain.failure import Failure, FailureKind
from galley.planning import Plan, SearchLimits, ground, plans, search
from galley.planning.limits import resident_mib
from galley.planning.searches.methods import METHODS


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Eighteen switches, all to be thrown, each from one of two sides: 2^18 states."""
    folder = tmp_path_factory.mktemp("large")
    n = 18
    (folder / "d.pddl").write_text(
        "(define (domain d) (:predicates (up ?x) (down ?x))"
        "(:action a :parameters (?x) :precondition (down ?x)"
        " :effect (and (up ?x) (not (down ?x))))"
        "(:action b :parameters (?x) :precondition (up ?x)"
        " :effect (and (down ?x) (not (up ?x)))))"
    )
    names = " ".join(f"x{i}" for i in range(n))
    (folder / "p.pddl").write_text(
        f"(define (problem p) (:domain d) (:objects {names})"
        f" (:init {' '.join(f'(down x{i})' for i in range(n))})"
        f" (:goal (and {' '.join(f'(up x{i})' for i in range(n))})))"
    )
    from galley.domain.pddl.reader import read_task

    return ground(*read_task(folder / "d.pddl", folder / "p.pddl"))


@pytest.mark.parametrize("method", METHODS)
def test_a_node_limit_is_kept_to_the_state(large, method):
    found = search(large, method, SearchLimits(nodes=10))
    assert isinstance(found, Failure)
    assert found.kind is FailureKind.BUDGET
    assert found.certificate is None
    assert found.numbers["expanded"] == 10
    assert "node limit of 10" in found.message


@pytest.mark.parametrize("nodes", [1000, 6000, 50_000])
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
def test_no_time_gives_no_answer(large, method):
    found = search(large, method, SearchLimits(seconds=0))
    assert found.kind is FailureKind.BUDGET
    assert "time limit of 0 s" in found.message


@pytest.mark.parametrize("method", METHODS)
def test_memory_beyond_the_limit_gives_no_answer(large, method):
    found = search(large, method, SearchLimits(memory_mib=resident_mib() / 2))
    assert found.kind is FailureKind.BUDGET
    assert "memory limit" in found.message


def test_a_goal_that_holds_needs_no_nodes(kitchen_task, with_goal):
    task = with_goal(kitchen_task, "(near center)")
    for method in METHODS:
        found = search(task, method, SearchLimits(nodes=0))
        assert isinstance(found, Plan)
        assert found.actions == ()


def test_an_impossible_goal_is_known_without_search(kitchen_task):
    problem = kitchen_task.problem
    init = tuple(fact for fact in problem.init if str(fact) != "(empty h1)")
    task = ground(kitchen_task.domain, replace(problem, init=init))
    for method in METHODS:
        assert search(task, method, SearchLimits(nodes=0)).kind is FailureKind.CONTRADICTION


def test_plans_stop_at_a_limit(large):
    iterator = plans(large, SearchLimits(nodes=100))
    assert list(iterator) == []
    assert not iterator.complete
    assert iterator.failure.kind is FailureKind.BUDGET


def test_progress_is_told(large):
    told = []
    search(large, "bfs", SearchLimits(seconds=3, progress=told.append))
    assert told == sorted(told)


@pytest.mark.parametrize("wrong", [{"nodes": -1}, {"seconds": -0.5}, {"memory_mib": float("nan")}])
def test_limits_that_make_no_sense(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        SearchLimits(**wrong)


def test_an_unknown_search(kitchen_task):
    with pytest.raises(ValueError, match="did you mean 'astar'"):
        search(kitchen_task, "a-star")
