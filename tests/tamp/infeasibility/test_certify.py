"""What the prover asks, of which state, and what it may conclude: the bound itself is scripted."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import frozen, transform
from galley.domain.pddl.formula import Fact
from galley.domain.state import Placement
from galley.planning import GroundAction
from galley.robots.panda.models import mobile_panda
from galley.skills import SKILLS, PlanningContext, Settings
from galley.tamp.feedback.constraints import LearnedConstraint
from galley.tamp.infeasibility.proofs import Prover
from galley.tests.tamp.tasks import scenario_task

TIRED = Failure(FailureKind.BUDGET, "no way found")


def blocked(*names):
    return Failure(
        FailureKind.BLOCKED, f"{names} in the way", names, certificate={"kind": "covering"}
    )


FAR = Failure(FailureKind.UNREACHABLE, "too far", certificate={"kind": "covering"})


@dataclass
class Asked:
    """One question to the covering bound."""

    stances: frozenset  # names
    what: str
    standing: frozenset  # names of the items within the kitchen


@dataclass
class Bound:
    """Stands for the covering bound: ``answer`` gets what is asked."""

    answer: object
    asked: list

    def __call__(self, context, state, families, stances, what, item=None):
        items = zip(context.scene.items, state.items, strict=True)
        near = frozenset(item.name for item, at in items if abs(at.X_PI[2, 3]) < 5.0)
        question = Asked(frozenset(each.name for each in stances), what, near)
        self.asked.append(question)
        return self.answer(question)


@pytest.fixture(scope="module")
def hemmed_in():
    task = scenario_task("hemmed_in")
    scene = task.scene
    task = replace(task, bindings={**task.bindings, "drawer": scene.binding("drawer")})
    return PlanningContext(scene, mobile_panda(scene.robot.base), None, Settings()), task


@pytest.fixture
def prover(hemmed_in, monkeypatch):
    """A prover and its bound, which finds the gelatin blocked."""
    context, task = hemmed_in
    bound = Bound(lambda asked: blocked("hitman"), [])
    monkeypatch.setattr("galley.skills.infeasibility.covering.prove_no_grasp", bound)
    return Prover(context, task, task.start), bound


def suspected(*fact, actions=()):
    return LearnedConstraint(Fact(fact[0], fact[1:]), TIRED, actions)


def test_a_proof_takes_the_place_of_a_suspicion_and_nothing_else_changes(prover):
    lesson = suspected("no-stance", "gelatin", "countertop")
    found = prover[0].prove(lesson)
    assert found.proven
    assert found.failure.kind is FailureKind.BLOCKED
    assert (found.fact, found.actions) == (lesson.fact, lesson.actions)


def test_each_question_is_asked_once(prover):
    prover, bound = prover
    for _ in range(3):
        prover.prove(suspected("no-stance", "gelatin", "countertop"))
        prover.prove(suspected("blocked-by", "gelatin", "green"))
        prover.prove(suspected("blocked-by", "gelatin", "black"))
    questions = [(each.stances, each.what, each.standing) for each in bound.asked]
    assert len(questions) == len(set(questions))


def test_what_is_blocked_must_be_so_from_all_stances(prover):
    prover, bound = prover
    assert prover.prove(suspected("blocked-by", "gelatin", "green")).proven
    (asked,) = bound.asked
    names = [b.target for b in prover.task.bindings.values() if b.kind == "furniture"]
    assert asked.stances == frozenset(names)
    assert prover.prove(suspected("no-stance", "gelatin", "countertop")).proven
    assert bound.asked[-1].stances == {prover.task.bindings["countertop"].target}


def test_a_drawer_is_asked_about_by_its_handle(prover):
    prover, bound = prover
    assert prover.prove(suspected("blocked-by", "drawer", "green")).proven
    assert {each.what for each in bound.asked} == {"open drawer"}


@pytest.mark.parametrize(
    "fact",
    [
        ("no-room", "gelatin", "burner", "green"),
        ("too-small", "burner", "gelatin", "green"),
        ("impossible", "gelatin", "burner"),
    ],
)
def test_what_the_bound_can_not_say_stays_a_suspicion(prover, fact):
    assert not prover[0].prove(suspected(*fact)).proven
    assert prover[1].asked == []


# -- what a proof must hold for --------------------------------------------------------------------


def test_that_one_item_blocks_is_proven_with_the_movable_others_gone(prover):
    """Green and black stand in the way: with the black one moved, the gelatin can be taken."""
    prover, bound = prover

    def answer(asked):
        names = tuple(asked.standing & {"green_tea", "black_tea"})
        return blocked("black_tea") if "black_tea" in names else None

    bound.answer = answer
    assert prover.prove(suspected("blocked-by", "gelatin", "black")).proven
    assert not prover.prove(suspected("blocked-by", "gelatin", "green")).proven


def test_what_lies_in_a_drawer_that_can_be_opened_blocks_nothing_for_certain(prover):
    (asks, bound), green = prover, "green_tea"
    inside = Placement("indigo_drawer_top", frozen(transform(None, (0.0, 1.2, 0.83))))
    start = asks.start.with_item(asks.context.scene.item_index[green], inside)
    asks = Prover(asks.context, asks.task, start)
    for subject, stays in (("gelatin", False), ("drawer", True)):
        asks.prove(suspected("blocked-by", subject, "green"))
        assert (green in bound.asked[-1].standing) is stays


@pytest.mark.parametrize("named", [True, False])
def test_no_stance_is_proven_only_by_what_no_plan_can_move_away(prover, named):
    prover, bound = prover
    if not named:
        bindings = {k: v for k, v in prover.task.bindings.items() if k != "black"}
        prover.task = replace(prover.task, bindings=bindings)
    bound.answer = lambda asked: blocked("black_tea") if "black_tea" in asked.standing else None
    assert prover.prove(suspected("no-stance", "gelatin", "countertop")).proven != named


@pytest.mark.parametrize("name", ["place", "put_in"])
def test_that_an_item_can_not_be_taken_there_proves_nothing_of_putting_it_there(prover, name):
    """The item stands elsewhere: of course it can't be taken from there."""
    prover, bound = prover
    bound.answer = lambda asked: FAR
    action = GroundAction(name, ("gelatin", "burner", "h1"))
    lesson = suspected("no-stance", "gelatin", "burner", actions=(action,))
    assert not prover.prove(lesson).proven


def test_what_lies_in_a_drawer_is_not_judged_with_the_drawer_shut(monkeypatch):
    task = scenario_task("unpack")
    scene, bindings, start = task.scene, task.bindings, task.start
    inside = next(
        name
        for name, binding in bindings.items()
        if binding.kind == "item"
        and start.items[scene.item_index[binding.target]].parent != "world"
    )
    joint = scene.joint_index[scene.handle(bindings["drawer"].handle).joint]
    monkeypatch.setattr(
        "galley.skills.infeasibility.covering.prove_no_grasp",
        lambda context, state, *rest: blocked("hitman") if state.scene_q[joint] < 0.1 else None,
    )
    context = PlanningContext(scene, mobile_panda(scene.robot.base), None, Settings())
    prover = Prover(context, task, start)
    assert np.allclose(start.scene_q[joint], 0.0)
    assert not prover.prove(suspected("no-stance", inside, "drawer")).proven


def test_an_own_way_to_take_or_open_is_none_that_the_bound_covers(prover):
    """The bound is over our grasps and pulls; a skill of one's own may do it otherwise."""
    prover, _ = prover

    class Scoop(type(SKILLS["pick"])):
        pass

    class Kick(type(SKILLS["open"])):
        pass

    for own in ({"pick": Scoop(SKILLS)}, {"open": Kick()}):
        other = Prover(prover.context, replace(prover.task, skills={**SKILLS, **own}), prover.start)
        taking = other.prove(suspected("no-stance", "gelatin", "countertop")).proven
        opening = other.prove(suspected("blocked-by", "drawer", "green")).proven
        assert (taking, opening) == ("pick" not in own, "open" not in own)
