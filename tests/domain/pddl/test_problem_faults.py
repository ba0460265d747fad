"""Errors in PDDL problems, and errors in both files at once."""

import pytest

from galley.domain.errors import BadInput
from galley.domain.pddl.reader import read_domain, read_problem, read_task
from galley.tests.domain.pddl.places import DOMAIN, PROBLEM, place_of


@pytest.fixture
def faults(tmp_path):
    """All errors of a problem given as text."""

    def run(text):
        (tmp_path / "d.pddl").write_text(DOMAIN, encoding="utf-8")
        (tmp_path / "p.pddl").write_text(text, encoding="utf-8")
        domain = read_domain(tmp_path / "d.pddl")
        with pytest.raises(BadInput) as caught:
            read_problem(tmp_path / "p.pddl", domain)
        return caught.value.errors

    return run


@pytest.fixture
def task_faults(tmp_path):
    """All errors of a domain and a problem given as text, with their file's first letter."""

    def run(domain, problem):
        (tmp_path / "d.pddl").write_text(domain, encoding="utf-8")
        (tmp_path / "p.pddl").write_text(problem, encoding="utf-8")
        with pytest.raises(BadInput) as caught:
            read_task(tmp_path / "d.pddl", tmp_path / "p.pddl")
        return [(each.file[-6], each.line, each.what) for each in caught.value.errors]

    return run


GOAL = "(and (at crate den) (not (lit hall)))"

FAULTS = {
    "other domain": ("(:domain d)", "(:domain e)", "(:domain @e", "is for domain 'e'"),
    "no domain": ("(:domain d)", "", "@(define", "names no domain; add (:domain d)"),
    "two domains": ("(:domain d)", "(:domain d e)", "@(:domain", "expected (:domain NAME)"),
    "object": ("(at crate den)", "(at crat den)", "(at @crat den", "did you mean 'crate'"),
    "predicate": ("(at crate hall)", "(att crate hall)", "(@att", "did you mean 'at'"),
    "arity": ("(at crate den)", "(at crate)", "(@at crate)", "takes 2 arguments"),
    "type of an object": ("crate - box", "crate - bx", "crate - @bx", "did you mean 'box'"),
    "type of an argument": ("(at crate den)", "(at den den)", "(at @den", "'den' is room"),
    "object twice": ("crate - box", "crate den - box", "crate @den", "twice, first at line 2"),
    "object and constant": ("crate - box", "hall - box crate - box", "room @hall", "d.pddl:3"),
    "variable in init": ("(at crate hall)", "(at crate ?x)", "crate @?x", "can't stand in :init"),
    "variable in goal": ("(at crate den)", "(at crate ?x)", "crate @?x", "stand in the goal"),
    "variable in a quantified goal": (
        GOAL,
        "(forall (?room - room) (lit ?rom))",
        "(lit @?rom",
        "did you mean '?room'",
    ),
    "no init": ("(:init (at crate hall))", "", "@(define", "no :init"),
    "no goal": (f"(:goal {GOAL})", "", "@(define", "no goal; add (:goal"),
    "empty goal": (GOAL, "", "@(:goal", "must be one condition"),
    "two goals": ("(:goal (and", "(:goal (lit den) (and", "@(:goal", "must be one condition"),
    "contradictory goal": (
        "(not (lit hall))",
        "(not (at crate den))",
        "(not (@at crate den",
        "asks for (not (at crate den)) and, at line 4, (at crate den)",
    ),
    "contradiction within a nested and": (
        GOAL,
        "(and (lit den)\n (and (lit hall) (and (not (lit den)))))",
        "(not (@lit den",
        "at line 4, (lit den)",
    ),
    "contradictory init": (
        "(:init",
        "(:init (not (at crate hall))",
        "hall)) (@at crate hall",
        "states (at crate hall) and, at line 3, (not",
    ),
    "and in init": ("(at crate hall)", "(and (lit den))", "@(and", "'and' can't stand in :init"),
    "or in init": ("(at crate hall)", "(not (or (lit den)))", "@(not", "exactly one fact"),
    "equality in init": ("(at crate hall)", "(= den hall)", "@(= den", "which objects are equal"),
    "timed fact": ("(at crate hall)", "(at 5 (lit den))", "@(at 5", "timed initial literal"),
    "preference": (GOAL, "(preference x (lit den))", "@(pref", "a preference"),
    "trajectory": (GOAL, "(sometime (lit den))", "@(sometime", "a trajectory constraint"),
    "constraints": ("(:init", "(:constraints (and)) (:init", "@(:constr", "not supported"),
    "a domain's section": ("(:objects", "(:constants", "@(:constants", "belongs in the domain"),
    "unknown section": ("(:objects", "(:object", "@(:object ", "did you mean ':objects'"),
    "requirement": (
        "(:init",
        "(:requirements :preferences) (:init",
        "@:preferences",
        "is not supported",
    ),
    "text after the end": ("(lit hall)))))", "(lit hall)))))\nmore words", "\n@more", "may follow"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_has_its_place(name, faults):
    old, new, place, what = FAULTS[name]
    assert old in PROBLEM
    text = PROBLEM.replace(old, new, 1)
    found = faults(text)
    places = [(each.line, each.column) for each in found]
    assert place_of(text, place) in places, [str(each) for each in found]
    fault = found[places.index(place_of(text, place))]
    assert what in fault.what
    assert fault.file.endswith("p.pddl")
    assert len(found) == 1, [str(each) for each in found]


def test_the_message_of_a_missing_goal(faults):
    (fault,) = faults("(define (problem p) (:domain d) (:init))")
    assert str(fault).endswith("p.pddl:1:1: the problem has no goal; add (:goal (and ...))")


def test_every_fault_is_reported_in_the_order_of_the_file(faults):
    found = faults(PROBLEM.replace("crate hall", "crat hall").replace("crate den", "crate"))
    assert [each.line for each in found] == [3, 4]
    assert ["crat" in found[0].what, "takes 2" in found[1].what] == [True, True]


def test_both_files_faults_come_together(task_faults):
    domain = DOMAIN.replace("(lit ?r - room)", "(lit ?r - rom)")
    problem = PROBLEM.replace("(:init", "(:inti").replace("(not (lit hall))", "(not)")
    found = task_faults(domain, problem)
    assert [each[:2] for each in found] == [("d", 4), ("p", 3), ("p", 4)]
    assert "did you mean ':init'" in found[1][2]


@pytest.mark.parametrize(
    "domain", ["", "(define (domain d) (:types", DOMAIN.replace("(:action", "(:acton")]
)
def test_a_broken_domain_gives_no_faults_of_a_sound_problem(domain, task_faults):
    problem = PROBLEM.replace("(:init", "(:init (= (cost den) 3) (= (total-cost) 0)")
    problem = problem.rstrip()[:-1] + "(:metric minimize (total-cost)))"
    assert {each[0] for each in task_faults(domain, problem)} == {"d"}


def test_a_sound_domain_has_the_problem_checked_fully(task_faults):
    assert [each[:2] for each in task_faults(DOMAIN, PROBLEM.replace("(lit", "(let"))] == [("p", 4)]
