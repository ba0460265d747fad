"""Errors in PDDL domains: position and message."""

import pytest

from galley.domain.errors import BadInput
from galley.domain.pddl.reader import read_domain
from galley.tests.domain.pddl.places import DOMAIN, place_of


@pytest.fixture
def faults(tmp_path):
    """All errors of a domain given as text."""

    def run(text):
        (tmp_path / "d.pddl").write_text(text, encoding="utf-8")
        with pytest.raises(BadInput) as caught:
            read_domain(tmp_path / "d.pddl")
        return caught.value.errors

    return run


PRE = "(and (at ?i ?a) (not (= ?a ?b)))"
EFFECT = "(and (at ?i ?b) (not (at ?i ?a)))"

# What is replaced in DOMAIN, by what; the place of the fault; a part of the message.
NAMES = {
    "type": ("?a ?b - room", "?a ?b - rom", "?a ?b - @rom", "did you mean 'room'"),
    "type in either": ("either room", "either rom", "either @rom", "did you mean 'room'"),
    "parent type": ("box - item", "box - itm", "box - @itm", "type 'itm' is not declared"),
    "predicate": ("(and (at ?i ?a)", "(and (att ?i ?a)", "(and (@att", "did you mean 'at'"),
    "variable": ("(at ?i ?b) (", "(at ?i ?c) (", "(at ?i @?c", "'?c' is not among"),
    "object": ("(at ?i ?b) (", "(at ?i hal) (", "(at ?i @hal)", "did you mean 'hall'"),
    "quantified type": (PRE, "(exists (?r - rom) (lit ?r))", "- @rom", "did you mean 'room'"),
    "outside the quantifier": (
        PRE,
        "(and (exists (?room - room) (lit ?room)) (lit ?room))",
        "(lit ?room)) (lit @?room",
        "'?room' is not among",
    ),
    "arity": ("(at ?i ?b) (", "(at ?i) (", "(@at ?i) (", "takes 2 arguments (?i ?r), got 1"),
    "arity of =": (PRE, "(= ?a)", "(@= ?a", "takes 2 arguments"),
    "type of an argument": (
        "(at ?i ?b) (",
        "(at ?b ?b) (",
        "(at @?b ?b",
        "must be of type item, '?b' is room",
    ),
    "supertype": (
        ":parameters (?i - item ?a ?b - room)\n    :precondition (and",
        ":parameters (?i - item ?o - object ?a ?b - room)\n    :precondition (and (at ?o ?a)",
        "(at @?o ?a",
        "must be of type item, '?o' is object",
    ),
    "type of a shadowing variable": (
        PRE,
        "(forall (?i - room) (at ?i ?a))",
        "(at @?i ?a",
        "'?i' is room",
    ),
    "type, either": ("(and (at ?i ?a)", "(and (any ?i)", "(any @?i", "of type room or box"),
    "variable of either": (
        PRE,
        "(exists (?x - (either room box)) (lit ?x))",
        "(lit @?x",
        "'?x' is room or box",
    ),
}

TWICE = {
    "action": ("(:action move", "(:action move)(:action move", ")(:action @move", "at line 5"),
    "predicate": ("(lit ?r - room)", "(at ?r - room)", ") (@at ?r", "first at line 4"),
    "constant": ("hall - room", "hall hall - room", "hall @hall", "declared twice"),
    "constant of two types": (
        "hall - room",
        "hall - room hall - box",
        "hall - room @hall",
        "needs a common subtype",
    ),
    "parameter": ("?a ?b - room", "?a ?b ?a - room", "?b @?a", "declared twice"),
    "quantified variable": (PRE, "(exists (?x ?x) (and))", "(?x @?x", "declared twice"),
    "section": ("(:constants", "(:types) (:constants", "@(:types) ", "second :types"),
    "keyword": (":effect (and", ":effect () :effect (and", "() @:effect", "a second :effect"),
}

UNKNOWN = {
    "section": ("(:predicates", "(:predicate", "@(:predicate ", "did you mean ':predicates'"),
    "a problem's section": ("(:constants", "(:objects", "@(:objects", "belongs in the problem"),
    "keyword": (":effect", ":efect", "@:efect", "did you mean ':effect'"),
    "requirement": ("(:types", "(:requirements :strip) (:types", "@:strip)", "':strips'"),
    "no section": ("(:constants", "hello (:constants", "@hello", "expected a section"),
    "no name": ("(:action move", "(:action", "@(:action", "an action needs a name"),
    "variable as a name": ("(:action move", "(:action ?m", "@?m", "a variable can't stand here"),
}

FORM = {
    "type cycle": ("room item - object", "room item - box", "room @item - box", "own supertype"),
    "type its own supertype": ("box - item", "box - box", "@box - box", "own supertype"),
    "reserved": ("(lit ?r", "(when ?x) (lit ?r", "(@when ?x", "word of PDDL"),
    "dash without space": ("?a ?b - room", "?a ?b -room", "@-room", "expected a variable"),
    "dash glued on": ("?a ?b - room", "?a ?b- room", "@?b- room", "space on both sides"),
    "dash without type": ("?a ?b - room", "?a ?b -", "?b @-", "followed by a type"),
    "dash without name": ("?i - item ?a", "- box ?i - item ?a", "(@- box", "'-' must follow"),
    "empty either": ("(either room box)", "(either)", "@(either)", "at least one type"),
    "either above": ("box - item", "box - (either item room)", "@box - (e", "name one type"),
    "either of a constant": ("hall - room", "hall - (either room box)", "@hall - (e", "one type"),
    "missing value": (f"{PRE}\n", "\n", "@:precondition", "no value"),
    "parameters": (
        "(?i - item ?a ?b - room)",
        "?i",
        ":parameters @?i",
        "expected a list of parameters",
    ),
    "predicate without list": ("(lit ?r", "lit (lit ?r", "@lit (lit", "expected a predicate"),
    "not of two": (PRE, "(not (lit ?a) (lit ?b))", "@(not", "'not' takes exactly one"),
    "imply of one": (PRE, "(imply (lit ?a))", "@(imply", "exactly two conditions, got 1"),
    "quantifier without list": (PRE, "(forall ?x (lit ?x))", "@?x (lit", "list of variables"),
    "quantifier of two": (PRE, "(forall (?x) (lit ?a) (lit ?b))", "@(forall", "one formula"),
    "a word for a fact": (PRE, "(and lit)", "@lit)", "expected a fact"),
    "a list for an argument": (PRE, "(lit (at ?i ?a))", "(lit @(at", "must be a name"),
    "when in a condition": (PRE, "(when (lit ?a) (lit ?b))", "@(when", "can't stand in a cond"),
    "increase in a condition": (PRE, "(increase (lit) 1)", "@(increase", "is an effect"),
    "or in an effect": (EFFECT, "(or (lit ?a) (lit ?b))", "@(or", "can't stand in an effect"),
    "exists in an effect": (EFFECT, "(exists (?x) (lit ?a))", "@(exists", "in an effect"),
    "not and in an effect": (EFFECT, "(not (and (lit ?a)))", "@(not (and (lit", "a single fact"),
    "not not in an effect": (EFFECT, "(not (not (lit ?a)))", "@(not (not", "a single fact"),
    "equality as an effect": (EFFECT, "(= ?a ?b)", "ct @(= ?a", "can't make objects equal"),
    "when of one": (EFFECT, "(when (lit ?a))", "@(when", "a condition and an effect, got 1"),
    "when of three": (EFFECT, "(when (lit ?a) () ())", "@(when", "got 3"),
    "a word for an effect": (EFFECT, "lit", "@lit)", "expected an effect"),
}

REFUSED = {
    "durative requirement": (
        "(:types",
        "(:requirements :durative-actions) (:types",
        "@:durative",
        "durative actions",
    ),
    "durative action": (
        "(:action move",
        "(:durative-action q) (:action move",
        "@(:durative-a",
        "duration",
    ),
    "derived": ("(:action", "(:derived (lit ?r) (and)) (:action", "@(:derived", "derived pred"),
    "axiom": ("(:action", "(:axiom) (:action", "@(:axiom", "derived predicate"),
    "constraints": ("(:action", "(:constraints) (:action", "@(:constraints", "trajectory"),
    "process": ("(:action", "(:process p) (:action", "@(:process", "process"),
    "preference": (PRE, "(preference p (lit ?a))", "@(pref", "a preference"),
    "comparison": (PRE, "(>= (fuel) 3)", "@(>=", "comparison of numeric fluents"),
    "numeric equality": (PRE, "(= (fuel) 3)", "@(= (fuel", "numeric fluent"),
    "assign": (EFFECT, "(assign (fuel) 3)", "@(assign", "numeric fluent"),
    "decrease": (EFFECT, "(when (lit ?a) (decrease (fuel) 3))", "@(decrease", "numeric fluent"),
    "chance": (EFFECT, "(probabilistic 0.5 (lit ?a))", "@(probab", "a probabilistic effect"),
    "trajectory": (PRE, "(always (lit ?a))", "@(always", "trajectory constraint"),
    "vars": (":precondition", ":vars (?z) :precondition", "@:vars", "use (exists"),
}

TABLES = {"names": NAMES, "twice": TWICE, "unknown": UNKNOWN, "form": FORM, "refused": REFUSED}
CASES = [(table, name) for table, rows in TABLES.items() for name in rows]


@pytest.mark.parametrize(("table", "name"), CASES)
def test_one_message_at_the_place(table, name, faults):
    old, new, place, what = TABLES[table][name]
    assert old in DOMAIN
    text = DOMAIN.replace(old, new, 1)
    found = faults(text)
    assert (found[0].line, found[0].column) == place_of(text, place), str(found[0])
    assert what in found[0].what
    assert found[0].file.endswith("d.pddl")
    # A word of two meanings (an action without its name) may be one more; a cascade may not.
    assert len(found) == 1, [str(each) for each in found]


@pytest.mark.parametrize("text", ["", " \n\t", "; only a comment", "\ufeff"])
def test_empty_file(text, faults):
    (fault,) = faults(text)
    assert (fault.line, fault.column) == (1, 1)
    assert "empty" in fault.what


def test_a_problem_is_not_a_domain(faults):
    (fault,) = faults("(define (problem p) (:domain d) (:init) (:goal (and)))")
    assert "is a problem, expected a domain" in fault.what


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(BadInput, match="no such file"):
        read_domain(tmp_path / "nowhere.pddl")
    with pytest.raises(BadInput, match="is a folder"):
        read_domain(tmp_path)


def test_a_binary_file_has_its_place(tmp_path):
    (tmp_path / "d.pddl").write_bytes(b"(define\n (d\xff\xfe))")
    with pytest.raises(BadInput, match=r"d\.pddl:2:4: is not UTF-8 text"):
        read_domain(tmp_path / "d.pddl")


def test_all_faults_come_in_the_order_of_the_file(faults):
    text = DOMAIN.replace("(lit ?r - room)", "(lit ?r - rom)").replace("?a ?b -", "?a ?a -")
    found = faults(text.replace("(not (at ?i ?a))", "(not (att ?i ?a))"))
    assert [each.line for each in found] == [4, 6, 7, 8, 8]
    assert "'?b'" in found[2].what


def test_thousands_of_faults_are_counted(faults):
    words = "\n".join(f"(att{i} ?i ?a)" for i in range(1000))
    found = faults(DOMAIN.replace("(at ?i ?a)", words, 1))
    assert len(found) == 101
    assert (found[-1].line, found[-1].column) == (107, 2)
    assert "900 more" in found[-1].what


def test_long_words_are_cut(faults):
    (fault,) = faults(DOMAIN.replace("(at ?i ?a)", f"({'x' * 100_000})", 1))
    assert len(fault.what) < 200
