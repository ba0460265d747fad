"""Small domains and problems, and where a marked text stands in one."""

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
COSTS_DOMAIN = """\
(define (domain d)
  (:types place)
  (:constants home - place)
  (:predicates (at ?p - place))
  (:functions (total-cost) - number (way ?a ?b - place) (toll) - number)
  (:action go
    :parameters (?a ?b - place)
    :precondition (at ?a)
    :effect (and (at ?b) (not (at ?a)) (increase (total-cost) (way ?a ?b))))
  (:action rest :effect (increase (total-cost) 2)))
"""
COSTS_PROBLEM = """\
(define (problem p) (:domain d)
  (:objects inn - place)
  (:init (at home) (= (total-cost) 0) (= (way home inn) 3) (= (way inn home) 2.5))
  (:goal (at inn))
  (:metric minimize (total-cost)))
"""


def place_of(text, marked):
    """Line and column of the character after ``@`` in ``marked``, whose text occurs in ``text``."""
    start = text.index(marked.replace("@", "")) + marked.index("@")
    before = text[:start]
    return before.count("\n") + 1, start - (before.rfind("\n") + 1) + 1
