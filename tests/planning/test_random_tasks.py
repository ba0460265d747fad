"""Random small tasks of full PDDL against an exhaustive reference that shares no code."""

import random
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from galley.domain.failure import FailureKind
from galley.domain.pddl.formula import And
from galley.planning import Plan, ground, search, validate_actions
from galley.planning.explain.conflicts import irreducible_conflict
from galley.tests.effort import examples
from galley.tests.planning.random_tasks import ADL, STRIPS, make
from galley.tests.planning.reference import Reference, TooMany

SEEDS = st.integers(0, 10**6)


def both(seed, features=ADL):
    """The ground task and the reference of a random task; skips those too large for it."""
    made = make(seed, features)
    reference = Reference(made.domain, made.problem)
    try:
        _ = reference.edges
    except TooMany:
        return None, None
    return ground(made.domain, made.problem), reference


@given(SEEDS)
@settings(max_examples=examples(300), deadline=None)
def test_breadth_first_finds_a_shortest_plan_or_proves_there_is_none(seed):
    task, reference = both(seed)
    if task is None:
        return
    found = search(task, "bfs")
    if isinstance(found, Plan):
        assert len(found.actions) == reference.shortest()
        verdict = validate_actions(task.domain, task.problem, found.actions)
        assert verdict.valid
        assert verdict.cost == pytest.approx(found.cost)
        return
    assert reference.shortest() is None
    assert found.kind is FailureKind.CONTRADICTION
    if found.certificate["reason"] == "exhausted":
        check_conflict(task, reference, found.certificate)
    elif found.certificate["reason"] in ("mutex", "opposite"):
        assert not reference.reachable(And(tuple(task.problem.goal)))
    else:
        assert found.certificate["reason"] == "unreachable"
        goals = [g for g in task.problem.goal if str(g) == found.certificate["goal"]]
        assert goals
        assert not reference.reachable(*goals)


def check_conflict(task, reference, certificate):
    goals = [g for g in task.problem.goal if str(g) in certificate["conflict"]]
    assert len(goals) == len(certificate["conflict"]) > 0
    assert not reference.reachable(*goals)
    for smaller in combinations(task.problem.goal, len(goals) - 1):
        assert reference.reachable(*smaller)


@given(SEEDS)
@settings(max_examples=examples(200), deadline=None)
def test_an_impossible_pair_of_reachable_wishes_is_named(with_goal, seed):
    """Two parts of two different states: what exhausts the space, which random goals seldom do."""
    task, reference = both(seed)
    if task is None or reference.states < 4:
        return
    rng = random.Random(seed)
    one, other = rng.sample(sorted(reference.edges, key=sorted), 2)
    fact_goals = rng.sample(sorted(one), min(2, len(one))) + rng.sample(
        sorted(other), min(2, len(other))
    )
    if not fact_goals:
        return
    task = with_goal(task, *fact_goals)
    found = search(task, "bfs")
    possible = reference.reachable(*task.problem.goal)
    assert isinstance(found, Plan) == possible
    if not possible and found.certificate["reason"] == "exhausted":
        check_conflict(task, reference, found.certificate)


@given(SEEDS)
@settings(max_examples=examples(200), deadline=None)
def test_the_induction_behind_unreachable_can_be_checked(seed):
    """No literal of the certificate holds at first, and every action making one needs another."""
    made = make(seed, STRIPS)
    found = search(ground(made.domain, made.problem), "bfs")
    if isinstance(found, Plan) or found.certificate["reason"] != "unreachable":
        return
    assert found.certificate["complete"]
    never = {literal(each) for each in found.certificate["never"]}
    init = {(f.predicate, *f.args) for f in made.problem.init}
    assert literal(found.certificate["goal"]) in never
    assert not any(holds(each, init) for each in never)
    reference = Reference(made.domain, made.problem)
    for action in made.domain.actions:
        for binding in reference.choices(action.parameters, {}):
            effects = {ground_literal(e, binding) for e in action.effect}
            effects -= {(False, f) for sign, f in effects if sign}  # adding wins
            needs = {ground_literal(e, binding) for e in action.precondition}
            contradictory = any((not sign, fact) in needs for sign, fact in needs)
            assert not effects & never or needs & never or contradictory


def literal(text):
    words = text.replace("(", " ").replace(")", " ").split()
    sign = words[0] != "not"
    return sign, tuple(words if sign else words[1:])


def ground_literal(each, binding):
    return each.positive, (each.predicate, *(binding.get(a, a) for a in each.args))


def holds(signed, state):
    sign, fact = signed
    return (fact in state) == sign


@given(st.lists(st.frozensets(st.integers(0, 6), min_size=1), max_size=8))
def test_every_goal_of_a_conflict_is_needed(violations):
    found = set(irreducible_conflict(violations, 7))
    assert all(not each.isdisjoint(found) for each in violations)
    for wish in found:
        assert any(each.isdisjoint(found - {wish}) for each in violations)
