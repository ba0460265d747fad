"""The search over plans and motions: by scripted skills where its logic counts, and for real."""

from dataclasses import dataclass, field, replace

import pytest

from galley.domain.failure import Failure, FailureKind
from galley.domain.listener import Listener
from galley.domain.pddl.reader import read_domain, read_problem
from galley.domain.scene.reader import load_scene
from galley.domain.shipped import KITCHEN
from galley.robots.panda.models import mobile_panda
from galley.skills import PlanningContext, Settings
from galley.skills.skill import Role, Skill
from galley.tamp import search as module
from galley.tamp.binding import tamp_task
from galley.tamp.feedback.failure_analysis import Diagnosis
from galley.tamp.search import TURN, RefinedPlan, Search

SCENARIOS = KITCHEN.parent / "scenarios"
TIRED = Failure(FailureKind.BUDGET, "no luck")
PROOF = {"kind": "sizes"}
PER_TURN = TURN // 100  # refinements: each counts 100 tries here

# -- scripted: three ways to one goal --------------------------------------------------------------

WAYS = """\
(define (domain ways)
  (:requirements :strips :typing)
  (:types objective)
  (:predicates (half ?o - objective) (early ?o - objective) (late ?o - objective)
    (done ?o - objective))
  (:action short :parameters (?o - objective) :precondition (and) :effect (done ?o))
  (:action one :parameters (?o - objective) :precondition (and) :effect (half ?o))
  (:action two :parameters (?o - objective) :precondition (half ?o) :effect (done ?o))
  (:action far :parameters (?o - objective) :precondition (and) :effect (early ?o))
  (:action farther :parameters (?o - objective) :precondition (early ?o) :effect (late ?o))
  (:action farthest :parameters (?o - objective) :precondition (late ?o) :effect (done ?o)))
"""
GOAL = """\
(define (problem goal) (:domain ways) (:objects gelatin green - objective)
  (:init (half green)) (:goal (done gelatin)))
"""


class Script(Skill):
    """Fails where the script says so: by the number of the random stream, or a Failure."""

    parameters = ("item",)

    def __init__(self, kitchen, name, role):
        self.kitchen, self.name = kitchen, name
        self.role = role

    def refine(self, context, action, upcoming, state, rng):
        stream = rng.bit_generator.seed_seq.entropy[-1]
        self.kitchen.calls.append((self.name, stream))
        context.effort.spend("ways", self.kitchen.ways)
        fails = self.kitchen.fails.get(self.name, 0)
        if isinstance(fails, Failure):
            return fails
        return TIRED if stream < fails else ()

    def impossible(self, context, action, state):
        return self.kitchen.impossible.get(self.name)


@dataclass
class Ways:
    """A search whose skills fail as told.

    Attributes:
        fails: by action, how many of its streams fail, or with what all of them do.
        blocks: what a diagnosis of an action finds: item indices, or None.
        calls: the actions refined, and their streams.
        ways: that each refinement tries.
    """

    scene: object
    domain: object
    problem: object
    fails: dict = field(default_factory=dict)
    impossible: dict = field(default_factory=dict)
    blocks: dict = field(default_factory=dict)
    calls: list = field(default_factory=list)
    roles: dict = field(default_factory=dict)
    ways: int = 80

    def search(self, attempts=4, **settings):
        context = PlanningContext(
            self.scene, self.robot, None, Settings(attempts=attempts, **settings)
        )
        names = [each.name for each in self.domain.actions]
        skills = {name: Script(self, name, self.roles.get(name, Role(uses=0))) for name in names}
        task = tamp_task(self.scene, self.domain, self.problem, skills)
        return Search(context, task, task.start)

    def calls_of(self, name):
        return len(self.asked(name))

    def asked(self, name):
        return [stream for each, stream in self.calls if each == name]

    @property
    def robot(self):
        return mobile_panda(self.scene.robot.base)


@pytest.fixture(scope="module")
def ways_files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ways")
    (folder / "ways.pddl").write_text(WAYS)
    (folder / "goal.pddl").write_text(GOAL)
    domain = read_domain(folder / "ways.pddl")
    scene = load_scene(SCENARIOS / "hemmed_in_scene.yaml")
    return scene, domain, read_problem(folder / "goal.pddl", domain)


@pytest.fixture
def ways(ways_files, monkeypatch):
    found = Ways(*ways_files)

    def find_blockers(context, skills, actions, state, rng, *rest):
        items = found.blocks.get(actions[0].name, frozenset())
        return None if items is None else Diagnosis(actions[0], frozenset(items))

    monkeypatch.setattr("galley.tamp.feedback.failure_analysis.find_blockers", find_blockers)
    prove = "galley.tamp.infeasibility.proofs.Prover.prove"
    monkeypatch.setattr(prove, lambda self, lesson: lesson)
    return found


def names(found):
    assert isinstance(found, RefinedPlan), str(found)
    return tuple(action.name for action in found.plan)


def test_the_best_plan_that_works_is_taken(ways):
    assert names(ways.search().solve()) == ("short",)
    assert len(ways.calls) == 1


def test_a_plan_that_always_fails_leaves_the_next_its_turn(ways):
    ways.fails = {"short": 10**6}
    search = ways.search(attempts=10**6)
    assert names(search.solve()) == ("one", "two")
    assert len(ways.asked("short")) <= 2 * (PER_TURN + 1), "it was there a turn earlier"
    assert len(search.record.tried) == 2


def test_a_plan_that_needs_many_tries_gets_them_beside_the_others(ways):
    ways.fails = {"short": 10**6, "two": 3 * PER_TURN, "farthest": 10**6}
    assert names(ways.search(attempts=10**6).solve()) == ("one", "two")
    assert ways.asked("farthest"), "all three had their turns"


@pytest.mark.parametrize("turn", [500, 1000, 1200])
@pytest.mark.parametrize(("in_vain", "effort"), [(True, 1.0), (False, 1.0), (True, 2.0)])
def test_the_effort_of_the_whole_search_is_kept_and_told(ways, monkeypatch, turn, in_vain, effort):
    """It ends when all is spent, or a good part of it since it last got further: in the first turn.

    A refinement counts 100 tries here, each of the three plans 40.
    """
    monkeypatch.setattr(module, "TURN", turn)
    if not in_vain:
        monkeypatch.setattr(module, "VAIN_TRIES", 10**6)
    ways.fails = dict.fromkeys(("short", "two", "farthest"), 10**6)
    search, heard = ways.search(attempts=10**6, effort=effort), []
    search.context.listener.fraction = lambda text, done: heard.append(done)
    found = search.solve()
    assert found.kind is FailureKind.BUDGET
    assert found.certificate is None
    count = len(ways.calls)
    assert found.numbers["refinements"] == search.effort.counts["refinements"] == count
    assert found.numbers["plans"] == len(search.record.tried) == 3
    least = effort * (module.VAIN_TRIES if in_vain else module.MOST_TRIES)
    most = least + 2 * effort * turn + 3 * 40 if in_vain else least + 100
    assert least <= found.numbers["tries"] == round(search.effort.tries) <= most
    assert search.effort.tries == pytest.approx(100 * count + 3 * 40, abs=10)
    assert sum(plan.tries for plan in search.record.tried) == 100 * count
    assert f"{count} refinements of actions" in found.message
    assert "no luck" in found.message
    assert heard == sorted(heard)
    assert 0.9 * least < heard[-1] * search.most_tries <= search.most_tries
    for plan in search.record.tried:  # how far each came, and what stopped it
        assert plan.reached == len(plan.actions) - 1
        assert plan.failures == ways.calls_of(plan.actions[-1].name)
        assert str(plan.stopped_by).endswith("no luck")


def test_what_failed_for_good_is_not_refined_anew_when_something_is_learned(ways):
    """The lesson of one plan makes the planner begin again: with plans that have had their turn."""
    ways.fails = {"short": 10**6, "two": 10**6}
    ways.blocks = {"two": {1}}
    ways.roles = dict.fromkeys(("short", "one", "far", "farther", "farthest"), Role())
    search = ways.search(attempts=2)
    assert names(search.solve()) == ("far", "farther", "farthest")
    assert [str(each.fact) for each in search.learned] == ["(blocked-by gelatin green)"]
    assert ways.asked("short") == [0, 1]


def test_a_lesson_is_learned_once_and_not_asked_for_again(ways):
    ways.fails = {"short": 10**6, "two": 10**6}
    ways.blocks = {"short": {1}, "two": {1}}
    ways.roles = dict.fromkeys(("one", "far", "farther", "farthest"), Role())
    heard = []

    class Ear(Listener):
        def learned(self, text):
            heard.append(text.split(":")[0])

    search = ways.search()
    search.context = replace(search.context, listener=Ear())
    assert names(search.solve()) == ("far", "farther", "farthest")
    assert heard == ["(blocked-by gelatin green)"]
    found = ways.calls.index(("farthest", 0))
    assert [call for call in ways.calls[:found] if call[0] == "short"] == [("short", 0)]
    assert ways.asked("two") == [], "the lesson is about it as well"


# -- scripted: suspicions --------------------------------------------------------------------------


def test_a_wrong_suspicion_does_not_lose_the_only_plan_that_works(ways):
    """The other ways never work, and the first try of the right one blamed the green tea."""
    ways.fails = {"short": 1, "two": 10**6, "farthest": 10**6}
    ways.blocks = {"short": {1}}
    ways.roles = dict.fromkeys(("one", "two", "far", "farther", "farthest"), Role())
    assert names(ways.search(attempts=10**6).solve()) == ("short",)
    assert ways.asked("short") == [0, 1]
    assert len(ways.asked("two")) < 4 * PER_TURN, "long before the others are used up"


def test_a_suspicion_that_leaves_no_plan_is_tried_around(ways):
    """The diagnosis is wrong: the second try goes well, and nothing can move the green tea."""
    ways.fails = {"short": 1}
    ways.impossible = dict.fromkeys(
        ("two", "farthest"), Failure(FailureKind.DOES_NOT_FIT, "too big", certificate=PROOF)
    )
    ways.blocks = {"short": {1}}
    search = ways.search()
    assert names(search.solve()) == ("short",)
    assert any(not lesson.proven for lesson in search.learned)


@pytest.mark.parametrize("later", [4, 7, 20])
def test_hopeless_at_first_is_no_reason_to_repeat_the_same_tries(ways, later):
    """Where all plans are suspected the same streams would only fail again."""
    ways.fails = {"short": later}
    ways.impossible = dict.fromkeys(
        ("two", "farthest"), Failure(FailureKind.DOES_NOT_FIT, "too big", certificate=PROOF)
    )
    ways.blocks = {"short": None}
    found = ways.search().solve()
    if isinstance(found, RefinedPlan):
        assert names(found) == ("short",)
    asked = ways.asked("short")
    assert len(set(asked)) == len(asked), "no stream twice"
    assert len(asked) > 4


def test_a_suspicion_alone_is_never_a_refusal(ways):
    ways.fails = dict.fromkeys(("short", "two", "farthest"), 10**6)
    ways.blocks = {"short": {1}, "two": {1}, "farthest": None}
    found = ways.search().solve()
    assert found.kind is FailureKind.BUDGET
    assert found.certificate is None
    assert found.numbers["refinements"] == len(ways.calls) > 0


def test_a_suspicion_with_a_proof_is_a_refusal_with_all_certificates(ways, monkeypatch):
    ways.fails = dict.fromkeys(("short", "two"), 10**6)
    ways.blocks = {"short": {1}, "two": {1}}
    ways.impossible = {"farthest": Failure(FailureKind.DOES_NOT_FIT, "too big", certificate=PROOF)}
    ways.roles = dict.fromkeys(("one", "far", "farther", "farthest"), Role())
    proof = Failure(FailureKind.BLOCKED, "walled in", certificate={"kind": "grid"})
    monkeypatch.setattr(
        "galley.tamp.infeasibility.proofs.Prover.prove",
        lambda self, lesson: replace(lesson, failure=proof),
    )
    found = ways.search().solve()
    assert found.kind is FailureKind.BLOCKED
    kinds = [found.certificate["kind"], *(e["kind"] for e in found.certificate["because"])]
    assert set(kinds) == {"grid", "sizes"}
    assert "walled in" in found.message
    assert "too big" in found.message


def test_what_is_ruled_out_before_anything_moves_is_refused_without_a_refinement(ways):
    failure = Failure(FailureKind.DOES_NOT_FIT, "too big", certificate=PROOF)
    ways.impossible = dict.fromkeys(("short", "one", "farther"), failure)
    found = ways.search().solve()
    assert found.kind is FailureKind.DOES_NOT_FIT
    assert ways.calls == []


def test_a_proof_found_after_a_suspicion_was_given_up_still_refuses(ways):
    """Short is suspected, given up and then proven; what is left is proven: no suspicion needed."""
    sure = Failure(FailureKind.UNREACHABLE, "too far", certificate=PROOF)
    ways.impossible = dict.fromkeys(("two", "farthest"), sure)
    ways.fails = {"short": 10**6}
    ways.blocks = {"short": {1}}
    search = ways.search()
    script = search.task.skills["short"].refine

    def refine(*args):
        found = script(*args)
        return sure if len(ways.asked("short")) > 2 else found

    search.task.skills["short"].refine = refine
    found = search.solve()
    assert found.kind is FailureKind.UNREACHABLE
    assert found.certificate is not None
