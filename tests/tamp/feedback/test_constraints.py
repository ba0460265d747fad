"""The constrained task: the user's plans, and what each constraint delays."""

import itertools

import pytest

from galley.domain.failure import Failure, FailureKind
from galley.domain.pddl.formula import Fact
from galley.domain.pddl.reader import read_domain, read_problem
from galley.domain.shipped import KITCHEN
from galley.planning import GroundAction, ground, plans, search, validate_actions
from galley.tamp.binding import tamp_task
from galley.tamp.feedback.constraints import LearnedConstraint, LearnedConstraints, constrained_task
from galley.tests.tamp.tasks import kitchen_task

STANDING = [("sugar", "burner"), ("spam", "burner")]


@pytest.fixture(scope="module")
def kitchen():
    return kitchen_task()


@pytest.fixture(scope="module")
def seen(kitchen):
    return constrained_task(kitchen, STANDING)


@pytest.fixture(scope="module")
def task(seen):
    return seen.grounded()


def texts(plan):
    return [str(action) for action in plan.actions]


def test_without_lessons_the_plans_are_the_users(kitchen, task):
    ours = [texts(plan) for plan in itertools.islice(plans(task), 40)]
    users = ground(kitchen.domain, kitchen.problem)
    assert ours == [texts(plan) for plan in itertools.islice(plans(users), 40)]


@pytest.mark.parametrize(
    "fact",
    [
        ("blocked-by", "spam", "sugar"),
        ("no-room", "spam", "drawer", "sugar"),
        ("no-stance", "spam", "burner"),
        ("too-small", "countertop", "sugar", "spam"),
    ],
    ids=lambda fact: fact[0],
)
def test_plans_with_a_lesson_are_still_valid_for_the_user(kitchen, seen, task, fact):
    for plan in itertools.islice(plans(seen.grounded(seen.fact(*fact))), 30):
        assert validate_actions(kitchen.domain, kitchen.problem, plan.actions).valid


def test_a_blocked_item_waits_until_the_blocker_has_been_taken(seen, task):
    taught = seen.grounded(seen.fact("blocked-by", "sugar", "spam"))
    for plan in itertools.islice(plans(taught), 30):
        steps = texts(plan)
        assert steps.index("(pick spam burner h1)") < steps.index("(pick sugar burner h1)")


def test_no_room_waits_until_the_other_item_has_been_taken(seen, task):
    taught = seen.grounded(seen.fact("no-room", "sugar", "countertop", "spam"))
    for plan in itertools.islice(plans(taught), 30):
        steps = texts(plan)
        assert steps.index("(pick spam burner h1)") < steps.index("(place sugar countertop h1)")


def test_two_items_that_never_fit_together_are_never_put_together(seen, task, with_goal):
    taught = seen.grounded(seen.fact("too-small", "countertop", "sugar", "spam"))
    goal = with_goal(taught, "(on sugar countertop)", "(on spam countertop)")
    found = search(goal)
    # The fact speaks of putting sugar beside spam: the other order is left.
    steps = texts(found)
    assert steps.index("(place sugar countertop h1)") < steps.index("(place spam countertop h1)")
    both = seen.grounded(
        *(seen.fact("too-small", "countertop", *p) for p in (("sugar", "spam"), ("spam", "sugar")))
    )
    both = with_goal(both, "(on sugar countertop)", "(on spam countertop)")
    assert search(both).kind is FailureKind.CONTRADICTION


def test_an_item_without_a_stance_is_out_for_good(seen, task):
    taught = seen.grounded(seen.fact("no-stance", "sugar", "burner"))
    assert search(taught).kind is FailureKind.CONTRADICTION


def test_a_domain_may_use_our_names_itself(kitchen, tmp_path):
    text = (KITCHEN / "kitchen.pddl").read_text()
    text = text.replace("(near ?r - furniture) ", "(near ?r - furniture) (stands ?r - furniture) ")
    path = tmp_path / "own.pddl"
    path.write_text(text)
    domain = read_domain(path)
    seen = constrained_task(
        tamp_task(kitchen.scene, domain, read_problem(KITCHEN / "task.pddl", domain)), STANDING
    )
    assert seen.fact("stands", "sugar", "burner").predicate != "stands"
    assert search(seen.grounded()).cost == 8


def lesson(fact, certificate=None, actions=()):
    failure = Failure(FailureKind.BLOCKED, "in the way", certificate=certificate)
    return LearnedConstraint(fact, failure, actions)


def test_a_lesson_is_learned_once_and_a_proof_replaces_a_suspicion(seen):
    fact = seen.fact("blocked-by", "spam", "sugar")
    lessons = LearnedConstraints()
    assert lessons.add([lesson(fact), lesson(fact)]) == [lesson(fact)]
    assert lessons.add([lesson(fact)]) == []
    assert not lessons.all[fact].proven
    assert lessons.add([lesson(fact, {"kind": "grid"})]) == []
    assert lessons.all[fact].proven


def test_constraints_are_facts_or_forbidden_actions(seen, task):
    pick = GroundAction("pick", ("sugar", "burner", "h1"))
    blocked = seen.fact("blocked-by", "spam", "sugar")
    lessons = LearnedConstraints()
    lessons.add([lesson(blocked), lesson(Fact("impossible", pick.args), actions=(pick,))])
    taught = lessons.applied_to(seen)
    assert blocked in taught.problem.init
    assert pick in taught.forbidden
    assert lessons.applied_to(seen, without=[blocked]).problem.init == task.problem.init
