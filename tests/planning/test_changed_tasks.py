"""forbid, with_facts and with_goal: the same as grounding anew, without doing so."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_tasks import make
from reference import Reference, TooMany

from galley.domain.errors import BadInput
from galley.domain.formula import Fact, Literal, Not, Or
from galley.planning import GroundAction, Limits, Plan, ground, search, validate
from galley.planning.schemas import Schema
from galley.tests.effort import examples

SEEDS = st.integers(0, 10**6)


def all_facts(task):
    """Every fact that the domain can speak of."""
    objects = Reference(task.domain, task.problem)
    found = []
    for predicate in task.domain.predicates:
        for binding in objects.choices(predicate.parameters, {}):
            found.append(Fact(predicate.name, tuple(binding[p.name] for p in predicate.parameters)))
    return found


@given(SEEDS)
@settings(max_examples=examples(200), deadline=None)
def test_changed_facts_give_what_grounding_anew_gives(seed):
    made = make(seed)
    task = ground(made.domain, made.problem)
    rng = random.Random(seed)
    facts = all_facts(task)
    for _ in range(3):  # one change upon another
        added = rng.sample(facts, min(len(facts), rng.randint(0, 3)))
        init = task.problem.init
        gone = rng.sample(init, min(len(init), rng.randint(0, 2)))
        gone = [fact for fact in gone if fact not in added]
        task = task.with_facts(*added, without=gone)
        assert set(task.problem.init) == (set(init) - set(gone)) | set(added)
        assert task == ground(task.domain, task.problem)


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
            assert validate(task, found).valid
        else:
            assert shortest is None


def test_changes_reuse_the_grounding(kitchen_task, monkeypatch):
    monkeypatch.setattr(Schema, "instantiate", None)  # calling it would fail
    changed = kitchen_task.with_goal("(on spam drawer)").forbid("(pick spam burner h1)")
    changed = changed.with_facts("(near drawer)", without=["(near center)"])
    assert changed.problem.init[-1] == Fact("near", ("drawer",))
    assert len(changed.operators) == len(kitchen_task.operators) - 1


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
    blocked = task.with_facts("(blocked-by spam sugar)")
    assert [str(a) for a in search(blocked).actions] == [
        "(pick sugar)", "(drop sugar)", "(pick spam)"]  # fmt: skip
    assert [str(a) for a in search(task).actions] == ["(pick spam)"]  # the first is as it was
    both = blocked.with_facts("(blocked-by sugar spam)")
    failure = search(both)
    assert "(held spam)" in failure.message


def test_what_a_goal_may_be_given_as(kitchen_task):
    on = Fact("on", ("sugar", "countertop"))
    wanted = Literal(*on)
    for given_as in (on, wanted, "(on sugar countertop)", "(and (on sugar countertop))"):
        assert kitchen_task.with_goal(given_as).problem.goal == (wanted,)
    compound = Or((wanted, Not(Or((wanted, wanted)))))
    assert kitchen_task.with_goal(compound, on).problem.goal == (compound, wanted)
    assert search(kitchen_task.with_goal("(or (near burner) (near drawer))")).cost == 1
    assert search(kitchen_task.with_goal()).actions == ()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t.forbid("(pik sugar burner h1)"), "no action 'pik'; did you mean 'pick'"),
        (lambda t: t.forbid(GroundAction("pick", ("sugar",))), "expected 3 objects, got 1"),
        (lambda t: t.forbid("pick sugar"), "expected an action such as"),
        (lambda t: t.with_facts("(nera burner)"), "no predicate 'nera'; did you mean 'near'"),
        (lambda t: t.with_facts("(near borner)"), "no object 'borner'; did you mean 'burner'"),
        (lambda t: t.with_facts(Fact("near", ())), "expected 1 objects, got 0"),
        (lambda t: t.with_facts("(on countertop spam)"), "?obj must be of type objective"),
        (lambda t: t.forbid("(pick burner sugar h1)"), "?obj must be of type objective"),
        (lambda t: t.with_facts("(near drawer)", without="(near drawer)"), "is both added"),
        (lambda t: t.with_goal(Fact("near", ("x",))), "no object 'x'"),
        (lambda t: t.with_goal("(near burner)", "(not (near burner))"), "the goal asks for"),
    ],
)
def test_misspelt_changes_are_refused(kitchen_task, change, words):
    with pytest.raises(ValueError, match=r"expected|no |asks|must be|both") as caught:
        change(kitchen_task)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.forbid(["(pick spam burner h1)"]),
        lambda t: t.with_facts(3),
        lambda t: t.with_goal(...),
    ],
)
def test_what_is_no_action_fact_or_goal_is_refused(kitchen_task, change):
    with pytest.raises(TypeError, match="expected"):
        change(kitchen_task)


def test_a_changed_task_counts_its_combinations_anew(pddl, monkeypatch):
    """A loop of task and motion planning changes a task thousands of times."""
    names = " ".join(f"o{i}" for i in range(40))
    task = ground(
        *pddl(
            "(define (domain d) (:predicates (k) (p ?x) (r))"
            " (:action a :parameters (?x ?y) :precondition (and (k) (p ?x) (p ?y)) :effect (r)))",
            f"(define (problem x) (:domain d) (:objects {names})"
            f" (:init {' '.join(f'(p o{i})' for i in range(40))}) (:goal (r)))",
        ),
        Limits(seconds=60),
    )
    monkeypatch.setattr("galley.planning.limits._LOOK_EVERY", 100)
    monkeypatch.setattr("galley.planning.limits._MOST_COMBINATIONS", 10_000)
    for _ in range(20):
        assert len(task.with_facts("(k)").operators) == 1600


@pytest.mark.parametrize("text", ["(near borner)", "(near", "(nera burner)", ""])
def test_misspelt_goals_are_refused(kitchen_task, text):
    with pytest.raises(BadInput, match="goal"):
        kitchen_task.with_goal(text)
