"""A limit of time is kept where each state has hundreds of successors."""

import time

import pytest

from galley.domain.failure import Failure, FailureKind
from galley.domain.pddl.reader import read_task
from galley.planning import SearchLimits, ground, search
from galley.planning.limits import SearchBudget
from galley.planning.searches.uniform_cost import UniformCostSearch
from galley.planning.states.space import state_space

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
    task = ground(*read_task(folder / "d.pddl", folder / "p.pddl"))
    space = state_space(task)  # cached in the task, so that only the search is timed
    space.expand([], None)
    assert space.successors
    return task


@pytest.mark.parametrize("method", ["bfs", "gbfs"])
def test_a_search_ends_soon_after_its_limit(method, wide):
    began = time.perf_counter()
    found = search(wide, method, SearchLimits(seconds=0.5))
    assert time.perf_counter() - began < 1.5
    if method == "bfs" or isinstance(found, Failure):  # a greedy one may well solve it in time
        assert found.kind is FailureKind.BUDGET
        assert found.numbers["expanded"] > 1
        assert found.numbers["seconds"] < 1.5


def test_how_often_the_clock_is_read_changes_no_result(wide):
    """Turns of an alternating search end at the same state, with a limit of time and without."""
    ends = []
    for seconds in (None, 1e6):
        run = UniformCostSearch(state_space(wide), [1] * len(state_space(wide).operators))
        budget = SearchBudget(SearchLimits(seconds=seconds))
        while run.effort < 6000:
            assert run.run(1001, budget) is None
        ends.append((run.expanded, run.effort, run.generated))
    assert ends[0] == ends[1]
