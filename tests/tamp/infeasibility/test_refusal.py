"""The reasons of a refusal: none too many, all proven, all told."""

import itertools
from dataclasses import replace

import pytest

from galley.domain.failure import Failure, FailureKind
from galley.domain.pddl.formula import Fact
from galley.planning import GroundAction, search
from galley.skills import SKILLS
from galley.tamp.feedback.constraints import LearnedConstraint, LearnedConstraints, constrained_task
from galley.tamp.infeasibility.proofs import minimal_core, refusal
from galley.tests.tamp.tasks import kitchen_task

STANDING = [("sugar", "burner"), ("spam", "burner")]


@pytest.fixture(scope="module")
def seen():
    return constrained_task(kitchen_task(), STANDING)


@pytest.fixture(scope="module")
def task(seen):
    return seen.grounded()


def failure(kind=FailureKind.BLOCKED, proven=True, what="in the way"):
    return Failure(kind, what, certificate={"kind": what} if proven else None)


def lessons(seen, *told):
    """Lessons of facts by name, or of forbidden actions; those with a ``?`` are not proven."""
    found = LearnedConstraints()
    for each in told:
        name, *args = each.rstrip("?").split()
        sure = failure(proven=not each.endswith("?"), what=each)
        if name in SKILLS:
            action = GroundAction(name, tuple(args))
            found.add([LearnedConstraint(Fact("impossible", (name, *args)), sure, (action,))])
        else:
            found.add([LearnedConstraint(seen.fact(name, *args), sure)])
    return found


CASES = {
    "each blocks the other": (
        "blocked-by sugar spam",
        "blocked-by spam sugar",
        "no-room sugar countertop spam",
    ),
    "one says it alone": (
        "blocked-by sugar spam?",
        "no-stance sugar burner",
        "no-room spam countertop sugar",
    ),
    "two ways out": (
        "stow spam drawer h1",
        "no-stance spam burner?",
        "no-stance sugar burner?",
        "blocked-by spam sugar",
        "no-room spam drawer sugar?",
    ),
    "a circle of three": (
        "blocked-by spam sugar",
        "no-stance sugar burner?",
        "blocked-by sugar spam",
        "too-small burner sugar spam",
    ),
}


def unsolvable(seen, known, facts):
    """By a search other than the one that ``minimal_core`` uses."""
    found = search(
        LearnedConstraints({fact: known.all[fact] for fact in facts}).applied_to(seen), "astar"
    )
    return isinstance(found, Failure)


@pytest.mark.parametrize("told", CASES.values(), ids=CASES)
def test_nothing_can_be_left_out_of_the_core(seen, task, told):
    known = lessons(seen, *told)
    assert unsolvable(seen, known, known.all), "a case without a plan"
    found = {lesson.fact for lesson in minimal_core(seen, known)}
    for size in range(len(known.all) + 1):
        for some in itertools.combinations(known.all, size):
            if found >= set(some):
                assert unsolvable(seen, known, some) == (found == set(some)), some


@pytest.mark.parametrize("told", CASES.values(), ids=CASES)
def test_what_proven_lessons_say_needs_no_suspicion(seen, task, told):
    known = lessons(seen, *told)
    sure = [fact for fact, lesson in known.all.items() if lesson.proven]
    if unsolvable(seen, known, sure):
        assert all(lesson.proven for lesson in minimal_core(seen, known))
    else:
        assert not all(lesson.proven for lesson in minimal_core(seen, known))


def test_a_search_that_ends_too_soon_keeps_the_lesson(seen, task, monkeypatch):
    known = lessons(seen, "no-stance sugar burner", "blocked-by spam sugar")
    assert len(minimal_core(seen, known)) == 1
    monkeypatch.setattr("galley.tamp.infeasibility.proofs._NODES", 1)
    assert Fact("no-stance", ("sugar", "burner")) in {
        each.fact for each in minimal_core(seen, known)
    }


def proof(lesson):
    return replace(lesson, failure=failure(what=f"shown for {lesson.fact}"))


def test_the_refusal_carries_the_certificates_of_all(seen):
    known = lessons(seen, "blocked-by sugar spam?", "no-stance spam burner", "stow spam drawer h1?")
    asked = []

    def prove(lesson):
        asked.append(str(lesson.fact))
        return proof(lesson)

    found = refusal(list(known.all.values()), prove)
    assert asked == ["(blocked-by sugar spam)", "(impossible stow spam drawer h1)"]
    kinds = [found.certificate["kind"], *(each["kind"] for each in found.certificate["because"])]
    assert sorted(kinds) == sorted(
        [
            "shown for (blocked-by sugar spam)",
            "no-stance spam burner",
            "shown for (impossible stow spam drawer h1)",
        ]
    )
    for kind in kinds:
        assert kind in found.message
    told = {each["fact"] for each in found.certificate["because"]}
    assert len(told) == 2


@pytest.mark.parametrize("place", [0, 1, 2])
def test_one_that_can_not_be_proven_is_enough_for_no_refusal(seen, place):
    told = ["blocked-by sugar spam", "no-stance spam burner", "stow spam drawer h1"]
    told[place] += "?"
    known = lessons(seen, *told)
    assert refusal(list(known.all.values()), lambda lesson: lesson) is None


def test_a_proof_by_running_out_of_tries_is_none(seen):
    (lesson,) = lessons(seen, "no-stance spam burner?").all.values()
    tired = Failure(FailureKind.BUDGET, "tried", certificate={"kind": "tries"})
    assert refusal([lesson], lambda each: replace(each, failure=tired)) is None


def test_the_weightiest_kind_leads(seen):
    far = LearnedConstraint(
        seen.fact("no-stance", "spam", "burner"), failure(FailureKind.UNREACHABLE)
    )
    near = LearnedConstraint(seen.fact("blocked-by", "sugar", "spam"), failure(FailureKind.BLOCKED))
    for both in ([far, near], [near, far]):
        assert refusal(both, proof).kind is FailureKind.BLOCKED
