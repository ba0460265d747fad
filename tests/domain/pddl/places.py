"""A small domain and problem, and where a marked text stands in one."""

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


def place_of(text, marked):
    """Line and column of the character after ``@`` in ``marked``, whose text occurs in ``text``."""
    start = text.index(marked.replace("@", "")) + marked.index("@")
    before = text[:start]
    return before.count("\n") + 1, start - (before.rfind("\n") + 1) + 1
