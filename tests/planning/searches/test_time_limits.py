"""A limit of time is kept where each state has hundreds of successors."""

import time

import pytest

from galley.domain.failure import Failure, FailureKind
from galley.domain.pddl.reader import read_task
from galley.planning import SearchLimits, ground, search

DOMAIN = """(define (domain wide) (:predicates (at ?x) (on ?x) (off ?x))
  (:action swap :parameters (?a ?b) :precondition (and (on ?a) (off ?b))
    :effect (and (not (on ?a)) (off ?a) (on ?b) (not (off ?b))))
  (:action never :parameters (?a ?b) :precondition (and (on ?a) (at ?b))
    :effect (and (not (off ?b)) (at ?a))))"""


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    """40 objects in two halves that swap: 400 successors, a goal that takes very long."""
    folder = tmp_path_factory.mktemp("wide")
    names = [f"o{i}" for i in range(40)]
    init = " ".join(f"({'on' if i < 20 else 'off'} {name})" for i, name in enumerate(names))
    goal = " ".join(f"(at {name})" for name in names)
    (folder / "d.pddl").write_text(DOMAIN)
    (folder / "p.pddl").write_text(
        f"(define (problem p) (:domain wide) (:objects {' '.join(names)})"
        f"(:init (at o0) {init}) (:goal (and {goal})))"
    )
    return ground(*read_task(folder / "d.pddl", folder / "p.pddl"))


@pytest.mark.parametrize("method", ["bfs", "gbfs"])
def test_a_search_ends_soon_after_its_limit(method, wide):
    began = time.perf_counter()
    found = search(wide, method, SearchLimits(seconds=0.5))
    assert time.perf_counter() - began < 1.5
    if method == "bfs" or isinstance(found, Failure):  # a greedy one may well solve it in time
        assert found.kind is FailureKind.BUDGET
        assert found.numbers["expanded"] > 1
        assert found.numbers["seconds"] < 1.5
