"""The validator: each construct by hand, and random plans against two independent ones."""

import random
from dataclasses import replace

import pytest

from galley.domain.pddl.formula import Fact
from galley.domain.pddl.reader import read_domain, read_problem
from galley.planning.checks.validation import validate_actions
from galley.planning.operators import GroundAction
from galley.tests.effort import quick_first
from galley.tests.planning.random_tasks import ADL, STRIPS, make
from galley.tests.planning.reference import Reference

DOMAIN = """
(define (domain boxes)
  (:requirements :adl :action-costs)
  (:types block crate - item item place ghost - object)
  (:constants floor - place)
  (:predicates (at ?i - item ?p - place) (clear ?i - item) (open ?p - place) (lit))
  (:functions (total-cost) - number (way ?p - place ?q - place) - number)
  (:action act :parameters (?x - block ?p - place)
    :precondition {} :effect {}))
"""
PROBLEM = """
(define (problem p) (:domain boxes)
  (:objects b1 b2 - block c1 - crate p1 p2 - place)
  (:init (at b1 p1) (at b2 p1) (clear b1) (clear c1) (open p1) (= (way p1 p2) 2.5))
  (:goal {}) {})
"""
ACT = GroundAction("act", ("b1", "p1"))
METRIC = "(:metric minimize (total-cost))"


@pytest.fixture
def read(tmp_path):
    def build(precondition="()", effect="()", goal="()", metric=""):
        (tmp_path / "d.pddl").write_text(DOMAIN.format(precondition, effect))
        (tmp_path / "p.pddl").write_text(PROBLEM.format(goal, metric))
        domain = read_domain(tmp_path / "d.pddl")
        return domain, read_problem(tmp_path / "p.pddl", domain)

    return build


TRUE = [
    "(and)",
    "(or (lit) (clear ?x))",
    "(imply (lit) (open floor))",
    "(imply (clear ?x) (at ?x ?p))",
    "(not (and (clear ?x) (lit)))",
    "(forall (?y - block) (at ?y ?p))",
    "(forall (?y - ghost) (lit))",
    "(forall (?y - block ?q - place) (imply (at ?y ?q) (= ?q ?p)))",
    "(exists (?y) (= ?y floor))",
    "(exists (?x - block) (not (clear ?x)))",
    "(exists (?y - (either crate block)) (not (clear ?y)))",
    "(exists (?y - block) (forall (?q - place) (imply (at ?y ?q) (open ?q))))",
    "(not (exists (?y - ghost) (= ?y ?y)))",
]
FALSE = [  # what is to blame, and words of the message
    ("(not (clear ?x))", ["(not (clear b1))"], "precondition (not (clear b1)) does not hold"),
    (
        "(and (at ?x ?p) (at ?x floor) (open floor))",
        ["(at b1 floor)", "(open floor)"],
        "preconditions (at b1 floor) and (open floor) do not hold",
    ),
    ("(or (open floor) (lit))", ["(or (open floor) (lit))"], "(or (open floor) (lit)) does not"),
    ("(= ?p floor)", ["(= p1 floor)"], "precondition (= p1 floor) does not hold"),
    ("(not (= ?p ?p))", ["(not (= p1 p1))"], "(not (= p1 p1)) does not hold"),
    (
        "(forall (?y - block) (clear ?y))",
        ["(clear b2)"],
        "precondition (clear b2) of (forall (?y - block) (clear ?y)) does not hold",
    ),
    ("(forall (?x - block) (clear ?x))", ["(clear b2)"], "of (forall (?x - block) (clear ?x))"),
    (
        "(forall (?y - (either block crate)) (and (clear ?y) (at ?y floor) (lit)))",
        ["(at b1 floor)", "(lit)"],
        "precondition (at b1 floor) and (lit) of (forall (?y - (either block crate))",
    ),
    (
        "(exists (?y - block) (at ?y floor))",
        ["(exists (?y - block) (at ?y floor))"],
        "(at ?y floor)) does not hold",
    ),
    ("(not (exists (?y - block) (clear ?y)))", ["(not (clear b1))"], "(not (clear b1)) of (not"),
    ("(not (or (lit) (open ?p)))", ["(not (open p1))"], "(not (open p1)) of (not (or (lit)"),
]


@pytest.mark.parametrize("text", TRUE)
def test_a_precondition_that_holds(read, text):
    verdict = validate_actions(*read(text), [ACT])
    assert verdict.valid, verdict.message
    assert verdict.message == "valid: 1 action, and the goal holds at the end"
    assert (verdict.missing, verdict.cost, len(verdict.states)) == ((), 1, 2)


@pytest.mark.parametrize(("text", "blamed", "words"), FALSE)
def test_the_smallest_part_that_fails_is_named(read, text, blamed, words):
    verdict = validate_actions(*read(text), [ACT])
    assert [str(each) for each in verdict.missing] == blamed
    assert verdict.message.startswith("step 1, (act b1 p1): ")
    assert words in verdict.message
    assert (verdict.valid, verdict.step, verdict.action, verdict.cost) == (False, 0, ACT, 0)


def test_a_goal_is_explained_in_the_same_way(read):
    goal = "(and (lit) (clear b1) (forall (?y - block) (clear ?y)) (exists (?y - crate) (lit)))"
    verdict = validate_actions(*read(goal=goal), [ACT, ACT])
    assert verdict.message == (
        "all 2 actions are applicable, but at the end (lit) and (clear b2) of "
        "(forall (?y - block) (clear ?y)) and (exists (?y - crate) (lit)) is not achieved"
    )
    assert (verdict.valid, verdict.step, verdict.action) == (False, None, None)


EFFECTS = [  # what changes: + for facts that come, - for those that go
    ("()", ""),
    ("(and (not (clear ?x)) (clear ?x))", ""),
    ("(and (lit) (when (lit) (open floor)))", "+(lit)"),
    ("(and (not (open ?p)) (when (open ?p) (open floor)))", "-(open p1) +(open floor)"),
    ("(when (and (open ?p) (not (lit))) (and (lit) (not (open ?p))))", "+(lit) -(open p1)"),
    ("(when (or (lit) (exists (?q - place) (at ?x ?q))) (open floor))", "+(open floor)"),
    ("(forall (?y - block) (not (at ?y ?p)))", "-(at b1 p1) -(at b2 p1)"),
    ("(forall (?y - ghost) (lit))", ""),
    ("(forall (?y - item) (when (not (clear ?y)) (and (clear ?y) (lit))))", "+(clear b2) +(lit)"),
    ("(forall (?q - place) (forall (?y - crate) (at ?y ?q)))",
     "+(at c1 floor) +(at c1 p1) +(at c1 p2)"),
    # Adding wins, whatever it is that deletes.
    ("(and (forall (?y - item) (not (clear ?y))) (when (open ?p) (clear ?x)))", "-(clear c1)"),
]  # fmt: skip


@pytest.mark.parametrize(("effect", "change"), EFFECTS)
def test_effects(read, effect, change):
    before, after = validate_actions(*read(effect=effect), [ACT]).states
    found = [f"+{each}" for each in after - before] + [f"-{each}" for each in before - after]
    expected = change.replace(" +", "|+").replace(" -", "|-").split("|") if change else []
    assert sorted(found) == sorted(expected)


@pytest.mark.parametrize(
    ("effect", "metric", "cost"),
    [
        ("(and (lit))", "", 2),
        ("(and (lit) (increase (total-cost) 7))", "", 2),
        ("(and (lit) (increase (total-cost) 7))", METRIC, 14),
        ("(and (lit) (increase (total-cost) (way ?p floor)))", METRIC, 5),
        ("(and (lit))", METRIC, 0),
    ],
)
def test_cost(read, effect, metric, cost):
    domain, problem = read(effect=effect, metric=metric)
    problem = replace(problem, values={**problem.values, Fact("way", ("p1", "floor")): 2.5})
    verdict = validate_actions(domain, problem, [ACT] * 2)
    assert verdict.valid
    assert verdict.cost == cost
    assert (f"2 actions of cost {cost}, and" in verdict.message) == bool(metric)


def test_a_cost_without_value(read):
    effect = "(increase (total-cost) (way floor ?p))"
    verdict = validate_actions(*read(effect=effect, metric=METRIC), [ACT])
    assert (verdict.valid, verdict.step, verdict.missing) == (False, 0, ())
    assert "its cost needs (way floor p1), which the problem does not give" in verdict.message
    assert validate_actions(*read(effect=effect), [ACT]).valid  # nobody asks for the cost


@pytest.mark.parametrize(
    ("action", "words"),
    [
        ("akt b1 p1", "the domain has no action 'akt'; did you mean 'act'?"),
        ("act b1", "'act' takes 2 objects"),
        ("act b1 p9", "the problem has no object 'p9'"),
        ("act c1 p1", "?x must be of type block, 'c1' is crate"),
        ("act p1 p1", "?x must be of type block, 'p1' is place"),
    ],
)
def test_an_action_that_does_not_exist(read, action, words):
    name, *args = action.split()
    verdict = validate_actions(*read(), [ACT, GroundAction(name, tuple(args))])
    assert (verdict.step, verdict.missing, len(verdict.states)) == (1, (), 2)
    assert words in verdict.message


def ground(labels):
    return [GroundAction(name, tuple(args)) for name, *args in labels]


@pytest.mark.parametrize(
    "features",
    quick_first(1, [ADL, STRIPS, replace(ADL, typing=False)]),
    ids=["adl", "strips", "untyped"],
)
def test_random_walks_agree_with_the_reference(features):
    failures = 0
    for seed in range(120):
        task = make(seed, features)
        reference = Reference(task.domain, task.problem)
        rng = random.Random(seed)
        state, cost, labels, states = reference.init, 0, [], [reference.init]
        while len(labels) < 6 and reference.moves:
            able = [m for m in reference.moves if reference.step(state, m) is not None]
            move = rng.choice(able if able and rng.random() < 0.85 else reference.moves)
            labels.append(move.label)
            if move not in able:
                break
            state, cost = reference.step(state, move), cost + move.cost
            states.append(state)
        verdict = validate_actions(task.domain, task.problem, ground(labels))
        assert verdict.states == tuple(states), task
        assert verdict.cost == cost
        applicable = len(states) > len(labels)
        assert verdict.step == (None if applicable else len(labels) - 1)
        assert verdict.valid == (applicable and reference.is_goal(state)), task
        # What is blamed is false there, and closed: the reference can look it up.
        assert bool(verdict.missing) != verdict.valid
        assert not any(reference.satisfies(state, each) for each in verdict.missing)
        failures += not applicable
    assert failures > 20
