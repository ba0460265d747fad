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


PICK = "(pick spam burner h1)"


@pytest.mark.parametrize(
    ("fact", "later"),
    [
        (("blocked-by", "sugar", "spam"), "(pick sugar burner h1)"),
        (("no-room", "sugar", "countertop", "spam"), "(place sugar countertop h1)"),
        (("no-stance", "spam", "burner"), None),
        (("too-small", "countertop", "sugar", "spam"), None),
    ],
    ids=lambda each: str(each and each[0]),
)
def test_what_is_delayed_waits_and_the_plans_are_still_valid_for_the_user(
    kitchen, seen, task, fact, later
):
    for plan in itertools.islice(plans(seen.grounded(seen.fact(*fact))), 30):
        assert validate_actions(kitchen.domain, kitchen.problem, plan.actions).valid
        steps = texts(plan)
        assert later is None or steps.index(PICK) < steps.index(later)


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
