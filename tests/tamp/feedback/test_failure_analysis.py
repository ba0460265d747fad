"""Reactions to failed actions: the real scene and roles, a scripted diagnosis."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from galley.domain.failure import Failure, FailureKind
from galley.domain.scene.model import WORLD
from galley.domain.state import Placement
from galley.planning import GroundAction
from galley.robots.panda.models import mobile_panda
from galley.skills import SKILLS, BoundAction, PlanningContext, Settings
from galley.skills.skill import Role
from galley.tamp.feedback import failure_analysis as module
from galley.tamp.feedback.constraints import LearnedConstraints, constrained_task
from galley.tamp.feedback.failure_analysis import Diagnosis, FailureAnalyzer
from galley.tamp.refine import Refinement
from galley.tests.tamp.tasks import plan_of, scenario_task

TIRED = Failure(FailureKind.BUDGET, "no way found")
FAR = Failure(FailureKind.UNREACHABLE, "too far", certificate={"kind": "distance-bound"})
GELATIN, GREEN, BLACK = range(3)  # the scene's items


@dataclass
class Kitchen:
    context: PlanningContext
    task: object
    start: object

    def analyzer(self, without=(), prove=lambda constraint: constraint):
        bindings = {name: b for name, b in self.task.bindings.items() if name not in without}
        return FailureAnalyzer(self.context, replace(self.task, bindings=bindings), prove)

    def stuck(self, *actions, moved=()):
        """A Refinement that is stuck at the action with a ``!``, some items moved before."""
        at = next(k for k, text in enumerate(actions) if text.endswith("!"))
        state = self.start
        assert at or not moved
        for index in moved:
            state = state.with_item(index, Placement(WORLD, np.eye(4)))
        plan = plan_of(self.task, *(text.rstrip("!") for text in actions))
        refinement = Refinement(self.context, plan, SKILLS, self.start)
        refinement.states += [state] * at
        refinement._motions += [()] * at
        return refinement


@pytest.fixture(scope="module")
def kitchen():
    task = scenario_task("hemmed_in")
    scene = task.scene
    task = replace(task, bindings={**task.bindings, "drawer": scene.binding("drawer")})
    names = [item.name for item in scene.items]
    assert [names.index(n) for n in ("gelatin_box", "green_tea", "black_tea")] == [0, 1, 2]
    context = PlanningContext(scene, mobile_panda(scene.robot.base), None, Settings())
    item_places = [(name, "countertop") for name in ("gelatin", "green", "black")]
    return Kitchen(context, constrained_task(task, item_places), task.start)


@pytest.fixture
def diagnosis(monkeypatch):
    """What the next diagnoses say: items, or None; and how often one was made."""
    said = {"items": frozenset(), "asked": []}

    def find_blockers(context, skills, actions, state, rng, *rest):
        said["asked"].append(rng(0).random())
        if said["items"] is None:
            return None
        works = [a for a in actions[:2] if a.name != "navigate"]
        return Diagnosis(works[0], frozenset(said["items"]))

    monkeypatch.setattr(module, "find_blockers", find_blockers)
    return said


def facts(advice):
    assert isinstance(advice, tuple)
    return [str(lesson.fact) for lesson in advice]


PICK = ("navigate center countertop", "pick gelatin countertop h1!")


def test_what_stands_in_the_way_as_found_becomes_a_fact_each(kitchen, diagnosis):
    diagnosis["items"] = {BLACK, GREEN}
    told = kitchen.analyzer()(kitchen.stuck(*PICK), TIRED)
    assert facts(told) == ["(blocked-by gelatin green)", "(blocked-by gelatin black)"]
    assert not any(lesson.proven or lesson.actions for lesson in told)
    assert [lesson.failure.objects for lesson in told] == [("green_tea",), ("black_tea",)]


def test_a_drive_is_stuck_for_the_sake_of_what_comes_after_it(kitchen, diagnosis):
    diagnosis["items"] = {GREEN}
    told = kitchen.analyzer()(kitchen.stuck("navigate center countertop!", PICK[1][:-1]), TIRED)
    assert facts(told) == ["(blocked-by gelatin green)"]


def test_putting_down_finds_no_room_beside_it(kitchen, diagnosis):
    diagnosis["items"] = {GREEN}
    plan = ("pick gelatin countertop h1", "place gelatin burner h1!")
    told = kitchen.analyzer()(kitchen.stuck(*plan, moved=[GELATIN]), TIRED)
    # The gelatin's grasp is a choice; but what stands in the way stands as found.
    assert facts(told) == ["(no-room gelatin burner green)"]


def test_what_no_object_names_blocks_for_good(kitchen, diagnosis):
    diagnosis["items"] = {GREEN}
    (lesson,) = kitchen.analyzer(without=["green"])(kitchen.stuck(*PICK), TIRED)
    assert str(lesson.fact) == "(blocked-by gelatin green_tea)"
    assert not lesson.actions
    picks = [o for o in kitchen.task.grounded(lesson.fact).operators if o.action.name == "pick"]
    seen = {
        o.action.args[0] for o in picks if o.applicable(kitchen.task.grounded(lesson.fact).init)
    }
    assert "gelatin" not in seen
    assert any(o.action.args[0] == "green" for o in picks), "others may still be taken"


BACK = (
    "pick green countertop h1",
    "place green countertop h1",
    "pick black countertop h1",
    "place black countertop h1",
    "navigate countertop burner",
    "pick gelatin countertop h1!",
)


OWN = (
    "pick gelatin countertop h1",
    "place gelatin burner h1",
    "navigate countertop burner",
    "pick gelatin burner h1!",
)


@pytest.mark.parametrize(
    ("plan", "moved", "blocks", "target"),
    [
        (BACK, [GREEN, BLACK], {GREEN}, 1),
        (BACK, [GREEN, BLACK], {BLACK}, 3),
        (BACK, [GREEN, BLACK], {GREEN, BLACK}, 3),
        (OWN, [GELATIN], {BLACK}, 1),
    ],
)
def test_what_the_plan_itself_put_there_is_put_elsewhere(
    kitchen, diagnosis, plan, moved, blocks, target
):
    diagnosis["items"] = blocks
    assert kitchen.analyzer()(kitchen.stuck(*plan, moved=moved), TIRED) == target


def test_diagnoses_end_and_each_has_its_own_stream(kitchen, diagnosis):
    analyzer, stuck = kitchen.analyzer(), kitchen.stuck(*PICK)
    for _ in range(20):
        assert analyzer(stuck, TIRED) is None
    assert 2 <= len(diagnosis["asked"]) <= 10
    assert len(set(diagnosis["asked"])) == len(diagnosis["asked"])


def test_a_placement_found_in_the_way_is_gone_back_to_after_the_last_diagnosis(kitchen, diagnosis):
    """Not to the action before, whose other refinements would fail for the same reason."""
    diagnosis["items"] = {BLACK}
    plan = (*BACK[:-1], "place gelatin countertop h1!")
    analyzer, stuck = kitchen.analyzer(), kitchen.stuck(*plan, moved=[GREEN, BLACK])
    told = [analyzer(stuck, TIRED) for _ in range(20)]
    assert len(diagnosis["asked"]) < 20
    assert told == [3] * 20


@pytest.mark.parametrize(
    ("known", "also"),
    [({BLACK, GREEN}, ["(no-room black countertop gelatin)"]), ({GREEN}, []), (frozenset(), [])],
)
def test_what_stood_in_the_way_does_not_go_back_before_it(kitchen, diagnosis, known, also):
    """Put elsewhere once; then it is a lesson, of all that was found to stand in the way there."""
    diagnosis["items"] = known
    analyzer = kitchen.analyzer()
    analyzer(kitchen.stuck(*PICK), TIRED)
    diagnosis["items"] = {GREEN}
    plan = ("pick green countertop h1", "place green countertop h1", "pick gelatin countertop h1!")
    stuck = kitchen.stuck(*plan, moved=[GREEN])
    assert analyzer(stuck, TIRED) == 1
    told = analyzer(stuck, TIRED)
    assert facts(told) == ["(no-room green countertop gelatin)", *also]
    assert not any(lesson.proven for lesson in told)


def test_no_way_without_the_items_either_drops_the_plan_at_last(kitchen, diagnosis):
    diagnosis["items"] = None
    analyzer, stuck = kitchen.analyzer(), kitchen.stuck(*PICK)
    told = [analyzer(stuck, TIRED) for _ in range(4)]
    assert told[:3] == [None] * 3
    assert facts(told[3]) == ["(no-stance gelatin countertop)"]
    assert not told[3][0].proven


def test_another_grasp_is_asked_for_where_a_held_item_finds_no_way(kitchen, diagnosis):
    diagnosis["items"] = None
    plan = ("pick gelatin countertop h1", "navigate countertop burner", "place gelatin burner h1!")
    stuck = kitchen.stuck(*plan)
    stuck.states[-1] = kitchen.start.with_item(GELATIN, Placement("hand", np.eye(4)))
    analyzer = kitchen.analyzer()
    told = [analyzer(stuck, TIRED) for _ in range(4)]
    assert told[0] == 0, "the pick"
    assert told[1] is None, "first another stance"
    (lesson,) = told[3]
    assert lesson.actions == (GroundAction("place", ("gelatin", "burner", "h1")),)


def test_a_silent_adviser_suspects_nothing(kitchen, diagnosis):
    diagnosis["items"] = {GREEN}
    analyzer = kitchen.analyzer()
    analyzer.silent = True
    assert analyzer(kitchen.stuck(*PICK), TIRED) is None
    assert diagnosis["asked"] == []
    assert facts(analyzer(kitchen.stuck(*PICK), FAR)) == ["(no-stance gelatin countertop)"]


def test_a_proof_becomes_a_proven_lesson_without_a_diagnosis(kitchen, diagnosis):
    for plan in (PICK, ("navigate center countertop!", PICK[1][:-1])):
        (lesson,) = kitchen.analyzer()(kitchen.stuck(*plan), FAR)
        assert str(lesson.fact) == "(no-stance gelatin countertop)"
        assert lesson.proven
    assert diagnosis["asked"] == []


def crate(name="green_tea"):
    proof = {"kind": "swept-drawer", "blocker": name}
    return Failure(FailureKind.BLOCKED, f"meets {name}", (name,), certificate=proof)


OPEN = ("navigate center drawer", "open drawer h1!")


def test_a_drawer_that_meets_an_item_waits_for_it(kitchen, diagnosis):
    (lesson,) = kitchen.analyzer()(kitchen.stuck(*OPEN), crate())
    assert str(lesson.fact) == "(blocked-by drawer green)"
    assert lesson.proven
    assert not lesson.actions
    (lesson,) = kitchen.analyzer()(kitchen.stuck("stow gelatin drawer h1!"), crate())
    assert str(lesson.fact) == "(blocked-by drawer green)"


def test_a_drawer_that_meets_what_the_plan_put_there_sends_it_back(kitchen, diagnosis):
    plan = ("pick green countertop h1", "place green countertop h1", *OPEN)
    assert kitchen.analyzer()(kitchen.stuck(*plan, moved=[GREEN]), crate()) == 1


def test_a_suspicion_after_the_item_was_moved_says_nothing_of_it_as_found(kitchen, diagnosis):
    diagnosis["items"] = None
    plan = (
        "pick gelatin countertop h1",
        "place gelatin burner h1",
        "pick gelatin burner h1!",
    )
    analyzer, stuck = kitchen.analyzer(), kitchen.stuck(*plan, moved=[GELATIN])
    for _ in range(8):
        told = analyzer(stuck, TIRED)
        assert not (isinstance(told, tuple) and any(not each.actions for each in told))


def test_a_drawer_that_meets_another_drawer_is_not_given_up_for_good(kitchen, diagnosis):
    """What moves can be moved away: the proof holds as long as it stands as found."""
    joint = next(body.name for body in kitchen.context.scene.bodies if body.joint is not None)
    told = kitchen.analyzer()(kitchen.stuck(*OPEN), crate(joint))
    assert told is None or isinstance(told, int) or not any(each.proven for each in told)


def test_an_action_that_names_no_thing_is_not_the_next_ones_fault(kitchen, diagnosis, monkeypatch):
    """An own skill without a role proves that it can't be done itself."""
    monkeypatch.setattr(type(SKILLS["cook"]), "role", Role())
    told = kitchen.analyzer()(
        kitchen.stuck("cook gelatin burner!", "pick green countertop h1"), FAR
    )
    assert told is None or all("green" not in str(each.fact) for each in told)


def on_the_countertop(kitchen, name):
    arguments = tuple(kitchen.task.bindings[each] for each in ("gelatin", "countertop"))
    return BoundAction(0, name, (*arguments, kitchen.task.bindings["h1"]))


@pytest.mark.parametrize("order", [1, -1])
def test_a_proof_of_taking_is_none_of_putting_there(kitchen, order):
    analyzer, known = kitchen.analyzer(), LearnedConstraints()
    taking = analyzer.out_of_reach(on_the_countertop(kitchen, "pick"), FAR)
    putting = analyzer.out_of_reach(on_the_countertop(kitchen, "place"), TIRED)
    for lesson in (taking, putting)[::order]:
        assert known.add([lesson])
    task = known.applied_to(kitchen.task)
    assert taking.fact in task.problem.init
    place = GroundAction("place", ("gelatin", "countertop", "h1"))
    assert task.forbidden == {place}
    assert [each.proven for each in known.all.values() if place in each.actions] == [False]
    assert [each.proven for each in known.all.values() if not each.actions] == [True]


def test_what_a_proof_shows_to_be_in_the_way_needs_no_diagnosis(kitchen, diagnosis):
    """First that there is no way at all; then of the items as found, each by itself."""
    asked = []

    def prove(constraint):
        asked.append(constraint.fact.args)
        sure = replace(constraint.failure, certificate={"kind": "covering"})
        return replace(constraint, failure=sure) if "black" in constraint.fact.args else constraint

    analyzer = kitchen.analyzer(prove=prove)
    stuck = kitchen.stuck("pick gelatin countertop h1!")
    (lesson,) = analyzer(stuck, TIRED)
    assert (str(lesson.fact), lesson.proven) == ("(blocked-by gelatin black)", True)
    assert asked == [("gelatin", "countertop"), ("gelatin", "green"), ("gelatin", "black")]
    assert diagnosis["asked"] == []
    asked.clear()
    before = ("pick black countertop h1", "place black countertop h1")
    moved = kitchen.stuck(*before, "pick gelatin countertop h1!", moved=(BLACK,))
    analyzer(moved, TIRED)
    assert asked == [("gelatin", "countertop"), ("gelatin", "green")]
