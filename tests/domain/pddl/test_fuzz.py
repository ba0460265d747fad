"""The PDDL reader neither crashes nor hangs on any text."""

import random
import re
import time

import pytest

from galley.domain.errors import BadInput
from galley.domain.pddl.reader import read_domain, read_problem, read_task
from galley.domain.shipped import KITCHEN
from galley.tests.effort import quick_first

ADL_DOMAIN = """\
(define (domain city)
  (:requirements :adl :action-costs)
  (:types place thing - object van parcel - thing depot - place)
  (:constants hub - depot)
  (:predicates (at ?t - thing ?p - place) (in ?x - parcel ?v - van) (open ?p - place)
               (near ?x - (either place van)))
  (:functions (total-cost) - number (way ?a ?b - place) - number)
  (:action drive
    :parameters (?v - van ?a ?b - place)
    :precondition (and (at ?v ?a) (not (= ?a ?b))
      (or (open ?b) (forall (?p - depot) (not (open ?p))))
      (imply (near ?a) (exists (?x - parcel) (in ?x ?v))))
    :effect (and (at ?v ?b) (not (at ?v ?a)) (increase (total-cost) (way ?a ?b))
      (forall (?x - parcel) (when (and (in ?x ?v) (open ?b))
        (and (at ?x ?b) (not (at ?x ?a)))))))
  (:action load
    :parameters (?x - parcel ?v - van)
    :precondition (exists (?p - place) (and (at ?x ?p) (at ?v ?p)))
    :effect (and (in ?x ?v) (increase (total-cost) 1))))
"""
ADL_PROBLEM = """\
(define (problem tour) (:domain city)
  (:objects a b - place v - van x y - parcel)
  (:init (at v hub) (at x a) (at y b) (open a) (= (total-cost) 0)
         (= (way hub a) 3) (= (way a b) 4.5) (= (way b hub) 2))
  (:goal (and (forall (?x - parcel) (at ?x hub)) (or (open b) (not (near v)))))
  (:metric minimize (total-cost)))
"""
SOURCES = [
    (ADL_DOMAIN, ADL_PROBLEM),
    ((KITCHEN / "kitchen.pddl").read_text(), (KITCHEN / "task.pddl").read_text()),
]

_PIECE = re.compile(r"\s+|[()]|[^\s()]+")
_NOISE = [
    *("(", ")", "-", "?x", ":goal", "and", "not", "=", "either", ";", "()", "0", "é", "?", ":"),
    *("when", "forall", "exists", "or", "imply", "increase", "-1", "1e999", "(total-cost)"),
    *("object", ":functions", "minimize", "(at 5 (open a))", "number"),
]


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


def outcome(folder, domain, problem):
    """Whether a task is read; if not, checks that each error has a message and a position."""
    (folder / "d").write_bytes(domain if isinstance(domain, bytes) else domain.encode())
    (folder / "p").write_bytes(problem if isinstance(problem, bytes) else problem.encode())
    errors = ()
    try:
        read_task(folder / "d", folder / "p")
    except BadInput as bad:
        errors = bad.errors
        text = str(bad)
    assert all(each.line and each.column and each.what for each in errors), text
    return not errors


@pytest.mark.parametrize("seed", quick_first(2, range(8)))
def test_mutated_files_are_read_or_refused(seed, tmp_path):
    rng = random.Random(seed)
    assert outcome(tmp_path, *SOURCES[seed % 2])
    read = 0
    for _ in range(200):
        domain, problem = rng.choice(SOURCES)
        if rng.random() < 0.5:
            domain = mutate(domain, rng)
        else:
            problem = mutate(problem, rng)
        read += outcome(tmp_path, domain, problem)
    assert 2 <= read < 100


@pytest.mark.parametrize("source", quick_first(1, SOURCES))
def test_truncated_files_are_refused(source, tmp_path):
    domain, problem = source
    (tmp_path / "whole").write_text(domain)
    whole = read_domain(tmp_path / "whole")
    for text, read in ((domain, read_domain), (problem, lambda file: read_problem(file, whole))):
        for end in range(0, text.rindex(")"), 7):
            (tmp_path / "cut").write_text(text[:end])
            with pytest.raises(BadInput) as caught:
                read(tmp_path / "cut")
            (fault,) = caught.value.errors
            assert fault.line
            assert fault.column


def test_random_bytes_are_refused(tmp_path):
    rng = random.Random(5)
    for _ in range(50):
        assert not outcome(tmp_path, rng.randbytes(rng.randrange(300)), rng.randbytes(50))
    letters = "()()()  \n:-?;=andefi\x00\x0c\u2028é"
    for _ in range(120):
        text = "".join(rng.choices(letters, k=rng.randrange(200)))
        assert not outcome(tmp_path, f"(define (domain d) {text}", text)


HOSTILE = {
    "open": "(" * 1_000_000,
    "pairs": "()" * 500_000,
    "faults": "(define (domain d) (:predicates " + "(p ?x - rom) " * 40_000 + "))",
    "types in a ring": "(define (domain d) (:types"
    + " ".join(f"t{i} - t{(i + 1) % 9000}" for i in range(25_000))
    + "))",
}


@pytest.mark.parametrize("name", quick_first(2, HOSTILE))
def test_a_megabyte_of_anything_is_refused_soon(name, tmp_path):
    start = time.process_time()
    assert not outcome(tmp_path, HOSTILE[name], ADL_PROBLEM)
    assert time.process_time() - start < 8
    assert not outcome(tmp_path, ADL_DOMAIN, HOSTILE[name][:100_000])
