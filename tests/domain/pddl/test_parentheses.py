"""The culprit that the PDDL reader names for unbalanced parentheses."""

import pytest

from galley.domain.errors import BadInput
from galley.domain.pddl.syntax import MAX_DEPTH, parse_sexprs
from galley.tests.domain.pddl.places import place_of

DOMAIN = """\
(define (domain d)
  (:types room item - object)
  (:predicates
    (at ?i - (either room item) ?r - room)
    (lit ?r - room))
  (:action move
    :parameters (?i - item
                 ?a ?b - room)
    :precondition (and (at ?i ?a)
                       (not (= ?a ?b))
                       (forall (?r - room)
                         (imply (lit ?r) (lit ?a))))
    :effect (and (at ?i ?b)
                 (not (at ?i ?a))))
  (:action wait
    :parameters ()
    :effect (and)))
"""
PROBLEM = """\
(define (problem p) (:domain d)
  (:objects den hall - room
            crate - item)
  (:init
    (at crate hall)
    (lit hall)
    (= (total-cost) 0))
  (:length (:serial 3) (:parallel 3))
  (:goal (and (at crate den) (not (lit hall)))))
"""


def fault_of(text):
    with pytest.raises(BadInput) as caught:
        parse_sexprs(text, "f")
    (fault,) = caught.value.errors
    return fault


# What loses its last ')', and the '(' to be blamed.
MISSING = {
    "(domain d)": "@(domain",
    "(:types room item - object)": "@(:types",
    "(either room item)": "@(at ?i - (either",
    "(at ?i - (either room item) ?r - room)": "@(at ?i -",
    "(lit ?r - room))": "@(:predicates",
    "?a ?b - room)": "@(?i - item",
    "(and (at ?i ?a)": "(and @(at ?i ?a",
    "(not (= ?a ?b))": "@(not (=",
    "(forall (?r - room)": "@(?r - room",
    "(lit ?r) (lit ?a": "(imply @(lit ?r",
    "(lit ?a))))": "@(and (at ?i ?a)",
    "(and (at ?i ?b)": "(and @(at ?i ?b",
    "(not (at ?i ?a))))": "@(:action move",
    ":effect (and)))": "@(define",
}
MISSING_IN_PROBLEM = {
    "crate - item)": "@(:objects",
    "(:domain d)": "@(:domain",
    "(at crate hall)": "@(at crate",
    "    (lit hall)": "@(lit hall",
    "(total-cost) 0))": "@(:init",
    "(at crate den)": "@(at crate den",
    "(lit hall)))))": "@(define",
}


@pytest.mark.parametrize(
    ("text", "piece", "place"),
    [(DOMAIN, *each) for each in MISSING.items()]
    + [(PROBLEM, *each) for each in MISSING_IN_PROBLEM.items()],
)
def test_what_lacks_its_parenthesis_is_found(text, piece, place):
    assert piece in text
    broken = text.replace(piece, piece[: piece.rindex(")")] + piece[piece.rindex(")") + 1 :], 1)
    if piece == "(lit ?r) (lit ?a":
        broken = text.replace("(lit ?r) (lit ?a", "(lit ?r (lit ?a")
    fault = fault_of(broken)
    assert (fault.line, fault.column) == place_of(broken, place), str(fault)
    assert "closed" in fault.what


def test_one_line_files_too():
    text = "(define (problem p) (:domain d) (:init (at a (lit b)) (:goal (lit a)))"
    fault = fault_of(text)
    assert (fault.line, fault.column) == place_of(text, "@(at a")


def test_a_section_that_swallows_the_next_is_named():
    fault = fault_of("(define (domain d) (:types a (:constants b)\n (:predicates (p)))")
    assert (fault.line, fault.column) == (1, 20)
    assert "(' of :types is not closed before the next section; add a ')'" in fault.what


def test_several_missing_at_the_end_are_counted():
    fault = fault_of("(define (problem p)\n  (:goal (and (lit a)")
    assert "3 ')' are missing at the end" in fault.what


def test_one_too_many_at_the_end():
    fault = fault_of(PROBLEM + "  )")
    assert (fault.line, fault.column) == (10, 3)
    assert "closes nothing" in fault.what


def test_one_too_many_before_a_section_is_blamed_there():
    text = PROBLEM.replace("- item)", "- item))")
    fault = fault_of(text)
    assert (fault.line, fault.column) == place_of(text, "- item)@)")
    assert "':init' follows at line 4" in fault.what


def test_nesting_has_a_limit():
    def nested(depth):
        return "(" * depth + ")" * depth

    assert parse_sexprs(nested(MAX_DEPTH), "f")
    fault = fault_of(nested(MAX_DEPTH + 1))
    assert (fault.line, fault.column) == (1, MAX_DEPTH + 1)
    assert "deep" in fault.what
