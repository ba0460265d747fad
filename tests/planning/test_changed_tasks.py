"""Forbidden actions and other initial facts give the same as grounding again."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from galley.domain.pddl.formula import Fact
from galley.planning import Plan, ground, search, validate_actions
from galley.planning.grounding.schemas import CompiledSchema
from galley.tests.effort import examples
from galley.tests.planning.random_tasks import make
from galley.tests.planning.reference import Reference, TooMany, action

SEEDS = st.integers(0, 10**6)


@given(SEEDS)
@settings(max_examples=examples(150), deadline=None)
def test_forbidden_actions_stay_out(seed):
    made = make(seed)
    task = ground(made.domain, made.problem)
    found = search(task)
    banned = []
    while isinstance(found, Plan) and found.actions and len(banned) < 4:
        banned.append(found.actions[-1])
        task = task.forbid(banned[-1])
        found = search(task)
        reference = Reference(made.domain, made.problem, forbidden=task.forbidden)
        try:
            shortest = reference.shortest()
        except TooMany:
            return
        if isinstance(found, Plan):
            assert not set(banned) & set(found.actions)
            assert len(found.actions) == shortest
            assert validate_actions(task.domain, task.problem, found.actions).valid
        else:
            assert shortest is None


def test_changes_reuse_the_grounding(kitchen_task, monkeypatch):
    monkeypatch.setattr(CompiledSchema, "instantiate", None)  # calling it would fail
    changed = kitchen_task.forbid(action("(pick spam burner h1)"))
    assert len(changed.operators) == len(kitchen_task.operators) - 1
    reached = changed.allowed_reach.instances
    assert action("(place sugar drawer h1)") in reached
    assert action("(place spam drawer h1)") not in reached  # nothing else takes the spam


def test_a_fact_from_geometry_changes_the_plan(pddl):
    """(blocked-by spam sugar) is never changed by an action, and makes one inapplicable."""
    domain, problem = pddl(
        "(define (domain k) (:predicates (table ?x) (held ?x) (free) (away ?x) (blocked-by ?x ?y))"
        "(:action pick :parameters (?x) :precondition (and (table ?x) (free)"
        " (forall (?y) (or (not (blocked-by ?x ?y)) (away ?y))))"
        " :effect (and (held ?x) (not (table ?x)) (not (free))))"
        "(:action drop :parameters (?x) :precondition (held ?x)"
        " :effect (and (away ?x) (free) (not (held ?x)))))",
        "(define (problem p) (:domain k) (:objects spam sugar)"
        " (:init (free) (table spam) (table sugar)) (:goal (held spam)))",
    )
    task = ground(domain, problem)
    assert [str(a) for a in search(task).actions] == ["(pick spam)"]
    blocks = Fact("blocked-by", ("spam", "sugar")), Fact("blocked-by", ("sugar", "spam"))
    blocked = ground(domain, replace(problem, init=(*problem.init, blocks[0])))
    assert [str(a) for a in search(blocked).actions] == [
        "(pick sugar)", "(drop sugar)", "(pick spam)"]  # fmt: skip
    assert [str(a) for a in search(task).actions] == ["(pick spam)"]  # the first is as it was
    failure = search(ground(domain, replace(problem, init=(*problem.init, *blocks))))
    assert "(held spam)" in failure.message


def test_goals_of_other_forms(kitchen_task, with_goal):
    assert search(with_goal(kitchen_task, "(or (near burner) (near drawer))")).cost == 1
    assert search(with_goal(kitchen_task)).actions == ()


@pytest.mark.parametrize("text", ["(pik sugar burner h1)", "(pick sugar)", "(pick x burner h1)"])
def test_misspelt_actions_are_refused(kitchen_task, text):
    with pytest.raises(ValueError, match="the task has no action"):
        kitchen_task.forbid(action(text))


def test_static_facts_of_a_quantified_goal_take_no_bits(pddl):
    names = " ".join(f"o{i}" for i in range(60))
    task = ground(
        *pddl(
            "(define (domain d) (:requirements :adl) (:predicates (p ?x) (q ?x ?y))"
            " (:action a :parameters (?x) :effect (p ?x)))",
            f"(define (problem x) (:domain d) (:objects {names}) (:init (q o1 o2) (q o2 o3))"
            " (:goal (forall (?x ?y) (imply (q ?x ?y) (p ?y)))))",
        )
    )
    assert len(task.facts) == 60
    assert sorted(str(a) for a in search(task).actions) == ["(a o2)", "(a o3)"]
