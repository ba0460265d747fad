"""Packed states and the compiled successor generator against the ground task."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from galley.planning import ground
from galley.planning.states.mutex import mutex_groups
from galley.planning.states.space import state_space
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
def test_of_a_mutex_group_at_most_one_fact_ever_holds(seed):
    task = random_task(seed)
    groups = mutex_groups(task)
    for state in reachable(task):
        for group in groups:
            assert (state & group).bit_count() <= 1


@given(SEEDS)
@settings(max_examples=examples(150), deadline=None)
def test_packing_loses_nothing(seed):
    task = random_task(seed)
    space = state_space(task, prune=False)
    for state in reachable(task):
        packed = space.packing.encode(state)
        assert space.packing.decode(packed) == state
        assert packed >> space.packing.width == 0
        assert space.is_goal(packed) == task.is_goal(state)


@given(SEEDS)
@settings(max_examples=examples(150), deadline=None)
def test_compiled_successors_are_those_of_the_operators(seed):
    task = random_task(seed)
    space = state_space(task, prune=False)
    for state in reachable(task)[:60]:
        expected = {
            (index, operator.apply(state))
            for index, operator in enumerate(task.operators)
            if operator.applicable(state)
        }
        packed = space.packing.encode(state)
        found = [(index, space.packing.decode(after)) for index, after in space.successors(packed)]
        assert len(found) == len(expected)
        assert set(found) == expected
        expanded = []
        space.expand([packed], expanded.append)
        assert sorted(expanded) == sorted(after for _, after in space.successors(packed))


@given(SEEDS)
@settings(max_examples=examples(100), deadline=None)
def test_pruning_keeps_what_the_goal_depends_on(seed):
    """Pruning keeps the same goals reachable, in as many steps."""
    task = random_task(seed)
    depths = []
    for prune in (False, True):
        space = state_space(task, prune=prune)
        layer, seen, depth = {space.init}, {space.init}, 0
        while layer and not any(map(space.is_goal, layer)) and len(seen) < 5000:
            following = set()
            space.expand(layer, following.add)
            layer = following - seen
            seen |= layer
            depth += 1
        if len(seen) >= 5000:
            return
        depths.append(depth if layer else None)
    assert depths[0] == depths[1]


def test_an_item_is_in_one_place(kitchen_task):
    """The obvious groups: where the base is, where each item is, the hand."""
    groups = [
        {str(f) for f in facts_of(kitchen_task, group)} for group in mutex_groups(kitchen_task)
    ]
    furniture = ("countertop", "burner", "drawer", "center")
    assert {f"(near {f})" for f in furniture} in groups
    places = {f"({p} sugar {f})" for p in ("on", "inside") for f in furniture}
    assert places | {"(grasp sugar)"} in groups
    assert {"(empty h1)", "(holds h1 sugar)", "(holds h1 spam)"} in groups
    space = state_space(kitchen_task)
    assert space.packing.width <= 10  # 320 reachable states


def test_what_the_goal_ignores_is_left_out(kitchen_task, with_goal):
    task = with_goal(kitchen_task, "(near burner)")
    named = {fact.predicate for fact in facts_of(task, task.relevant_facts)}
    assert named == {"near"}
    space = state_space(task)
    assert {operator.action.name for operator in space.operators} == {"navigate"}


@pytest.mark.parametrize("values", [2, 3, 5, 17, 70])
def test_a_state_may_be_wider_than_a_machine_word(values, pddl):
    """Counters of many digits: more bits than 64, and more values than a chain of ifs."""
    digits = 12
    objects = " ".join(f"d{i} - digit" for i in range(digits))
    names = " ".join(f"v{i} - value" for i in range(values))
    steps = " ".join(f"(next v{i} v{i + 1})" for i in range(values - 1))
    task = ground(
        *pddl(
            "(define (domain c) (:types digit value) (:predicates (next ?a ?b - value)"
            " (shows ?d - digit ?v - value)) (:action turn :parameters"
            " (?d - digit ?a ?b - value) :precondition (and (next ?a ?b) (shows ?d ?a))"
            " :effect (and (shows ?d ?b) (not (shows ?d ?a)))))",
            f"(define (problem p) (:domain c) (:objects {objects} {names})"
            f" (:init {steps} {' '.join(f'(shows d{i} v0)' for i in range(digits))})"
            f" (:goal (shows d0 v{values - 1})))",
        )
    )
    space = state_space(task, prune=False)
    assert len(space.packing.variables) == digits
    assert space.packing.width == digits * (values - 1).bit_length()
    state = space.init
    for turn in range(values - 1):
        moves = [after for index, after in space.successors(state)
                 if task.operators[index].action.args[0] == "d0"]  # fmt: skip
        assert len(moves) == 1
        (state,) = moves
        assert space.is_goal(state) == (turn == values - 2)
