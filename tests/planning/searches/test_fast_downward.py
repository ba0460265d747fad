"""Optimal plans against Fast Downward's, which reads what we write for it.

Nothing is skipped: without its peer this file fails.
"""

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from galley.bench.planning import adl, tasks
from galley.bench.planning.fast_downward import FastDownwardError, cheapest
from galley.domain.failure import Failure, FailureKind
from galley.domain.pddl.reader import read_domain, read_problem, read_task
from galley.domain.shipped import KITCHEN
from galley.planning import ground, search, validate_actions
from galley.tests.planning import random_tasks

pytestmark = pytest.mark.slow
COLLECTION = Path(find_spec("pddlgym").submodule_search_locations[0]) / "pddl"

# Folder and problem. Between them: negative conditions and goals, equality, quantifiers,
# implications, types without hierarchy, actions as facts, tasks that have no plan.
GYM = (
    "baking/problem4",
    "blocks/problem3",
    "glibdoors_test/problem10",
    "glibrearrangement/problem1",
    "meetpass/problem1",
    "minecraft/problem1",
    "quantifiedblocks3/problem2",
    "searchandrescue_level1/problem0",
    "spannerlearning_test/problem10",
    "tsp/problem2",
)
GENERATED = [
    tasks.kitchen(3, 6, seed=1),
    tasks.gripper(3),
    tasks.blocks(5, seed=1),
    tasks.logistics(3),
    tasks.transport(3, 5, seed=1),
    tasks.transport(2, 4, seed=2, unit=0.25),
    adl.briefcase(4),
    adl.miconic(5, 5, seed=2),
    adl.fleet(4),
    adl.lights(7, seed=2),
    adl.links(3),
    adl.tolls(5, seed=1),
    *adl.unsolvable(),
]


def read(domain_file, problem_file):
    domain = read_domain(domain_file)
    return domain, read_problem(problem_file, domain)


def compare(domain, problem):
    """Both planners' answers agree; returns our plan, or None where there is none."""
    unit = replace(problem, metric=False)
    theirs = cheapest(domain, unit)
    ours = search(ground(domain, unit), "bfs")
    if theirs is None:
        assert isinstance(ours, Failure), f"not a plan: {ours}"
        assert ours.kind is FailureKind.CONTRADICTION
        return None
    assert not isinstance(ours, Failure), f"{ours}, but there is a plan: {theirs}"
    assert len(ours.actions) == theirs.cost
    if problem.metric:
        theirs = cheapest(domain, problem)
    best = search(ground(domain, problem), "astar")
    assert best.cost == pytest.approx(theirs.cost)
    for plan in (ours, best):
        assert validate_actions(domain, problem, plan.actions).valid
    return best


@pytest.mark.parametrize("name", GYM)
def test_pddlgym_collection(name):
    folder, problem = name.split("/")
    domain = f"{folder.removesuffix('_test')}.pddl"
    files = COLLECTION / domain, COLLECTION / folder / f"{problem}.pddl"
    compare(*read(*files))


@pytest.mark.parametrize("case", GENERATED, ids=lambda case: case.name)
def test_generated(case, tmp_path):
    files = case.write(tmp_path)
    plan = compare(*read(*files))
    assert (plan is not None) == case.solvable


@pytest.mark.parametrize("seed", [5, 25, 26, 29, 31, 48, 54, 57])
def test_effects_within_effects(seed):
    # Quantified effects within quantified ones, names that hide others, sums of costs.
    task = random_tasks.make(seed)
    compare(task.domain, task.problem)


def test_what_fast_downward_says_when_it_fails():
    domain, problem = read(KITCHEN / "kitchen.pddl", KITCHEN / "task.pddl")
    broken = replace(problem, objects=problem.objects[:1])
    with pytest.raises(FastDownwardError, match="error: "):
        cheapest(domain, broken)


def test_costs_add_up_as_they_are_written(tmp_path):
    (tmp_path / "d").write_text(
        "(define (domain c) (:predicates (p)) (:functions (total-cost) - number)"
        " (:action a :effect (and (p) (increase (total-cost) 0.1) (increase (total-cost) 0.2))))"
    )
    (tmp_path / "p").write_text(
        "(define (problem x) (:domain c) (:init) (:goal (p)) (:metric minimize (total-cost)))"
    )
    domain, problem = read_task(tmp_path / "d", tmp_path / "p")
    assert cheapest(domain, problem).cost == 0.3
    assert search(ground(domain, problem), "astar").cost == 0.3
