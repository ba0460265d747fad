"""The task as it stands: the plan's own facts where all went well, else those that are seen."""

import numpy as np
import pytest

import galley
from galley.domain.pddl.formula import Fact
from galley.domain.pddl.reader import read_domain, read_problem
from galley.domain.state import initial_state
from galley.execution.recovery.observed_task import hand_facts, observed_task
from galley.planning import ground, search, validate_actions
from galley.skills import SKILLS
from galley.tamp.binding import bind_plan, tamp_task

SUGAR = "sugar_box"

# The words for the hand are others than the kitchen's, and counting is nobody's geometry.
OWN = """
(define (domain own)
  (:requirements :strips :typing :negative-preconditions)
  (:types furniture objective hand)
  (:predicates (near ?r - furniture) (on ?o - objective ?f - furniture)
    (idle ?h - hand) (carries ?h - hand ?o - objective) (touched ?o - objective)
    (dusty ?f - furniture))
  (:action navigate :parameters (?a - furniture ?b - furniture)
    :precondition (and (near ?a) (not (near ?b)))
    :effect (and (near ?b) (not (near ?a))))
  (:action pick :parameters (?o - objective ?f - furniture ?h - hand)
    :precondition (and (near ?f) (on ?o ?f) (idle ?h))
    :effect (and (carries ?h ?o) (touched ?o) (not (on ?o ?f)) (not (idle ?h)) (not (dusty ?f))))
  (:action place :parameters (?o - objective ?f - furniture ?h - hand)
    :precondition (and (near ?f) (carries ?h ?o))
    :effect (and (on ?o ?f) (idle ?h) (not (carries ?h ?o)))))
"""
OWN_PROBLEM = """
(define (problem mine) (:domain own)
  (:objects burner countertop center - furniture sugar spam - objective h1 - hand)
  (:init (near center) (on sugar burner) (on spam burner) (idle h1) (dusty burner))
  (:goal (on sugar countertop)))
"""
COSTS = (
    OWN.replace(":negative-preconditions", ":negative-preconditions :action-costs")
    .replace(
        "(dusty ?f - furniture))", "(dusty ?f - furniture)) (:functions (total-cost) (far ?a ?b))"
    )
    .replace("(not (near ?a)))", "(not (near ?a)) (increase (total-cost) (far ?a ?b)))")
)
COSTS_PROBLEM = """
(define (problem mine) (:domain own)
  (:objects burner center - furniture sugar - objective h1 - hand)
  (:init (near center) (on sugar burner) (idle h1) (= (total-cost) 0)
    (= (far center burner) 3) (= (far burner center) 4)
    (= (far center center) 0) (= (far burner burner) 0))
  (:goal (on sugar burner)) (:metric minimize (total-cost)))
"""


def seen(task, state, facts, prefer=()):
    return observed_task(task.context, task.tamp, state, facts, prefer)


def read(tmp_path, domain_text, problem_text):
    (tmp_path / "domain.pddl").write_text(domain_text)
    (tmp_path / "problem.pddl").write_text(problem_text)
    domain = read_domain(tmp_path / "domain.pddl")
    return domain, read_problem(tmp_path / "problem.pddl", domain)


@pytest.mark.parametrize("which", ["task", "drawer_task"])
def test_where_all_goes_well_the_facts_are_those_of_the_plan(which, request):
    task = request.getfixturevalue(which)
    for index in range(len(task.plan) + 1):
        done = sum(motion.action_index < index for motion in task.motions)
        found = seen(task, task.states[done], task.facts[index])
        assert found.facts == task.facts[index]
        assert found.problem.objects == task.problem.objects
        assert found.places == ()


def test_what_is_held_decides_what_the_hand_is_said_to_hold(task):
    _, state = task.after("pick sugar", "lift")
    # The symbols still have it on the burner: the action has not ended.
    found = seen(task, state, task.facts[1])
    assert {Fact("holds", ("h1", "sugar")), Fact("grasp", ("sugar",))} <= found.facts
    assert Fact("empty", ("h1",)) not in found.facts
    assert Fact("on", ("sugar", "burner")) not in found.facts
    # And the other way round: it was dropped, and stands on the burner again.
    dropped = seen(task, initial_state(task.scene), task.facts[2])
    assert Fact("empty", ("h1",)) in dropped.facts
    assert Fact("holds", ("h1", "sugar")) not in dropped.facts
    assert Fact("on", ("sugar", "burner")) in dropped.facts


@pytest.mark.parametrize(("held", "believed"), [("spam", "sugar"), ("sugar", "spam")])
def test_another_item_in_the_hand_than_the_symbols_have_is_told(task, held, believed):
    _, state = task.after(f"pick {held}", "lift")
    symbols = task.facts[{"sugar": 2, "spam": 6}[believed]]
    assert Fact("holds", ("h1", believed)) in symbols
    found = seen(task, state, symbols)
    assert Fact("holds", ("h1", held)) in found.facts
    assert not {Fact("holds", ("h1", believed)), Fact("empty", ("h1",))} & found.facts


def test_a_domains_own_words_for_the_hand_are_put_right(tmp_path, kitchen, task):
    domain, problem = read(tmp_path, OWN, OWN_PROBLEM)
    own = tamp_task(kitchen, domain, problem)
    start = frozenset(problem.init)
    taken = hand_facts(own, start, {"sugar": ""})
    assert Fact("carries", ("h1", "sugar")) in taken
    assert Fact("idle", ("h1",)) not in taken
    assert Fact("dusty", ("burner",)) in taken  # of furniture: not for the hand to say
    back = hand_facts(own, taken, {})
    assert back - start == {Fact("touched", ("sugar",))}
    assert start <= back
    assert hand_facts(own, start, {}) == start
    assert hand_facts(own, taken, {"sugar": ""}) == taken


def test_each_of_two_hands_has_what_it_is_seen_to_hold():
    """One item changes hands, the other is lost, whatever the symbols say."""
    task = galley.load(problem="two_arms.pddl")
    start = frozenset(task.problem.init)
    left = hand_facts(task, start, {"carton": "h1", "bottle": "h2"})
    assert {Fact("holds", ("h1", "carton")), Fact("holds", ("h2", "bottle"))} <= left
    assert not {Fact("empty", ("h1",)), Fact("empty", ("h2",))} & left
    right = hand_facts(task, left, {"carton": "h2"})
    assert {Fact("holds", ("h2", "carton")), Fact("empty", ("h1",))} <= right
    assert not any(fact.predicate == "holds" and fact.args != ("h2", "carton") for fact in right)
    assert hand_facts(task, right, {"carton": "h2"}) == right


def test_facts_without_geometry_stay_as_the_actions_left_them(kitchen, drawer_task):
    cooked = Fact("cooked", ("sugar",))
    found = seen(drawer_task, initial_state(kitchen), drawer_task.facts[0] | {cooked})
    assert cooked in found.facts
    assert cooked not in seen(drawer_task, initial_state(kitchen), drawer_task.facts[0]).facts


@pytest.mark.parametrize("which", ["task", "drawer_task"])
def test_an_item_that_no_place_names_gets_one_that_it_can_be_taken_from(which, request, lying):
    task = request.getfixturevalue(which)
    state = initial_state(task.scene)
    size = task.scene.item(SUGAR).size
    fallen = task.moved(state, SUGAR, lying(size, 0, 1.0, 0.2, 0.0, -0.5, 0.93))
    found = seen(task, fallen, task.facts[0])
    (place,) = found.places
    new = place.binding.object
    assert task.problem.object(new) is None
    assert found.bindings[new] == place.binding
    assert [f for f in found.facts if f.args[0] == "sugar"] == [Fact("on", ("sugar", new))]
    assert not validate_actions(task.domain, found.problem, ()).valid  # it lies; it is not there
    plan = search(ground(task.domain, found.problem)).actions
    assert f"(pick sugar {new} h1)" in map(str, plan)
    # Whatever the skills know of sizes and distances doesn't speak against taking it there.
    context = task.context.for_replanning(1, scene=found.scene)
    for action in bind_plan(plan, found.bindings):
        assert SKILLS[action.name].impossible(context, action, fallen) is None


def test_a_base_near_several_places_is_near_the_one_that_the_plan_has_it_at(task):
    _, state = task.after("pick sugar", "lift")
    q = np.array(state.q)
    q[:3] = [0.9, 0.35, 3.0]  # near the burner, the countertop and the drawer at once
    moved = state.with_robot(q)

    def near(found):
        return [f.args[0] for f in found.facts if f.predicate == "near"]

    for index, place in ((2, "burner"), (3, "countertop"), (7, "drawer")):
        assert near(seen(task, moved, task.facts[index])) == [place]
    center = task.facts[0]
    assert near(seen(task, moved, center, ("drawer", "burner"))) == ["drawer"]


def test_a_base_near_nothing_is_near_a_new_place_that_it_can_leave(task):
    state = initial_state(task.scene)
    q = np.array(state.q)
    q[:2] = [2.3, 1.5]
    found = seen(task, state.with_robot(q), task.facts[0])
    (near,) = [f for f in found.facts if f.predicate == "near"]
    assert near.args[0] not in task.bindings
    plan = search(ground(task.domain, found.problem)).actions
    assert plan[0].args == (near.args[0], "burner")


def test_a_new_place_is_as_dear_to_reach_as_the_dearest(tmp_path, kitchen, task, lying):
    domain, problem = read(tmp_path, COSTS, COSTS_PROBLEM)
    state = initial_state(kitchen)
    size = kitchen.item(SUGAR).size
    fallen = task.moved(state, SUGAR, lying(size, 0, 1.0, 0.2, 0.0, 0.5, 0.921))
    priced = tamp_task(kitchen, domain, problem)
    found = observed_task(task.context, priced, fallen, frozenset(problem.init))
    plan = search(ground(domain, found.problem))
    assert [a.name for a in plan.actions] == ["navigate", "pick", "navigate", "place"]
    assert plan.cost == 4 + 4


def test_facts_of_places_that_are_no_longer_there_are_forgotten(task):
    state = initial_state(task.scene)
    stale = task.facts[0] - {Fact("near", ("center",))}
    stale |= {Fact("near", ("found_base",)), Fact("on", ("sugar", "found_sugar"))}
    assert seen(task, state, stale).facts == task.facts[0]
