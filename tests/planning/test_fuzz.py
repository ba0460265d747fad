"""Mutated tasks that can still be read are solved or refused, correctly and in time."""

import random
import re
from itertools import islice

import pytest

from galley.domain.errors import BadInput
from galley.domain.failure import Failure, FailureKind
from galley.domain.pddl.reader import read_task
from galley.domain.shipped import KITCHEN
from galley.planning import LimitReached, SearchLimits, ground, plans, search, validate_actions
from galley.planning.searches.methods import METHODS
from galley.tests.effort import quick_first
from galley.tests.planning.random_tasks import make

_PIECE = re.compile(r"[()]|[^\s()]+|\s+")


def sources():
    yield (KITCHEN / "kitchen.pddl").read_text(), (KITCHEN / "task.pddl").read_text()
    for seed in range(40):
        made = make(seed)
        yield made.domain_text, made.problem_text


SOURCES = list(sources())


def span(pieces, start):
    """The end of the list or word that begins at ``start``."""
    depth = 0
    for place in range(start, len(pieces)):
        depth += (pieces[place] == "(") - (pieces[place] == ")")
        if depth == 0:
            return place + 1
    return len(pieces)


def mutate(text, rng):
    """Words exchanged, forms dropped, doubled, negated or moved: mostly PDDL still."""
    text = re.sub(r";.*", "", text)
    pieces = _PIECE.findall(text)
    for _ in range(rng.randint(1, 3)):
        places = [i for i, p in enumerate(pieces) if not p.isspace() and p != ")"]
        if not places:
            break
        i, j = rng.choice(places), rng.choice(places)
        end = span(pieces, i)
        form = pieces[i:end]
        change = rng.randrange(6)
        if change == 0:
            pieces[i:end] = [" "]
        elif change == 1:
            pieces[i:end] = [*form, " ", *form]
        elif change == 2:
            pieces[i:end] = ["(not ", *form, ")"]
        elif change == 3:
            words = [p for p in pieces if re.fullmatch(r"[?\w-]+", p)]
            pieces[i] = rng.choice(words) if pieces[i] != "(" else "("
        elif change == 4:
            pieces[i:end] = [*rng.choice(["(or ", "(and ", "(when (and) "]), *form, ")"]
        else:
            pieces[i:end] = pieces[j : span(pieces, j)]
    return "".join(pieces)


@pytest.mark.parametrize("seed", quick_first(3, range(10)))
def test_mutated_tasks_are_planned_for_or_refused(seed, tmp_path):
    rng = random.Random(seed)
    planned = 0
    for _ in range(60):
        domain, problem = rng.choice(SOURCES)
        if rng.random() < 0.7:
            domain = mutate(domain, rng)
        if rng.random() < 0.5:
            problem = mutate(problem, rng)
        (tmp_path / "d").write_text(domain)
        (tmp_path / "p").write_text(problem)
        try:
            task = ground(*read_task(tmp_path / "d", tmp_path / "p"), SearchLimits(seconds=5))
        except (BadInput, LimitReached):
            continue
        planned += 1
        check(task)
    assert planned >= 8


def check(task):
    """All searches agree, as far as they come to an answer."""
    limits = SearchLimits(nodes=500, seconds=5)
    found = {method: search(task, method, limits) for method in METHODS}
    for each in found.values():
        if isinstance(each, Failure):
            assert each.kind in (FailureKind.BUDGET, FailureKind.CONTRADICTION)
        else:
            assert validate_actions(task.domain, task.problem, each.actions).valid
    answers = {
        isinstance(each, Failure)
        for each in found.values()
        if not isinstance(each, Failure) or each.kind is FailureKind.CONTRADICTION
    }
    assert len(answers) <= 1
    for plan in islice(plans(task, limits), 3):
        assert validate_actions(task.domain, task.problem, plan.actions).valid


def test_static_facts_of_a_quantified_goal_take_no_bits(pddl):
    names = " ".join(f"o{i}" for i in range(60))
    task = ground(
        *pddl(
            "(define (domain d) (:requirements :adl) (:predicates (p ?x) (q ?x ?y))"
            " (:action a :parameters (?x) :effect (p ?x)))",
            f"(define (problem x) (:domain d) (:objects {names}) (:init (q o1 o2) (q o2 o3))"
            " (:goal (forall (?x ?y) (imply (q ?x ?y) (p ?y)))))",
        )
    )
    assert len(task.facts) == 60
    assert sorted(str(a) for a in search(task).actions) == ["(a o2)", "(a o3)"]
