"""Skeletons: the best plan first, none twice, none with a detour, and an honest end."""

import itertools

import pytest

from galley.domain.failure import FailureKind
from galley.domain.pddl.reader import read_domain, read_problem
from galley.domain.shipped import KITCHEN
from galley.planning import ground, plans, validate_actions
from galley.skills.manipulation.effort import Effort
from galley.tamp.search import Skeletons, shortest

GOALS = {
    "one": ("(on sugar countertop)",),
    "both": ("(on sugar countertop)", "(inside spam drawer)"),
    "back": ("(on sugar burner)", "(on spam countertop)"),
}


@pytest.fixture(scope="module")
def kitchen():
    domain = read_domain(KITCHEN / "kitchen.pddl")
    return ground(domain, read_problem(KITCHEN / "task.pddl", domain))


@pytest.fixture(scope="module", params=GOALS.values(), ids=GOALS)
def task(kitchen, request, with_goal):
    return with_goal(kitchen, *request.param)


@pytest.fixture(scope="module")
def few(task):
    return list(itertools.islice(Skeletons(lambda: task, Effort()), 12))


def end(task, actions):
    """The state after some actions; None where one of them can't be done."""
    known = {each.action: each for each in task.operators}
    state = task.init
    for action in actions:
        if not known[action].applicable(state):
            return None
        state = known[action].apply(state)
    return state


def test_plans_come_in_order_of_cost_none_reordered_and_none_with_a_detour(task, few):
    lengths = [len(actions) for actions in few]
    assert lengths == sorted(lengths)
    assert lengths[0] == len(next(plans(task)).actions)
    assert len({tuple(sorted(map(str, actions))) for actions in few}) == len(few) > 1
    for actions in few:
        assert validate_actions(task.domain, task.problem, actions).valid
        assert not improvable(task, actions), actions


def improvable(task, actions):
    """Whether some action can be left out, or one does what two in a row do."""
    states = [end(task, actions[:k]) for k in range(len(actions) + 1)]
    for k in range(len(actions)):
        state = end(task, actions[:k] + actions[k + 1 :])
        if state is not None and task.is_goal(state):
            return True
        if k + 2 < len(states) and any(
            end(task, (*actions[:k], each.action)) == states[k + 2] for each in task.operators
        ):
            return True
    return False


def test_what_is_left_out_are_reorderings_and_detours(task, few):
    given = {tuple(sorted(actions)) for actions in few}
    seen = 0
    for plan in itertools.islice(plans(task), 60):
        if len(plan.actions) < len(few[-1]) and tuple(sorted(plan.actions)) not in given:
            assert improvable(task, plan.actions), plan.actions
            seen += 1
    assert seen


def test_it_stays_at_its_end(monkeypatch):
    monkeypatch.setattr("galley.tamp.search.FURTHER_STATES", 400)
    domain = read_domain(KITCHEN / "kitchen.pddl")
    task = ground(domain, read_problem(KITCHEN / "task.pddl", domain))
    source = Skeletons(lambda: task, Effort())
    assert list(source)
    assert not source.complete, "there are plans"
    assert source.failure.kind is FailureKind.BUDGET


def test_no_plan_at_all_is_complete_and_says_why(kitchen, with_goal):
    source = Skeletons(
        lambda: with_goal(kitchen, "(on sugar countertop)", "(grasp sugar)"), Effort()
    )
    assert list(source) == []
    assert source.complete
    assert source.failure.kind is FailureKind.CONTRADICTION
    assert source.failure.certificate is not None


def test_too_few_states_prove_nothing(kitchen, monkeypatch):
    monkeypatch.setattr("galley.tamp.search.SHORTEST_STATES", 2)
    monkeypatch.setattr("galley.tamp.search.ANY_STATES", 2)
    effort = Effort()
    source = Skeletons(lambda: kitchen, effort)
    assert list(source) == []
    assert not source.complete
    assert source.failure.kind is FailureKind.BUDGET
    assert effort.counts == {"states": 4}


def test_where_a_shortest_plan_takes_too_long_any_plan_will_do(kitchen, monkeypatch):
    monkeypatch.setattr("galley.tamp.search.SHORTEST_STATES", 3)
    found = shortest(kitchen, Effort())
    assert validate_actions(kitchen.domain, kitchen.problem, found.actions).valid
