"""The PDDL reader: what it accepts, and where it says a fault is."""

import random
import re
from importlib.resources import files
from pathlib import Path

import pytest

from galley.domain.errors import BadInput
from galley.domain.pddl import Fact, Literal, Type, Variable
from galley.domain.pddl_reader import read_domain, read_problem
from galley.domain.sexpr import Atom, SList, parse_sexprs
from galley.planning import Plan, breadth_first, ground, validate

KITCHEN = Path(str(files("galley.domain").joinpath("kitchen")))

DOMAIN = """\
(define (domain d)
  (:types room item - object box - item)
  (:constants hall - room)
  (:predicates (at ?i - item ?r - room) (lit ?r - room) (any ?x - (either room box)))
  (:action move
    :parameters (?i - item ?a ?b - room)
    :precondition (and (at ?i ?a) (not (= ?a ?b)))
    :effect (and (at ?i ?b) (not (at ?i ?a)))))
"""
PROBLEM = """\
(define (problem p) (:domain d)
  (:objects den - room crate - box)
  (:init (at crate hall))
  (:goal (and (at crate den) (not (lit hall)))))
"""


@pytest.fixture
def read(tmp_path):
    """Reads a domain and a problem given as text."""

    def run(domain=DOMAIN, problem=PROBLEM):
        (tmp_path / "d.pddl").write_text(domain, encoding="utf-8")
        (tmp_path / "p.pddl").write_text(problem, encoding="utf-8")
        read = read_domain(tmp_path / "d.pddl")
        return read, read_problem(tmp_path / "p.pddl", read)

    return run


def faults(read, **texts):
    with pytest.raises(BadInput) as caught:
        read(**texts)
    return caught.value.errors


def place_of(text, marked):
    """Line and column of the character after ``@`` in ``marked``, whose text occurs in ``text``."""
    start = text.index(marked.replace("@", "")) + marked.index("@")
    before = text[:start]
    return before.count("\n") + 1, start - (before.rfind("\n") + 1) + 1


# --- what is accepted ---------------------------------------------------------------------------


def test_sexpr_places_and_case():
    (tree,) = parse_sexprs("; note\n(A\t(b?\n  C))", "f")
    assert isinstance(tree, SList)
    assert (tree.line, tree.column) == (2, 1)
    assert tree.items[0] == Atom("a", 2, 2)
    inner = tree.items[1]
    assert isinstance(inner, SList)
    assert (inner.line, inner.column) == (2, 4)
    assert inner.items == (Atom("b?", 2, 5), Atom("c", 3, 3))


def test_whole_files_are_read(read):
    domain, problem = read()
    assert domain.types == (
        Type("room"),
        Type("item"),
        Type("box", ("item",)),
    )
    assert domain.is_a("box", ("item",))
    assert not domain.is_a("item", ("box",))
    assert domain.predicates[2].parameters == (Variable("?x", ("room", "box")),)
    move = domain.action("move")
    assert move.parameters == (
        Variable("?i", ("item",)),
        Variable("?a", ("room",)),
        Variable("?b", ("room",)),
    )
    assert move.precondition == (Literal("at", ("?i", "?a")), Literal("=", ("?a", "?b"), False))
    assert move.effect == (Literal("at", ("?i", "?b")), Literal("at", ("?i", "?a"), False))
    assert problem.init == (Fact("at", ("crate", "hall")),)
    assert problem.goal == (Literal("at", ("crate", "den")), Literal("lit", ("hall",), False))


def test_objects_know_where_they_were_declared(read):
    domain, problem = read()
    hall, den, crate = problem.objects
    assert (hall.name, hall.type, hall.line, hall.column) == ("hall", "room", 3, 15)
    assert hall.file == domain.file
    assert (den.line, den.column) == (2, 13)
    assert (crate.type, crate.line, crate.column, crate.file) == ("box", 2, 24, problem.file)


def test_sections_in_any_order_upper_case_tabs_and_dashes(read):
    domain, problem = read(
        "(DEFINE (DOMAIN D)\n(:ACTION GO-ON :EFFECT (DONE-IT C-1))\t(:PREDICATES (DONE-IT ?X-1))\n"
        "(:CONSTANTS C-1) (:REQUIREMENTS :STRIPS))",
        "(define (problem p-1) (:goal (done-it c-1)) (:init) (:domain d))",
    )
    assert domain.action("go-on").effect == (Literal("done-it", ("c-1",)),)
    assert domain.action("go-on").parameters == ()
    assert domain.predicate("done-it").parameters == (Variable("?x-1"),)
    assert problem.goal == (Literal("done-it", ("c-1",)),)


def test_a_type_may_lie_under_two_others(read):
    domain, _ = read(DOMAIN.replace("box - item)", "box - item box - room)"))
    assert domain.supertypes("box") == {"box", "item", "room", "object"}


def test_negated_initial_fact_and_byte_order_mark(read):
    _, problem = read(problem="\ufeff" + PROBLEM.replace("(:init", "(:init (not (lit den))"))
    assert problem.init == (Fact("at", ("crate", "hall")),)


def test_kitchen_is_the_seeds():
    domain = read_domain(KITCHEN / "kitchen.pddl")
    assert [each.name for each in domain.types] == ["furniture", "objective", "hand"]
    parameters = {a.name: [(v.name, *v.types) for v in a.parameters] for a in domain.actions}
    carried = [("?obj", "objective"), ("?fur", "furniture"), ("?h", "hand")]
    assert parameters == {
        "navigate": [("?from", "furniture"), ("?to", "furniture")],
        "pick": carried,
        "place": carried,
        "stow": carried,
    }
    assert {"near", "grasp", "on", "inside"} <= {each.name for each in domain.predicates}
    for name in ("task", "sugar_only"):
        assert read_problem(KITCHEN / f"{name}.pddl", domain).goal


# --- faults, with their place -------------------------------------------------------------------

DOMAIN_FAULTS = {
    "unbalanced section": (
        ") (lit ?r - room) (any",
        " (lit ?r - room) (any",
        "@(:predicates",
        "not closed",
    ),
    "undeclared type": ("?a ?b - room", "?a ?b - rom", "?a ?b - @rom", "did you mean 'room'"),
    "undeclared parent": ("box - item", "box - itm", "box - @itm", "type 'itm' is not declared"),
    "undeclared predicate": (
        "(and (at ?i ?a)",
        "(and (att ?i ?a)",
        "(and (@att",
        "did you mean 'at'",
    ),
    "undeclared variable": ("(at ?i ?b) (", "(at ?i ?c) (", "(at ?i @?c", "'?c' is not among"),
    "undeclared object": ("(at ?i ?b) (", "(at ?i hal) (", "(at ?i @hal)", "did you mean 'hall'"),
    "arity": ("(at ?i ?b) (", "(at ?i) (", "(@at ?i) (", "takes 2 arguments (?i ?r), got 1"),
    "wrong type": (
        "(at ?i ?b) (",
        "(at ?b ?b) (",
        "(at @?b ?b",
        "must be of type item, '?b' is room",
    ),
    "wrong type, either": (
        "(and (at ?i ?a)",
        "(and (any ?i)",
        "(any @?i",
        "must be of type room or box",
    ),
    "duplicate action": (
        "(:action move",
        "(:action move)(:action move",
        ")(:action @move",
        "first at line 5",
    ),
    "duplicate predicate": ("(lit ?r - room)", "(at ?r - room)", ") (@at ?r", "first at line 4"),
    "duplicate constant": ("hall - room", "hall hall - room", "hall @hall", "declared twice"),
    "duplicate variable": ("?a ?b - room", "?a ?a - room", "?a @?a", "declared twice"),
    "duplicate section": (
        "(:constants hall",
        "(:types) (:constants hall",
        "@(:types) ",
        "second :types",
    ),
    "type cycle": ("room item", "room - box item - room item", "types @room - box", "under itself"),
    "unknown section": (
        "(:predicates",
        "(:predicate",
        "@(:predicate ",
        "did you mean ':predicates'",
    ),
    "unknown keyword": (":effect", ":efect", "@:efect", "did you mean ':effect'"),
    "unknown requirement": ("(:types", "(:requirements :strip) (:types", "@:strip)", "':strips'"),
    "unsupported requirement": (
        "(:types",
        "(:requirements :adl) (:types",
        "@:adl",
        "not supported",
    ),
    "durative": (
        "(:action move",
        "(:durative-action q) (:action move",
        "@(:durative-a",
        "duration",
    ),
    "functions": (
        "(:action move",
        "(:functions (f)) (:action move",
        "@(:functions",
        "not supported",
    ),
    "disjunction": ("(and (at ?i ?a)", "(or (at ?i ?a)", "@(or (at", "'or' (disjunction)"),
    "quantifier": ("(and (at ?i ?a)", "(and (forall (?z) (lit ?z))", "@(forall", "universal"),
    "conditional": ("(and (at ?i ?b)", "(and (when (lit ?a) (lit ?b))", "@(when", "conditional"),
    "cost": ("(and (at ?i ?b)", "(and (increase (total-cost) 1)", "@(increase", "action cost"),
    "negated conjunction": ("(not (= ?a ?b))", "(not (and (lit ?a)))", "(not @(and", "'not' of"),
    "equality as an effect": ("(and (at ?i ?b)", "(and (= ?a ?b)", "(and (@= ?a ?b)", "can't make"),
    "dash without space": ("?a ?b - room", "?a ?b -room", "@-room", "expected a variable"),
    "constant in either": ("hall - room", "hall - (either room box)", "@hall - (e", "one type"),
    "missing value": (
        ":precondition (and",
        ":precondition :effect () ; (and",
        "@:precondition",
        "no value",
    ),
}

PROBLEM_FAULTS = {
    "other domain": ("(:domain d)", "(:domain e)", "(:domain @e", "is for domain 'e'"),
    "no domain": ("(:domain d)", "", "@(define", "names no domain"),
    "undeclared object": (
        "(at crate den)",
        "(at crat den)",
        "(at @crat den",
        "did you mean 'crate'",
    ),
    "wrong type": ("(at crate den)", "(at den den)", "(at @den", "'den' is room"),
    "duplicate object": (
        "crate - box",
        "den - box",
        "room @den",
        "declared twice, first at line 2",
    ),
    "object and constant": ("crate - box", "hall - box", "room @hall", "d.pddl:3"),
    "variable in init": (
        "(at crate hall)",
        "(at crate ?x)",
        "(at crate @?x",
        "can't stand in :init",
    ),
    "variable in goal": (
        "(at crate den)",
        "(at crate ?x)",
        "(at crate @?x",
        "can't stand in the goal",
    ),
    "missing init": ("(:init (at crate hall))", "", "@(define", "no :init"),
    "contradictory goal": (
        "(not (lit hall))",
        "(not (at crate den))",
        "(not (@at crate den",
        "line 4",
    ),
    "two goals": ("(:goal (and", "(:goal (lit den) (and", "@(:goal", "must be one condition"),
    "metric": ("(:init", "(:metric minimize (total-cost)) (:init", "@(:metric", "plan costs"),
    "numeric init": ("(:init", "(:init (= (total-cost) 0)", "@(= (total", "numeric fluent"),
    "extra closing": ("(lit hall)))))", "(lit hall))))))", "(lit hall)))))@)", "closes nothing"),
    "missing closing": ("(lit hall)))))", "(lit hall))))", "@(define", "never closed"),
    "text after the end": ("(lit hall)))))", "(lit hall)))))\nmore", "\n@more", "may follow"),
}


@pytest.mark.parametrize("name", DOMAIN_FAULTS)
def test_domain_faults_have_their_place(name, read):
    old, new, place, what = DOMAIN_FAULTS[name]
    assert old in DOMAIN
    text = DOMAIN.replace(old, new, 1)
    first = faults(read, domain=text)[0]
    assert (first.line, first.column) == place_of(text, place)
    assert what in first.what
    assert first.file.endswith("d.pddl")


@pytest.mark.parametrize("name", PROBLEM_FAULTS)
def test_problem_faults_have_their_place(name, read):
    old, new, place, what = PROBLEM_FAULTS[name]
    assert old in PROBLEM
    text = PROBLEM.replace(old, new, 1)
    first = faults(read, problem=text)[0]
    assert (first.line, first.column) == place_of(text, place)
    assert what in first.what
    assert first.file.endswith("p.pddl")


def test_missing_goal(read):
    text = "(define (problem p) (:domain d) (:init))"
    (fault,) = faults(read, problem=text)
    assert str(fault).endswith("p.pddl:1:1: the problem has no goal; add (:goal (and ...))")


@pytest.mark.parametrize("text", ["", " \n\t", "; only a comment"])
def test_empty_file(read, text):
    (fault,) = faults(read, domain=text)
    assert (fault.line, fault.column) == (1, 1)
    assert "empty" in fault.what


def test_a_problem_is_not_a_domain(read):
    (fault,) = faults(read, domain=PROBLEM)
    assert "is a problem, expected a domain" in fault.what


def test_missing_file():
    with pytest.raises(BadInput, match="no such file"):
        read_domain("nowhere.pddl")


def test_every_fault_is_reported_in_the_order_of_the_file(read):
    text = PROBLEM.replace("crate hall", "crat hall").replace("crate den", "crate")
    found = faults(read, problem=text)
    assert [each.line for each in found] == [3, 4]
    assert ["crat" in found[0].what, "takes 2" in found[1].what] == [True, True]


def test_one_slip_gives_one_message(read):
    text = DOMAIN.replace("(lit ?r - room)", "(lit ?r - rom)")
    assert len(faults(read, domain=text)) == 1
    assert len(faults(read, problem=PROBLEM.replace("crate - box", "crate - bx"))) == 1


def test_deep_nesting_is_refused(read):
    deep = "(and " * 5000 + ")" * 5000
    (fault,) = faults(read, problem=PROBLEM.replace("(lit hall)", deep))
    assert "deep" in fault.what


# --- fuzz ---------------------------------------------------------------------------------------

_PIECE = re.compile(r"\s+|[()]|[^\s()]+")
_NOISE = ["(", ")", "-", "?x", ":goal", "and", "not", "=", "either", ";", "()", "0", "é", "?", ":"]


def mutate(text, rng):
    pieces = _PIECE.findall(text)
    for _ in range(rng.randint(1, 3)):
        i, j = rng.randrange(len(pieces)), rng.randrange(len(pieces))
        change = rng.randrange(4)
        if change == 0:
            del pieces[i]
        elif change == 1:
            pieces[i], pieces[j] = pieces[j], pieces[i]
        elif change == 2:
            pieces.insert(i, f" {rng.choice(_NOISE)} ")
        else:
            pieces[i] = pieces[j]
    return "".join(pieces)


@pytest.mark.parametrize("seed", range(8))
def test_mutated_files_are_read_or_refused(seed, tmp_path):
    rng = random.Random(seed)
    sources = [
        (DOMAIN, PROBLEM),
        ((KITCHEN / "kitchen.pddl").read_text(), (KITCHEN / "task.pddl").read_text()),
    ]
    refused = placed = 0
    for _ in range(150):
        domain_text, problem_text = rng.choice(sources)
        hits_domain = rng.random() < 0.5
        (tmp_path / "d").write_text(mutate(domain_text, rng) if hits_domain else domain_text)
        (tmp_path / "p").write_text(problem_text if hits_domain else mutate(problem_text, rng))
        try:
            domain = read_domain(tmp_path / "d")
            problem = read_problem(tmp_path / "p", domain)
        except BadInput as bad:
            refused += 1
            placed += all(each.line and each.column and each.what for each in bad.errors)
        else:
            found = breadth_first(ground(domain, problem), node_limit=400)
            if isinstance(found, Plan):
                assert validate(domain, problem, found.actions).valid
    assert refused > 75
    assert placed == refused
