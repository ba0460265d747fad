"""Top-k planning against the exhaustive reference: the same plans, in the order of their costs."""

from functools import cache
from itertools import islice, pairwise
from time import process_time, sleep

import pytest

from galley.bench.planning import tasks
from galley.domain.failure import FailureKind
from galley.planning import SearchLimits, plans
from galley.planning.task import ground
from galley.tests.effort import quick_first
from galley.tests.planning.random_tasks import ADL, STRIPS, ground_case, make, task_of
from galley.tests.planning.reference import Reference, TooMany

SEEDS = range(150)


@cache
def case(seed):
    random = make(seed, (ADL, STRIPS)[seed % 2])
    return ground(random.domain, random.problem), Reference(random.domain, random.problem)


def labels(plan):
    return tuple((each.name, *each.args) for each in plan.actions)


def rank(task, plan):
    """What plans are ordered by."""
    order = {each.action: index for index, each in enumerate(task.operators)}
    return plan.cost, len(plan.actions), [order[each] for each in plan.actions]


def in_order(task, found):
    """Whether plans come by cost, length and operators; costs may differ by rounding."""
    ranks = [rank(task, plan) for plan in found]
    return all((round(a[0], 6), *a[1:]) < (round(b[0], 6), *b[1:]) for a, b in pairwise(ranks))


@pytest.mark.parametrize("first", quick_first(1, range(0, 150, 50)))
def test_all_plans_up_to_a_cost(first):
    compared = free = 0
    for seed in range(first, first + 50):
        task, reference = case(seed)
        if reference.cheapest() is None:
            continue
        bound = reference.cheapest() + 3
        try:
            expected = reference.plans(bound, limit=1500)
        except TooMany:
            bound = reference.cheapest()
            try:
                expected = reference.plans(bound, limit=1500)
            except TooMany:
                continue
        found = []
        iterator = plans(task, SearchLimits(nodes=200_000))
        for plan in iterator:
            if plan.cost > bound + 1e-6:
                break
            found.append(plan)
        assert [p.cost for p in found] == pytest.approx([cost for cost, _ in expected]), seed
        assert {labels(p) for p in found} == {actions for _, actions in expected}, seed
        assert len({labels(p) for p in found}) == len(found)
        assert in_order(task, found), seed
        assert iterator.failure is None
        compared += len(found)
        free += any(move.cost == 0 for move in reference.moves)
    assert compared > 300
    assert free > 3


@pytest.mark.slow
def test_it_ends_when_there_are_no_more():
    ended = 0
    for seed in SEEDS:
        task, reference = case(seed)
        iterator = plans(task)
        found = list(islice(iterator, 400))
        if len(found) == 400:
            assert not iterator.complete
            continue
        assert iterator.complete
        ended += bool(found)
        expected = reference.plans(float("inf")) if reference.cheapest() is not None else []
        assert {labels(p) for p in found} == {actions for _, actions in expected}, seed
        assert next(iterator, None) is None
        if not expected:
            assert iterator.failure.kind is FailureKind.CONTRADICTION
            assert iterator.failure.certificate is not None
        else:
            assert iterator.failure is None
    assert ended > 10


# --- tasks made by hand --------------------------------------------------------------------------


SWITCHES = """(define (domain switches)
  (:requirements :strips :negative-preconditions :action-costs)
  (:predicates (on ?s) (used ?s))
  (:functions (total-cost) - number)
  (:action turn-on :parameters (?s) :precondition (not (on ?s))
    :effect (and (on ?s) (increase (total-cost) 0)))
  (:action turn-off :parameters (?s) :precondition (on ?s)
    :effect (and (not (on ?s)) (increase (total-cost) {off}))))"""


def switches(off="0", goal="(on a)"):
    return task_of(
        SWITCHES.format(off=off),
        f"""(define (problem p) (:domain switches) (:objects a b) (:init (= (total-cost) 0))
        (:goal {goal}) (:metric minimize (total-cost)))""",
    )


def texts(iterator, count=None):
    return [str(plan).replace("\n", " ") for plan in islice(iterator, count)]


def test_plans_go_through_free_actions_and_beyond_goals():
    found = plans(switches())
    assert texts(found) == [
        "(turn-on a)",
        "(turn-on a) (turn-on b)",
        "(turn-on b) (turn-on a)",
        "(turn-on b) (turn-on a) (turn-off b)",
    ]
    assert found.complete


def test_decimal_costs_decide_before_length():
    found = texts(plans(switches(off="0.1")))
    assert found[-1] == "(turn-on b) (turn-on a) (turn-off b)"
    free, dear = switches(off="0"), switches(off="0.1")
    costs = [[plan.cost for plan in plans(task)] for task in (free, dear)]
    assert costs == [[0, 0, 0, 0], [0, 0, 0, 0.1]]


def test_a_goal_that_holds_already():
    found = plans(switches(goal="(not (on b))"))
    first = next(found)
    assert first.actions == ()
    assert first.cost == 0
    assert texts(found)[0] == "(turn-on a)"


def test_no_plan_is_explained():
    found = plans(switches(goal="(used a)"))
    assert list(found) == []
    assert found.complete
    assert found.failure.certificate["reason"] == "unreachable"
    contradiction = plans(switches(goal="(or (and (on a) (used b)) (used a))"))
    assert list(contradiction) == []
    assert contradiction.failure.kind is FailureKind.CONTRADICTION


def test_a_thousand_plans_of_a_kitchen():
    task = ground_case(tasks.kitchen(4))
    began = process_time()
    found = list(islice(plans(task), 1000))
    assert process_time() - began < 3  # it takes a tenth
    assert len({labels(p) for p in found}) == 1000
    assert in_order(task, found)
    assert found[0].expanded < found[-1].expanded


@pytest.mark.parametrize("nodes", [0, 1, 1000, 30_000])
def test_limits_on_nodes(nodes):
    iterator = plans(ground_case(tasks.kitchen(4)), SearchLimits(nodes=nodes))
    found = list(islice(iterator, 10**5))
    assert iterator.failure.kind is FailureKind.BUDGET
    assert iterator.failure.numbers["expanded"] == nodes
    assert not iterator.complete
    assert bool(found) == (nodes == 30_000)
    assert all(plan.expanded <= nodes for plan in found)


def test_the_callers_time_does_not_count():
    iterator = plans(ground_case(tasks.kitchen(2)), SearchLimits(seconds=5))
    first = next(iterator)
    sleep(0.3)
    assert next(iterator).seconds < first.seconds + 0.25
