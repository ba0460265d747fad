"""Refinement goes back where a later action gets stuck: scripted skills, exact orders."""

from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pytest

from galley.domain.failure import Failure, FailureKind
from galley.domain.listener import Listener
from galley.domain.pddl.formula import Fact
from galley.domain.scene.model import Binding
from galley.skills import BoundAction, Settings
from galley.skills.manipulation.effort import Effort
from galley.tamp import refine as module
from galley.tamp.feedback.constraints import LearnedConstraint
from galley.tamp.refine import Learned, Refinement
from galley.tests.refining import refine

FAILS = Failure(FailureKind.BUDGET, "no luck")
START = ""


@dataclass(frozen=True)
class Step:
    """Stands for a Motion: what ``after`` adds to the state."""

    text: str


@dataclass
class Bench:
    """Stands for a PlanningContext: the settings, and which streams were asked for."""

    settings: Settings
    streams: list = field(default_factory=list)
    effort: Effort = field(default_factory=Effort)
    listener: Listener = field(default_factory=Listener)
    scene: None = None
    robot: object = field(default_factory=lambda: SimpleNamespace(hand="", views={}))

    def acting(self, hand):
        return self

    def rng(self, *key):
        self.streams.append(key)
        return np.random.default_rng(key)


@dataclass
class Scripted:
    """A skill that fails as its script says, and writes down every call."""

    name: str
    calls: list
    script: list = field(default_factory=list)  # True: this call fails; past its end: it works
    asked: int = 0

    def impossible(self, context, action, state):
        return None

    def refine(self, context, action, upcoming, state, rng):
        self.calls.append((self.name, state, tuple(a.name for a in upcoming)))
        self.asked += 1
        if self.asked <= len(self.script) and self.script[self.asked - 1]:
            return FAILS
        return (Step(f"{self.name}{self.asked}"),)

    def first_contacts(self, context, action, state, rng):
        return iter(())


@pytest.fixture(autouse=True)
def text_states(monkeypatch):
    """States are texts here: the names of the Steps that led to them."""
    monkeypatch.setattr(
        module, "state_after", lambda scene, robot, step, at: f"{at} {step.text}".strip()
    )


def scripted(attempts=2, **scripts):
    """A plan with one action a script, its skills, and the list of their calls."""
    calls = []
    skills = {name: Scripted(name, calls, script) for name, script in scripts.items()}
    plan = tuple(
        BoundAction(k, name, (Binding("thing", "item", "thing"),)) for k, name in enumerate(skills)
    )
    return Bench(Settings(attempts=attempts)), plan, skills, calls


def order(calls):
    return "".join(name for name, _, _ in calls)


def test_all_goes_well():
    context, plan, skills, calls = scripted(a=[], b=[], c=[])
    found = refine(context, plan, "", skills)
    assert [step.text for step in found.motions] == ["a1", "b1", "c1"]
    assert found.states == ("", "a1", "a1 b1", "a1 b1 c1")
    assert calls == [("a", "", ("b", "c")), ("b", "a1", ("c",)), ("c", "a1 b1", ())]


@pytest.mark.parametrize(
    ("attempts", "scripts", "asked", "motions"),
    [
        (3, {"a": [], "b": [True] * 2}, "abbb", ["a1", "b3"]),
        # c fails twice after b1, once after b2, then works.
        (2, {"a": [], "b": [], "c": [True] * 3}, "abccbcc", ["a1", "b2", "c4"]),
        # c fails four times, so b is through and a is made anew; b may try again.
        (2, {"a": [], "b": [], "c": [True] * 4}, "abccbcc" + "abc", ["a2", "b3", "c5"]),
    ],
)
def test_after_all_tries_the_choice_before_is_made_anew(attempts, scripts, asked, motions):
    context, plan, skills, calls = scripted(attempts=attempts, **scripts)
    found = refine(context, plan, "", skills)
    assert order(calls) == asked
    assert [step.text for step in found.motions] == motions
    assert found.states == tuple(" ".join(motions[:k]) for k in range(len(motions) + 1))


def test_it_gives_up_when_the_first_action_is_through():
    context, plan, skills, calls = scripted(attempts=2, a=[], b=[True] * 100)
    failed = refine(context, plan, "", skills)
    assert order(calls) == "abbabb"
    assert failed.kind is FailureKind.BUDGET
    assert str(failed) == "b thing: no luck"


def test_the_failure_told_is_the_one_that_came_furthest():
    context, plan, skills, _ = scripted(attempts=2, a=[False, True], b=[False], c=[True] * 9)
    # a works, b works, c fails twice, b works, c fails twice; then a fails: c's failure is told.
    assert refine(context, plan, "", skills).step == ("c thing",)


def test_no_stream_is_used_twice():
    context, plan, skills, calls = scripted(attempts=3, a=[], b=[False, True], c=[True] * 11)
    refine(context, plan, "", skills)
    assert len(context.streams) == len(calls) > 12
    assert len(set(context.streams)) == len(context.streams)
    for index, (_, attempt) in enumerate(context.streams):
        earlier = [key for key in context.streams[:index] if key[0] == context.streams[index][0]]
        assert attempt == len(earlier), "an action's streams count up"


def test_a_long_plan_is_no_long_search():
    scripts = {f"a{k}": [] for k in range(module.TRIES_PER_PLAN // 20 + 10)}
    context, plan, skills, _ = scripted(**scripts)
    found = refine(context, plan, "", skills)
    assert len(found.motions) == len(plan)


# -- paused and resumed, with an analyzer ----------------------------------------------------------


def learned(*names):
    return tuple(LearnedConstraint(Fact(name, ()), FAILS) for name in names)


def uninterrupted(**kwargs):
    context, plan, skills, calls = scripted(**kwargs)
    refinement = Refinement(context, plan, skills, START)
    return refinement.advance(10 * module.TRIES_PER_PLAN), calls, context.streams


HARD = {
    "solved": {
        "a": [],
        "b": [False, True],
        "c": [True, True, True, True, False, True],
        "d": [True],
    },
    "given up": {"a": [], "b": [], "c": [True] * 1000},
}


@pytest.mark.parametrize("turn", [1, 2, 5, 12])
@pytest.mark.parametrize("scripts", HARD.values(), ids=HARD)
def test_turns_of_any_size_come_to_what_one_run_comes_to(turn, scripts):
    whole, calls, streams = uninterrupted(**scripts)
    context, plan, skills, ours = scripted(**scripts)
    refinement = Refinement(context, plan, skills, START)
    found = None
    while found is None:
        before = len(ours)
        found = refinement.advance(20 * turn)
        assert len(ours) - before <= turn
        assert found is not None or len(ours) - before == turn, "a turn is used in full"
    assert ours == calls
    assert context.streams == streams
    assert found == whole


def test_the_tries_of_a_plan_are_kept_to_the_last_refinement_in_turns_too():
    context, plan, skills, calls = scripted(attempts=10, a=[], b=[], c=[], d=[True] * 10_000)
    refinement = Refinement(context, plan, skills, START)
    while (found := refinement.advance(7 * 20)) is None:
        assert 20 * len(calls) < module.TRIES_PER_PLAN
    assert 20 * len(calls) == refinement.tries == module.TRIES_PER_PLAN
    assert found.kind is FailureKind.BUDGET


def test_the_adviser_sends_it_back_over_actions_that_went_well():
    context, plan, skills, calls = scripted(a=[], b=[], c=[], d=[True])
    asked = []

    def back_to_b(refinement, failure):
        asked.append((refinement.at, list(refinement.states), str(failure)))
        return 1

    found = Refinement(context, plan, skills, START, analyzer=back_to_b).advance(9_999)
    assert order(calls) == "abcd" + "bcd"
    assert asked == [(3, ["", "a1", "a1 b1", "a1 b1 c1"], "d thing: no luck")]
    assert [step.text for step in found.motions] == ["a1", "b2", "c2", "d2"]
    assert found.states == ("", "a1", "a1 b2", "a1 b2 c2", "a1 b2 c2 d2")


def test_an_adviser_that_always_sends_it_back_can_not_keep_it_for_ever():
    context, plan, skills, calls = scripted(attempts=3, a=[], b=[], c=[True] * 1000)
    refinement = Refinement(context, plan, skills, START, analyzer=lambda refinement, failure: 1)
    assert refinement.advance(100_000).kind is FailureKind.BUDGET
    # Three tries of b for each of a.
    assert order(calls) == "abcbcbc" * 3


def test_constraints_end_the_plan():
    context, plan, skills, calls = scripted(a=[], b=[True] * 9, c=[])
    lessons = learned("one", "two")
    found = Refinement(context, plan, skills, START, analyzer=lambda r, f: lessons).advance(9_999)
    assert found == Learned(lessons)
    assert order(calls) == "ab"


PROOF = Failure(FailureKind.UNREACHABLE, "too far", certificate={"kind": "distance-bound"})


@dataclass
class World:
    """Stands for a State: what is moved, and by what."""

    items: tuple = ()
    scene_q: np.ndarray = field(default_factory=lambda: np.zeros(1))


@pytest.mark.parametrize("changes", ["robot", "items", "scene_q"])
def test_a_proof_ends_the_plan_only_where_all_stands_as_found(monkeypatch, changes):
    start = World()

    def changed(scene, robot, step, at):
        return {
            "robot": World(at.items, at.scene_q),
            "items": World(("elsewhere",), at.scene_q),
            "scene_q": World(at.items, at.scene_q + 0.1),
        }[changes]

    monkeypatch.setattr(module, "state_after", changed)
    context, plan, skills, calls = scripted(a=[], b=[True] * 99)
    monkeypatch.setattr(f"{__name__}.FAILS", PROOF)
    found = Refinement(context, plan, skills, start).advance(9_999)
    if changes == "robot":
        assert (found.kind, found.certificate) == (FailureKind.UNREACHABLE, PROOF.certificate)
        assert order(calls) == "ab"
    else:
        assert (found.kind, found.certificate) == (FailureKind.BUDGET, None)
        assert order(calls) == "abbabb"
    assert found.message == "too far"


def test_one_action_twice_in_a_plan_has_two_streams():
    context, _, skills, _ = scripted(a=[])
    thing = Binding("thing", "item", "thing")
    plan = tuple(BoundAction(k, "a", (thing,)) for k in range(2))
    Refinement(context, plan, skills, START).advance(9_999)
    assert len(set(context.streams)) == 2
