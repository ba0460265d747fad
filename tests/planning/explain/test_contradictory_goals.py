"""Mutually exclusive goals are refused before any search, with a certificate."""

import random
from dataclasses import replace

import pytest

from galley.bench.planning.tasks import KITCHEN_DOMAIN
from galley.domain.failure import FailureKind
from galley.domain.pddl.formula import Fact
from galley.planning import SearchLimits, ground, plans, search
from galley.planning.explain.conflicts import explain_contradiction
from galley.planning.explain.mutex import mutex_groups
from galley.tests.planning.random_tasks import make
from galley.tests.planning.reference import Reference, action, facts_of

ITEMS = [f"item{k}" for k in range(10)]
PLACES = ["countertop", "burner", "drawer", "center"]
EACH_SOMEWHERE = " ".join(f"(on {item} {PLACES[k % 4]})" for k, item in enumerate(ITEMS))


@pytest.fixture
def big(pddl):
    """The kitchen with ten items on the burner: too many states to search them all."""

    def task(goal, init="(empty h1)"):
        problem = (
            f"(define (problem p) (:domain kitchen) (:objects {' '.join(PLACES)} - furniture "
            f"{' '.join(ITEMS)} - objective h1 - hand) (:init (near center) {init} "
            f"{' '.join(f'(on {item} burner)' for item in ITEMS)}) (:goal (and {goal})))"
        )
        return ground(*pddl(KITCHEN_DOMAIN, problem))

    return task


def proves(certificate, reference):
    """Whether the group is an invariant, by trying each move on each way to hold one of it.

    Moves count that could be made if nothing were ever taken away.
    """
    group = set(certificate["group"])
    assert set(certificate["conflict"]) <= group
    if sum(str(fact) in group for fact in reference.init) != 1:
        return False
    for move in _possible(reference):
        needed, added, deleted = ({str(fact) for fact in facts} & group for facts in _sets(move))
        for before in (set(), *({fact} for fact in group)):
            if needed <= before and len(before - deleted | added) > 1:
                return False
    return True


def _possible(reference):
    known, reached = set(reference.init), -1
    while len(known) > reached:
        reached = len(known)
        found = [m for m in reference.moves if m.needs is not False and _sets(m)[0] <= known]
        known = known.union(*(_sets(move)[1] for move in found))
    return found


def _sets(move):
    """The facts that a move needs, adds and deletes; it has no conditional effects."""
    assert all(condition is True for condition, _, _ in move.effects)
    added, deleted = (set().union(*(e[k] for e in move.effects)) for k in (1, 2))
    return set(_positive(move.needs)), added, deleted


def _positive(needs):
    if isinstance(needs, bool):
        return []
    kind, body = needs
    if kind == "fact":
        return [body]
    return [fact for each in body for fact in _positive(each)] if kind == "all" else []


@pytest.mark.parametrize(
    "conflict",
    [
        ("(grasp item3)", "(grasp item7)"),  # there is one hand
        ("(on item4 drawer)", "(on item4 center)"),
        ("(on item0 countertop)", "(inside item0 drawer)"),
        ("(near burner)", "(near drawer)"),
        ("(empty h1)", "(grasp item0)"),
    ],
)
def test_a_contradiction_is_refused_in_a_big_task_by_every_search(big, conflict):
    task = big(f"{' '.join(conflict)} (inside item9 drawer)")
    reference = Reference(task.domain, task.problem)
    none = SearchLimits(nodes=0)  # not one state may be looked at
    given = plans(task, none)
    assert list(given) == []
    for failure in (
        *(search(task, each, none) for each in ("bfs", "astar", "gbfs")),
        given.failure,
    ):
        assert failure.kind is FailureKind.CONTRADICTION
        assert failure.certificate["reason"] == "mutex"
        assert failure.certificate["conflict"] == list(conflict) == list(failure.objects)
        assert proves(failure.certificate, reference)
        assert failure.message.endswith(f"so none has {conflict[0]} and {conflict[1]} together")


@pytest.mark.parametrize(
    ("goal", "init"),
    [
        (EACH_SOMEWHERE, "(empty h1)"),
        (" ".join(f"(on {item} countertop)" for item in ITEMS), "(empty h1)"),
        ("(on item0 burner) (on item1 burner) (near center)", "(empty h1)"),
        ("(grasp item0) (near burner) (on item1 burner)", "(empty h1)"),
        # Where it starts near two, (near *) is no group.
        ("(near burner) (near center)", "(empty h1) (near burner)"),
    ],
)
def test_goals_that_can_be_had_are_no_contradiction(big, goal, init):
    assert explain_contradiction(big(goal, init)) is None


def test_a_changed_task_has_groups_of_its_own(big, with_goal):
    task = big("(near burner) (near drawer) (on item0 countertop)")
    assert search(task).certificate["reason"] == "mutex"
    init = (*task.problem.init, Fact("near", ("burner",)))
    both = ground(task.domain, replace(task.problem, init=init))
    assert explain_contradiction(both) is None
    assert explain_contradiction(with_goal(task, "(near burner)")) is None
    again = task.forbid(action("(pick item0 burner h1)"))
    assert explain_contradiction(again).certificate["conflict"] == [
        "(near burner)",
        "(near drawer)",
    ]


def test_parts_within_formulas(big, with_goal):
    task = big("(near burner)")
    held = "(forall (?x - objective) (grasp ?x))"
    assert explain_contradiction(with_goal(task, held)).certificate["conflict"] == [
        "(grasp item0)",
        "(grasp item1)",
    ]
    either = "(or (grasp item0) (grasp item1))"
    assert explain_contradiction(with_goal(task, either, "(near burner)")) is None


def test_a_fact_and_its_negation(big, with_goal):
    failure = search(big("(near burner) (not (near burner))"))
    assert failure.certificate["conflict"] == ["(near burner)", "(not (near burner))"]
    task = big("(near burner)")
    failure = search(with_goal(task, "(forall (?x - furniture) (near ?x))", "(not (near drawer))"))
    assert failure.certificate == {
        "reason": "opposite",
        "conflict": ["(near drawer)", "(not (near drawer))"],
    }
    assert failure.message == (
        "no plan exists: the goal requires both (near drawer) and (not (near drawer))"
    )


def tokens(rng):
    """A random domain in which tokens lie at places or are held by hands; some moves copy them."""
    actions = []
    for k in range(rng.randint(2, 4)):
        here, there = rng.sample(["(at ?x ?a)", "(at ?x ?b)", "(held ?x)", "(spent ?x)"], 2)
        needs, effects = [here], [there, f"(not {here})"]
        if rng.random() < 0.15:
            effects.pop()  # what was here stays here: a copy
        if rng.random() < 0.5:
            hand = rng.random() < 0.5
            needs.append("(free)" if hand else "(link ?a ?b)")
            effects += ["(not (free))"] if hand else ["(free)"][: rng.randint(0, 1)]
        needs += ["(not (= ?a ?b))"][: rng.randint(0, 1)]
        actions.append(
            f"(:action act{k} :parameters (?x - token ?a ?b - place) "
            f":precondition (and {' '.join(needs)}) :effect (and {' '.join(effects)}))"
        )
    domain = (
        "(define (domain tokens) (:requirements :strips :typing :negative-preconditions :equality)"
        " (:types token place) (:predicates (at ?x - token ?a - place) (held ?x - token)"
        f" (spent ?x - token) (free) (link ?a ?b - place)) {' '.join(actions)})"
    )
    start = " ".join(f"(at t{k} {rng.choice('abc')})" for k in range(2))
    problem = (
        "(define (problem p) (:domain tokens) (:objects t0 t1 - token a b c - place)"
        f" (:init {start} (free) (link a b) (link b c)) (:goal (at t0 a)))"
    )
    return domain, problem


def test_of_a_mutex_group_at_most_one_fact_ever_holds(pddl):
    drafts = [pddl(*tokens(random.Random(seed))) for seed in range(60)]
    made = [make(seed) for seed in range(80)]  # with conditional effects
    groups = 0
    for domain, problem in drafts + [(each.domain, each.problem) for each in made]:
        task, reference = ground(domain, problem), Reference(domain, problem)
        for group in mutex_groups(task):
            facts = facts_of(task, group)
            assert all(len(state & facts) <= 1 for state in reference.edges)
            assert len(reference.init & facts) == 1
            groups += 1
    assert groups > 100


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
