"""Replay in PDDLGym."""

import random
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from galley.domain.pddl.reader import read_domain, read_problem
from galley.domain.shipped import KITCHEN
from galley.planning.checks.gym_replay import ReplayStatus, replay
from galley.planning.checks.validation import read_plan, validate_actions
from galley.planning.operators import GroundAction
from galley.tests.command_line import python
from galley.tests.planning.random_tasks import ADL, make
from galley.tests.planning.reference import Reference

PLAN = """
(navigate center burner) (pick sugar burner h1) (navigate burner countertop)
(place sugar countertop h1) (navigate countertop burner) (pick spam burner h1)
(navigate burner drawer) (stow spam drawer h1)
"""


@pytest.fixture(scope="module")
def kitchen(tmp_path_factory):
    domain = read_domain(KITCHEN / "kitchen.pddl")
    problem = read_problem(KITCHEN / "task.pddl", domain)
    plan = tmp_path_factory.mktemp("kitchen") / "plan.txt"
    plan.write_text(PLAN)
    return domain, problem, read_plan(plan)


def both(folder, domain, problem):
    (folder / "d.pddl").write_text(domain)
    (folder / "p.pddl").write_text(problem)
    read = read_domain(folder / "d.pddl")
    return read, read_problem(folder / "p.pddl", read)


@pytest.mark.parametrize(("name", "length"), [("task", 8), ("sugar_only", 4)])
def test_pddlgym_agrees_with_the_kitchen(name, length, kitchen):
    domain, _, actions = kitchen
    problem = read_problem(KITCHEN / f"{name}.pddl", domain)
    outcome = replay(domain, problem, actions[:length])
    assert outcome.status is ReplayStatus.AGREES
    assert outcome.steps == length


@pytest.mark.parametrize(
    ("text", "steps", "words"),
    [
        (
            PLAN.replace("(place sugar countertop h1)", ""),
            4,
            "step 5, (pick spam burner h1): PDDLGym",
        ),
        ("(navigate center center)", 0, "not applicable"),
        (PLAN.replace("(stow spam drawer h1)", ""), 7, "does not find the goal"),
        ("(fly)", 0, "no such action"),
        ("(navigate center moon)", 0, "no such action"),
    ],
)
def test_pddlgym_refuses_what_we_refuse(kitchen, tmp_path, text, steps, words):
    domain, problem, _ = kitchen
    (tmp_path / "plan").write_text(text)
    outcome = replay(domain, problem, read_plan(tmp_path / "plan"))
    assert (outcome.status, outcome.steps) == (ReplayStatus.AGREES, steps)
    assert words in outcome.message


def test_a_state_that_differs_is_noticed(kitchen, tmp_path):
    # Our domain is read first, then the file that PDDLGym will read forgets an effect.
    text = (KITCHEN / "kitchen.pddl").read_text()
    task = (KITCHEN / "task.pddl").read_text()
    domain, problem = both(tmp_path, text, task)
    (tmp_path / "d.pddl").write_text(text.replace("(not (on ?obj ?fur)) ", ""))
    outcome = replay(domain, problem, kitchen[2])
    assert outcome.status is ReplayStatus.DISAGREES
    assert "step 2" in outcome.message
    assert "additional facts (on sugar burner)" in outcome.message


def pddl(action, goal="(q o)", init="(p o)"):
    """A domain around one action, and a problem."""
    return (
        "(define (domain d) (:requirements :adl :action-costs) (:types\n s - t\n t - object)"
        "(:constants c - t) (:predicates (p ?x - t) (q ?x - t) (r ?x - t ?y - t))"
        f"(:functions (total-cost) - number) {action})",
        f"(define (problem p) (:domain d) (:objects o - t) (:init {init}) (:goal {goal}))",
    )


HEAD = "(:action a :parameters (?x - t) :precondition"
UNREADABLE = [
    ("(:action a :parameters (?x ?y - t) :precondition (p ?x) :effect (q ?x))", ""),
    ("(:action a :parameters (?x - t) :effect (q ?x))", ""),
    (
        "(:action a :parameters (?x-1 - t) :precondition (p ?x-1) :effect (q ?x-1))",
        "the dash in a variable in action 'a'",
    ),
    (
        "(:action a :parameters (?x - (either s t)) :precondition (p ?x) :effect (q ?x))",
        "'either' in action 'a'",
    ),
    (f"{HEAD} (or (p ?x) (q ?x)) :effect (q ?x))", "'or' in action 'a'"),
    (f"{HEAD} (exists (?y - t) (p ?y)) :effect (q ?x))", "'exists' in action 'a'"),
    (f"{HEAD} (p ?x) :effect (when (p ?x) (q ?x)))", "'when' in action 'a'"),
    (f"{HEAD} (p ?x) :effect (forall (?y - t) (q ?y)))", "'forall' in action 'a'"),
    (f"{HEAD} (p ?x) :effect (and (q ?x) (increase (total-cost) 2)))", "action costs in"),
    (f"{HEAD} (not (r ?x ?x)) :effect (q ?x))", "the repeated argument in precondition"),
    (f"{HEAD} (not (p c)) :effect (q ?x))", "(not (p c)), about constants alone, in"),
    (f"{HEAD} (and (and (p ?x))) :effect (q ?x))", "the nested condition of action 'a'"),
]


@pytest.mark.parametrize(("action", "words"), UNREADABLE)
def test_beyond_pddlgym_is_said_in_one_line(tmp_path, action, words, capfd):
    domain, problem = both(tmp_path, *pddl(action))
    schema = domain.actions[0]
    plan = [GroundAction(schema.name, ("o",) * len(schema.parameters))]
    assert validate_actions(domain, problem, plan).valid
    outcome = replay(domain, problem, plan)
    assert outcome.status is ReplayStatus.UNREADABLE
    assert words in outcome.message
    assert outcome.message.startswith("PDDLGym can't")
    assert "\n" not in outcome.message
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        ({"goal": "(exists (?y - t) (q ?y))"}, "'exists' in the goal"),
        ({"goal": "(or (q o) (q c))"}, "'or' in the goal"),
        ({"init": "(p o) (not (q c))"}, "PDDLGym takes a negated fact of :init for one that holds"),
    ],
)
def test_a_problem_beyond_pddlgym(tmp_path, problem, words):
    domain, problem = both(tmp_path, *pddl(f"{HEAD} (p ?x) :effect (q ?x))", **problem))
    outcome = replay(domain, problem, [GroundAction("a", ("o",))])
    assert (outcome.status, outcome.steps) == (ReplayStatus.UNREADABLE, 0)
    assert words in outcome.message


def test_what_pddlgym_does_read(tmp_path):
    # Equality, constants as arguments, repeated arguments in effects, a nested goal.
    action = (
        f"{HEAD} (and (not (= ?x c)) (not (r ?x c))) :effect (and (r ?x ?x) (not (p ?x)) (q c)))"
    )
    goal = "(and (r o o) (and (not (p o)) (q c)))"
    domain, problem = both(tmp_path, *pddl(action, goal))
    assert replay(domain, problem, [GroundAction("a", ("o",))]).status is ReplayStatus.AGREES
    outcome = replay(domain, problem, [GroundAction("a", ("c",))])
    assert outcome.message == "step 1, (a c): PDDLGym finds the action not applicable"


def test_a_predicate_and_an_action_of_one_name(tmp_path):
    # Q is tested, added and done: PDDLGym would make one predicate of both. Q-action is taken.
    action = (
        "(:action\n Q :parameters (?x - t) :precondition (and (p ?x) (not (q ?x))) :effect (q ?x))"
        "(:action q-action :parameters (?x - t) :precondition (q ?x) :effect (not (q ?x)))"
    )
    domain, problem = both(tmp_path, *pddl(action))
    do, undo = GroundAction("q", ("o",)), GroundAction("q-action", ("o",))
    assert replay(domain, problem, [do]).status is ReplayStatus.AGREES
    assert replay(domain, problem, [do, undo, do]).steps == 3
    twice = replay(domain, problem, [do, do])
    assert (twice.status, twice.steps) == (ReplayStatus.AGREES, 1)
    assert twice.message == "step 2, (q o): PDDLGym finds the action not applicable"


def test_pddlgyms_own_domains_are_replayed():
    """Where an action is called as a predicate, as in most of them."""
    pddlgym = pytest.importorskip("pddlgym")
    folder = Path(pddlgym.__file__).parent / "pddl"
    domain = read_domain(folder / "maze.pddl")
    clashes = {a.name for a in domain.actions} & {p.name for p in domain.predicates}
    outcomes = []
    for name in ("doors", "ferry", "gripper", "hanoi"):
        domain = read_domain(folder / f"{name}.pddl")
        clashes |= {a.name for a in domain.actions} & {p.name for p in domain.predicates}
        problem = read_problem(sorted((folder / name).glob("*.pddl"))[0], domain)
        outcomes.append(replay(domain, problem, ()))
    assert clashes
    assert [each.status for each in outcomes] == [ReplayStatus.AGREES] * 4, outcomes


def test_pddlgym_agrees_with_the_validator_on_random_tasks(tmp_path):
    literals = replace(
        ADL,
        disjunctive=False,
        quantified=False,
        conditional=False,
        universal=False,
        costs=False,
        either=False,
    )
    seen = []
    invalid = 0
    for seed in range(60):
        task = make(seed, literals)
        domain, problem = both(tmp_path, task.domain_text, task.problem_text)
        reference = Reference(domain, problem)
        plans = [[m.label for m in random.Random(seed).choices(reference.moves, k=4)]]
        if reference.shortest() is not None:
            plans.append(reference.plans(reference.shortest())[0][1])
        for labels in plans:
            actions = [GroundAction(name, tuple(args)) for name, *args in labels]
            verdict = validate_actions(domain, problem, actions)
            outcome = replay(domain, problem, actions)
            seen.append(str(outcome.status))
            if outcome.status is ReplayStatus.UNREADABLE:
                continue
            assert outcome.status is ReplayStatus.AGREES, (outcome, verdict)
            invalid += not verdict.valid
            if verdict.step is not None:
                assert outcome.steps == verdict.step
                assert "PDDLGym finds the action not applicable" in outcome.message
            elif not verdict.valid:
                assert "does not find the goal reached" in outcome.message
    assert invalid > 20
    assert seen.count("agrees") > invalid + 25


def test_files_that_are_gone(kitchen, tmp_path):
    domain, problem = both(
        tmp_path,
        "(define (domain d))",
        "(define (problem p) (:domain d) (:init) (:goal ()))",
    )
    Path(domain.file).unlink()
    outcome = replay(domain, problem, [])
    assert outcome.status is ReplayStatus.UNREADABLE
    assert "no such file" in outcome.message


def test_replay_is_silent_and_leaves_nothing(tmp_path):
    """In a process of its own: the first import of PDDLGym prints."""
    (tmp_path / "plan.txt").write_text(PLAN)
    before = set(Path(tempfile.gettempdir()).glob("galley-replay-*"))
    status, out, err = python("-m", "galley", "verify", "plan", tmp_path / "plan.txt", "--pddlgym")
    assert (status, err) == (0, "")
    assert out.count("\n") == 2
    assert set(Path(tempfile.gettempdir()).glob("galley-replay-*")) == before


def test_without_pddlgym_the_replay_says_that_it_is_missing(monkeypatch):
    """As on Python 3.12 and later, where its Pillow has no wheels."""
    for name in ("pddlgym", "pddlgym.core"):
        monkeypatch.setitem(sys.modules, name, None)
    domain = read_domain(KITCHEN / "kitchen.pddl")
    problem = read_problem(KITCHEN / "task.pddl", domain)
    outcome = replay(domain, problem, ())
    assert outcome.status is ReplayStatus.MISSING
    assert outcome.steps == 0
    assert "needs Pillow below 10" in outcome.message
