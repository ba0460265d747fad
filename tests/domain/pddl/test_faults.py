"""Errors in PDDL files: one message, at the place, that says what is wrong."""

import pickle

import pytest

from galley.domain.errors import BadInput
from galley.domain.pddl.reader import read_domain
from galley.domain.pddl.syntax import MAX_DEPTH, parse_sexprs
from galley.tests.domain.pddl.places import COSTS_DOMAIN, COSTS_PROBLEM, DOMAIN, PROBLEM, place_of


@pytest.fixture
def faults(read):
    """All errors of a domain and a problem given as text."""

    def run(*texts):
        with pytest.raises(BadInput) as caught:
            read(*texts)
        return caught.value.errors

    return run


PRE = "(and (at ?i ?a) (not (= ?a ?b)))"
EFFECT = "(and (at ?i ?b) (not (at ?i ?a)))"
GOAL = "(and (at crate den) (not (lit hall)))"
ADD = "(increase (total-cost) 2)"
COST = "a cost must be a finite number, 0 or more"

# What is replaced, by what; the place of the fault; a part of the message.
IN_DOMAIN = [
    # names
    ("?a ?b - room", "?a ?b - rom", "?a ?b - @rom", "did you mean 'room'"),
    ("(and (at ?i ?a)", "(and (att ?i ?a)", "(and (@att", "did you mean 'at'"),
    ("(at ?i ?b) (", "(at ?i ?c) (", "(at ?i @?c", "variable '?c' is not declared"),
    ("(at ?i ?b) (", "(at ?i hal) (", "(at ?i @hal)", "did you mean 'hall'"),
    (PRE, "(and (exists (?r - room) (lit ?r)) (lit ?r))", "?r)) (lit @?r", "'?r' is not declared"),
    # types and numbers of arguments
    ("(at ?i ?b) (", "(at ?i) (", "(@at ?i) (", "takes 2 arguments (?i ?r), got 1"),
    ("(at ?i ?b) (", "(at ?b ?b) (", "(at @?b ?b", "must be of type item, '?b' is room"),
    (PRE, "(forall (?i - room) (at ?i ?a))", "(at @?i ?a", "'?i' is room"),
    ("(and (at ?i ?a)", "(and (any ?i)", "(any @?i", "of type room or box"),
    # twice
    ("(:action move", "(:action move)(:action move", ")(:action @move", "at line 5"),
    ("(lit ?r - room)", "(at ?r - room)", ") (@at ?r", "declared twice"),
    ("?a ?b - room", "?a ?b ?a - room", "?b @?a", "declared twice"),
    ("(:constants", "(:types) (:constants", "@(:types) ", "second :types"),
    (":effect (and", ":effect () :effect (and", "() @:effect", "a second :effect"),
    ("(:constants", "(:objects", "@(:objects", "belongs in the problem"),
    ("(:action m", "(:derived (p)) (:action m", "@(:derived", "section :derived is not supp"),
    (":effect", ":efect", "@:efect", "did you mean ':effect'"),
    ("(:constants", "hello (:constants", "@hello", "expected a section"),
    ("(:action move", "(:action ?m", "@?m", "a variable can't stand here"),
    (EFFECT, "(when (lit ?a) (decrease (fuel) 3))", "@(decrease", "'decrease' is not supported"),
    # form
    ("room item - object", "room item - box", "room @item - box", "own supertype"),
    ("(lit ?r", "(when ?x) (lit ?r", "(@when ?x", "word of PDDL"),
    ("?a ?b - room", "?a ?b -room", "@-room", "space on both sides"),
    ("?a ?b - room", "?a ?b -", "?b @-", "followed by a type"),
    ("box - item", "box - (either item room)", "@box - (e", "name one type"),
    ("hall - room", "hall - (either room box)", "@hall - (e", "one type"),
    (f"{PRE}\n", "\n", "@:precondition", "no value"),
    ("(?i - item ?a ?b - room)", "?i", ":parameters @?i", "expected a list of parameters"),
    (PRE, "(not (lit ?a) (lit ?b))", "@(not", "'not' takes exactly one"),
    (PRE, "(and lit)", "@lit)", "expected a fact"),
    (PRE, "(lit (at ?i ?a))", "(lit @(at", "must be a name"),
    (PRE, "(when (lit ?a) (lit ?b))", "@(when", "can't stand in a cond"),
    (EFFECT, "(or (lit ?a) (lit ?b))", "@(or", "adds or deletes one fact"),
    (EFFECT, "(= ?a ?b)", "ct @(= ?a", "can't make objects equal"),
    (EFFECT, "lit", "@lit)", "expected an effect"),
    # parentheses
    ("- item)", "- item", "@(:types", "this '(' is never closed"),
    ("?a ?b - room)", "?a ?b - room", "@(define", "this '(' is never closed"),
    ("(not (at ?i ?a))", "(not (at ?i ?a)))", "?a)))))@)", "closes nothing"),
]
IN_PROBLEM = [
    ("(:domain d)", "(:domain e)", "(:domain @e", "is for domain 'e'"),
    ("(:domain d)", "", "@(define", "has no :domain; add (:domain d)"),
    ("crate - box", "hall - box crate - box", "room @hall", "d.pddl:3"),
    ("(at crate hall)", "(at crate ?x)", "crate @?x", "can't stand in :init"),
    ("(at crate den)", "(at crate ?x)", "crate @?x", "stand in the goal"),
    (GOAL, "(forall (?room - room) (lit ?rom))", "(lit @?rom", "did you mean '?room'"),
    ("(:init (at crate hall))", "", "@(define", "no :init"),
    (GOAL, "", "@(:goal", "must be one condition"),
    ("(:init", "(:init (not (at crate hall))", "hall)) @(at crate hall)", "at line 3, (not"),
    ("(at crate hall)", "(and (lit den))", "@(and", "'and' can't stand in :init"),
    ("(:objects", "(:constants", "@(:constants", "belongs in the domain"),
    ("(lit hall)))))", "(lit hall)))))\nmore", "\n@more", "may follow"),
    ("- box)", "- box))", "@(:init", "nothing may follow the (define ...)"),
]
IN_COSTS_DOMAIN = [
    ("(total-cost) 2", "(total-cost) two", "@two", "'two' is neither a number nor a function"),
    ("(total-cost) 2", "(total-cost) (* 2 (toll))", "(@* 2", "'*' is neither a number nor a"),
    ("(total-cost) 2", "(total-cost) (total-cost)", ") @(total-cost)", "expected a number or a"),
    (ADD, "(increase (total-cost))", "@(increase (total-cost)))", "only (increase (total-cost)"),
    ("(way ?a ?b))", "(wy ?a ?b))", "(@wy", "did you mean 'way'"),
    (ADD, f"(when (at home) {ADD})", f"@{ADD}", "'increase' within 'when'"),
    ("(toll) - number", "(toll) - place", "(toll) - @place", "functions must be '- number'"),
    ("(toll) - number", "(way) - number", "@(way) -", "declared twice"),
    ("(total-cost) - n", "(total-cost ?x) - n", "@(total-cost ?x)", "no parameters"),
    ("toll) -", "toll) cost -", "@cost -", "expected a function such as"),
    ("(at ?a)\n", "(toll)\n", "(@toll)\n", "is a function"),
]
IN_COSTS_PROBLEM = [
    ("inn) 3", "inn) home", "inn) @home", "must be a number, got 'home'"),
    ("inn) 3)", "inn))", "@(= (way home inn))", "expected (= (function"),
    (
        "(= (way inn home)",
        "(= (way home inn)",
        ") @(= (way home inn) 2",
        "has another value",
    ),
    ("(total-cost) 0", "(total-cost) 5", "@5", "must be 0 at the start"),
    ("minimize", "maximize", "@(:metric", "only (:metric minimize"),
]
CASES = [
    (number, *case)
    for number, cases in enumerate((IN_DOMAIN, IN_PROBLEM, IN_COSTS_DOMAIN, IN_COSTS_PROBLEM))
    for case in cases
]


@pytest.mark.parametrize(("number", "old", "new", "place", "what"), CASES)
def test_a_fault_has_one_message_at_its_place(number, old, new, place, what, faults):
    sound = [DOMAIN, PROBLEM] if number < 2 else [COSTS_DOMAIN, COSTS_PROBLEM]
    assert old in sound[number % 2]
    sound[number % 2] = text = sound[number % 2].replace(old, new, 1)
    found = faults(*sound)
    assert (found[0].line, found[0].column) == place_of(text, place), str(found[0])
    assert what in found[0].what
    assert found[0].file.endswith(("d.pddl", "p.pddl")[number % 2])
    assert len(found) == 1, [str(each) for each in found]


@pytest.mark.parametrize("text", ["", " \n\t", "; only a comment", "\ufeff"])
def test_empty_file(text, faults):
    (fault,) = faults(text)
    assert (fault.line, fault.column) == (1, 1)
    assert "empty" in fault.what


def test_a_problem_is_not_a_domain(faults):
    (fault,) = faults(PROBLEM)
    assert "is a problem, expected a domain" in fault.what


def test_a_file_that_is_no_text_is_refused(tmp_path):
    with pytest.raises(BadInput, match="no such file"):
        read_domain(tmp_path / "nowhere.pddl")
    with pytest.raises(BadInput, match="is a folder"):
        read_domain(tmp_path)
    (tmp_path / "d.pddl").write_bytes(b"; J\xf6rg\n(define\n (d\xff\xfe))")
    with pytest.raises(BadInput, match=r"d\.pddl:3:4: is not UTF-8 text"):
        read_domain(tmp_path / "d.pddl")


def test_all_faults_of_a_step_come_in_the_order_of_the_file(faults):
    text = DOMAIN.replace("(not (at ?i ?a))", "(not (att ?i ?a))").replace("(at ?i ?a)", "(lit)", 1)
    assert [each.line for each in faults(text.replace("?a ?b -", "?a ?a -"))] == [6, 7, 7, 8, 8]
    # What uses faulty declarations is not read.
    assert [each.line for each in faults(text.replace("(lit ?r", "(lit ?r - rom ?s"))] == [4]
    assert [each.line for each in faults(text.replace("box - item", "box - box"))] == [2]


def test_thousands_of_faults_are_counted(faults):
    words = "\n".join(f"(att{i} ?i ?a)" for i in range(1000))
    found = faults(DOMAIN.replace("(at ?i ?a)", words, 1))
    assert len(found) == 101
    assert (found[-1].line, found[-1].column) == (107, 2)
    assert "900 more" in found[-1].what


def test_long_words_are_cut(faults):
    (fault,) = faults(DOMAIN.replace("(at ?i ?a)", f"({'x' * 100_000})", 1))
    assert len(fault.what) < 200


def test_nesting_has_a_limit():
    assert parse_sexprs("(" * MAX_DEPTH + ")" * MAX_DEPTH, "f")
    with pytest.raises(BadInput, match=rf"f:1:{MAX_DEPTH + 1}: .* deep"):
        parse_sexprs("(" * (MAX_DEPTH + 1), "f")


def test_faults_come_out_of_a_worker_process_as_they_went_in():
    error = BadInput.one("kitchen.yaml", "needs 7 joint angles", line=3)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.errors) == (str(error), error.errors)
