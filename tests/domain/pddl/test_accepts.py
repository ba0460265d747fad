"""PDDL that the reader accepts, and the resulting data."""

import pytest

from galley.domain.pddl.formula import (
    And,
    Exists,
    Fact,
    Forall,
    ForEach,
    Imply,
    Literal,
    Or,
    Variable,
    When,
)
from galley.domain.pddl.model import Type
from galley.domain.pddl.syntax import Atom, SList, parse_sexprs
from galley.tests.domain.pddl.places import DOMAIN, PROBLEM


@pytest.fixture
def condition(read):
    """The formulas read from a precondition over ?i - item, ?a - room."""

    def run(text):
        head, tail = DOMAIN.split("(:action")[0], "(:action a :parameters (?i - item ?a - room)"
        domain, _ = read(f"{head} {tail} :precondition {text}))")
        return domain.actions[0].precondition

    return run


@pytest.fixture
def effect(read):
    def run(text):
        head, tail = DOMAIN.split("(:action")[0], "(:action a :parameters (?i - item ?a - room)"
        domain, _ = read(f"{head} {tail} :effect {text}))")
        return domain.actions[0].effect

    return run


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
    assert domain.types == (Type("room"), Type("item"), Type("box", ("item",)))
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
    assert move.cost == ()
    assert problem.init == (Fact("at", ("crate", "hall")),)
    assert problem.init_places == ((3, 11),)
    assert problem.goal == (Literal("at", ("crate", "den")), Literal("lit", ("hall",), False))
    assert (problem.metric, problem.values) == (False, {})


def test_objects_know_where_they_were_declared(read):
    domain, problem = read()
    hall, den, crate = problem.objects
    assert (hall.name, hall.type, hall.line, hall.column) == ("hall", "room", 3, 15)
    assert hall.file == domain.file
    assert (den.line, den.column) == (2, 13)
    assert (crate.type, crate.line, crate.column, crate.file) == ("box", 2, 24, problem.file)
    assert problem.object("crate") is crate


AT = Literal("at", ("?i", "?a"))
LIT = Literal("lit", ("?a",))
DARK = Literal("lit", ("?a",), False)
ROOM_R = (Variable("?r", ("room",)),)

CONDITIONS = {
    "(and)": (),
    "(at ?i ?a)": (AT,),
    "(and (at ?i ?a) (and (lit ?a) (and (at ?i ?a))))": (AT, LIT),
    "(not (not (not (lit ?a))))": (DARK,),
    "(or (at ?i ?a) (and (lit ?a) (and)))": (Or((AT, And((LIT, And(()))))),),
    "(imply (lit ?a) (not (at ?i ?a)))": (Imply(LIT, Literal("at", ("?i", "?a"), False)),),
    "(exists (?r - room) (lit ?r))": (Exists(ROOM_R, Literal("lit", ("?r",))),),
    # The inner ?a hides the parameter, whose type would be wrong here.
    "(forall (?a - item) (at ?a hall))": (
        Forall((Variable("?a", ("item",)),), Literal("at", ("?a", "hall"))),
    ),
    "(exists (?x) (= ?x hall))": (Exists((Variable("?x"),), Literal("=", ("?x", "hall"))),),
}


@pytest.mark.parametrize("text", CONDITIONS)
def test_conditions_become_trees(text, condition):
    assert condition(text) == CONDITIONS[text]


EFFECTS = {
    "()": (),
    "(and (lit ?a) (and (not (at ?i ?a))))": (LIT, Literal("at", ("?i", "?a"), False)),
    "(when (lit ?a) (not (lit ?a)))": (When((LIT,), (DARK,)),),
    "(forall (?r - room) (and (lit ?r) (when (at ?i ?r) (not (at ?i ?r)))))": (
        ForEach(
            ROOM_R,
            (
                Literal("lit", ("?r",)),
                When(
                    (Literal("at", ("?i", "?r")),),
                    (Literal("at", ("?i", "?r"), False),),
                ),
            ),
        ),
    ),
}


@pytest.mark.parametrize("text", EFFECTS)
def test_effects_become_trees(text, effect):
    assert effect(text) == EFFECTS[text]


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


@pytest.mark.parametrize("ending", ["\r\n", "\r"])
def test_other_line_endings_keep_the_lines(ending, read):
    _, problem = read(DOMAIN.replace("\n", ending), PROBLEM.replace("\n", ending))
    assert problem.init_places == ((3, 11),)


def test_comments_anywhere_even_without_a_line_end(read):
    text = PROBLEM.replace("(:init", '; one ) ( "\n(:init ;; two\n').rstrip() + ";three"
    assert read(problem=text)[1].init == (Fact("at", ("crate", "hall")),)


def test_names_as_benchmarks_write_them(read):
    names = "p1-0 2-c 17 a_b seg.rw#0 x+y cam@l1 go-> n0/1 really?"
    _, problem = read(problem=PROBLEM.replace("den - room", f"den {names} - room"))
    assert [each.name for each in problem.objects][2:-1] == names.split()


def test_a_type_may_lie_under_two_others(read):
    domain, _ = read(DOMAIN.replace("box - item)", "box - item box - room)"))
    assert domain.supertypes("box") == {"box", "item", "room", "object"}


def test_a_type_named_only_above_others_is_declared_thereby(read):
    domain, _ = read(DOMAIN.replace("room item - object", "room item - place"))
    assert domain.types[-1] == Type("place")
    assert domain.is_a("box", ("place",))
    domain, _ = read(DOMAIN.replace("room item - object", "room item fast-lift - lift"))
    assert domain.is_a("fast-lift", ("lift",))


def test_predicates_parameters_may_share_a_name(read):
    domain, _ = read(DOMAIN.replace("(lit ?r", "(in ?obj ?obj) (= ?a ?b) (lit ?r"))
    assert domain.predicate("in").arity == 2
    assert domain.predicate("=") is None


def test_a_constant_may_be_declared_again_with_its_type(read):
    domain, problem = read(problem=PROBLEM.replace("den - room", "hall den - room"))
    assert [each.name for each in problem.objects] == ["hall", "den", "crate"]
    assert problem.objects[0].file == domain.file


def test_negated_initial_fact_and_byte_order_mark(read):
    text = PROBLEM.replace("(:init", "(:init (not (lit den)) (lit hall) (lit hall)")
    _, problem = read(problem="\ufeff" + text)
    assert problem.init == (Fact("lit", ("hall",)), Fact("at", ("crate", "hall")))


def test_requirements_are_kept(read):
    names = ":adl :action-costs :of-another-time"
    domain, _ = read(DOMAIN.replace("(:types", f"(:requirements {names})\n(:types"))
    assert domain.requirements == tuple(names.split())
