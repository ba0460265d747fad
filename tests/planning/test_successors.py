"""The successor generator and the choice of relevant facts against the ground task."""

from hypothesis import given, settings
from hypothesis import strategies as st

from galley.planning import ground
from galley.planning.successors import StateSpace, state_space
from galley.tests.effort import examples
from galley.tests.planning.random_tasks import make
from galley.tests.planning.reference import facts_of

SEEDS = st.integers(0, 10**6)
STATES = 300


def reachable(task):
    """Some hundred states of ``task``, breadth-first, by Operator.apply alone."""
    seen = {task.init: None}
    for state in seen.copy():
        frontier = [state]
        while frontier and len(seen) < STATES:
            following = []
            for each in frontier:
                for operator in task.operators:
                    if operator.applicable(each):
                        after = operator.apply(each)
                        if after not in seen:
                            seen[after] = None
                            following.append(after)
            frontier = following
    return list(seen)


def random_task(seed):
    made = make(seed)
    return ground(made.domain, made.problem)


@given(SEEDS)
@settings(max_examples=examples(150), deadline=None)
def test_successors_are_those_of_the_applicable_operators(seed):
    task = random_task(seed)
    space = StateSpace(task, (1 << len(task.facts)) - 1)
    for state in reachable(task)[:60]:
        assert space.successors(state) == [
            (index, operator.apply(state))
            for index, operator in enumerate(space.operators)
            if operator.applicable(state)
        ]


@given(SEEDS)
@settings(max_examples=examples(100), deadline=None)
def test_the_goal_is_as_far_without_irrelevant_facts(seed):
    task = random_task(seed)
    depths = []
    for space in (StateSpace(task, (1 << len(task.facts)) - 1), state_space(task)):
        layer, seen, depth = {space.init}, {space.init}, 0
        while layer and not any(map(task.is_goal, layer)) and len(seen) < 5000:
            layer = {after for state in layer for _, after in space.successors(state)} - seen
            seen |= layer
            depth += 1
        if len(seen) >= 5000:
            return
        depths.append(depth if layer else None)
    assert depths[0] == depths[1]


def test_what_the_goal_ignores_is_left_out(kitchen_task, with_goal):
    task = with_goal(kitchen_task, "(near burner)")
    space = state_space(task)
    assert {fact.predicate for fact in facts_of(task, space.facts)} == {"near"}
    assert {operator.action.name for operator in space.operators} == {"navigate"}
