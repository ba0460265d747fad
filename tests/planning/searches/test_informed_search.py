"""Greedy search and A* against the exhaustive reference, and the heuristic state by state."""

from dataclasses import replace
from functools import cache
from time import process_time

import pytest

from galley.bench.planning import tasks
from galley.domain.failure import Failure, FailureKind
from galley.planning import Plan, SearchLimits
from galley.planning.operators import integer_costs
from galley.planning.searches.astar import astar
from galley.planning.searches.greedy import eliminate_actions, greedy
from galley.planning.searches.relaxed import FFHeuristic, RelaxedTask
from galley.planning.successors import state_space
from galley.planning.task import ground
from galley.tests.planning.random_tasks import ADL, STRIPS, ground_case, make
from galley.tests.planning.reference import Reference, mask_of

SEEDS = range(120)
CONDITIONAL = replace(ADL, quantified=False, either=False, hierarchy=False)


@cache
def case(seed):
    features = (ADL, CONDITIONAL, STRIPS)[seed % 3]
    random = make(seed, features)
    task = ground(random.domain, random.problem)
    return task, Reference(random.domain, random.problem)


def run(reference, plan):
    """The last state of a plan by the reference; fails where an action can't be done."""
    state, cost = reference.init, 0
    for action in plan.actions:
        label = (action.name, *action.args)
        state = reference.step(state, label)
        assert state is not None
        cost += reference.by_label[label].cost
    assert plan.cost == pytest.approx(cost)
    return state


def check(found, reference):
    """Whether ``found`` is a plan; fails if it is not a valid one."""
    if reference.cheapest() is None:
        assert isinstance(found, Failure)
        assert found.kind is FailureKind.CONTRADICTION
        # A conflict is read off all states: one that overlooks some would be too small.
        names = found.certificate["conflict"]
        conflict = [goal for goal in reference.problem.goal if str(goal) in names]
        assert conflict
        assert not reference.reachable(*conflict)
        for dropped in conflict:
            assert reference.reachable(*(goal for goal in conflict if goal is not dropped))
        return False
    assert isinstance(found, Plan)
    assert reference.is_goal(run(reference, found))
    return True


def test_astar_is_optimal():
    solved = 0
    for seed in SEEDS:
        task, reference = case(seed)
        found = astar(task)
        if check(found, reference):
            solved += 1
            assert found.cost == pytest.approx(reference.cheapest()), seed
        assert found == replaced(astar(task), found)
    assert solved > 40


def replaced(found, like):
    """``found`` with the seconds of ``like``."""
    if isinstance(found, Plan):
        return replace(found, seconds=like.seconds)
    return replace(found, numbers={**found.numbers, **like.numbers})


def test_greedy_finds_plans():
    solved = 0
    for seed in SEEDS:
        task, reference = case(seed)
        found = greedy(task)
        solved += check(found, reference)
        assert found == replaced(greedy(task), found)
    assert solved > 40


# --- the heuristic --------------------------------------------------------------------------------


def states(task, reference):
    """Each reachable state, and its relevant facts as a mask."""
    relevant = state_space(task).facts
    for state in reference.edges:
        yield state, mask_of(task, state) & relevant


def relaxed_holds(condition, true, false):
    return (
        condition.pre & true == condition.pre
        and condition.neg & false == condition.neg
        and all(any(relaxed_holds(p, true, false) for p in choice) for choice in condition.any_of)
    )


def test_relaxed_plans_are_plans_of_the_relaxed_task():
    plans = 0
    for seed in SEEDS:
        task, reference = case(seed)
        space = state_space(task)
        heuristic = FFHeuristic(RelaxedTask(space))
        for state, mask in states(task, reference):
            found = heuristic.plan(mask)
            if found is None:
                assert state not in reference.to_go, f"{seed}: a dead end that is none"
                continue
            actions, preferred = found
            assert preferred <= actions
            assert all(space.operators[i].applicable(mask_of(task, state)) for i in preferred)
            true = mask_of(task, state)
            false = ~true
            before = None
            while before != (true, false):  # one action may be needed for several of its effects
                before = true, false
                for index in actions:
                    operator = space.operators[index]
                    if not relaxed_holds(operator.condition, true, false):
                        continue
                    add, delete = operator.add, operator.delete
                    for effect in operator.conditional:
                        if relaxed_holds(effect.condition, true, false):
                            add, delete = add | effect.add, delete | effect.delete
                    true, false = true | add, false | delete
            assert relaxed_holds(task.goal, true, false), seed
            assert (not actions) == reference.is_goal(state)
            plans += 1
    assert plans > 500


# --- limits, cleanup, size -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def kitchen():
    return ground_case(tasks.kitchen(6, 6))


@pytest.mark.parametrize(
    "limits", [SearchLimits(nodes=5), SearchLimits(seconds=0), SearchLimits(memory_mib=1)]
)
@pytest.mark.parametrize("search", [greedy, astar])
def test_a_limit_is_no_proof(kitchen, search, limits):
    found = search(kitchen, limits)
    assert isinstance(found, Failure)
    assert found.kind is FailureKind.BUDGET
    assert found.numbers["expanded"] <= 5
    assert found.certificate is None


def test_greedy_solves_large_kitchens_at_once():
    found = greedy(ground_case(tasks.kitchen(20, 6)), SearchLimits(nodes=2000))
    assert isinstance(found, Plan)
    began = process_time()
    greedy(ground_case(tasks.kitchen(10, 6)))
    assert process_time() - began < 1  # it takes a tenth


def test_needless_actions_are_left_out(kitchen):
    plan = greedy(kitchen)
    by_name = {str(each.action): each for each in kitchen.operators}
    needed = [by_name[str(each)] for each in plan.actions]
    detour = [by_name["(navigate center shelf)"], by_name["(navigate shelf center)"]]
    assert eliminate_actions(kitchen, detour + needed) == needed
    assert eliminate_actions(kitchen, needed) == needed


def test_costs_are_exact_decimals():
    assert integer_costs([0.1, 0.25, 3.0, 0.0]) == [2, 5, 60, 0]
    assert integer_costs([0.1, 0.2, 0.3]) == [1, 2, 3]
    assert integer_costs([]) == []
