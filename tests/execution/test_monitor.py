"""When a run goes on, when it plans anew, and when it gives up: by an executor with a script."""

from dataclasses import replace

import numpy as np
import pytest

from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import frozen, transform
from galley.domain.pddl.formula import Fact
from galley.domain.scene.model import WORLD
from galley.domain.state import Placement, initial_state, item_pose
from galley.execution.monitor import REST
from galley.execution.recovery.replanning import NOTHING_LEFT, REPLANNED, RESUMED, RecoveryPlan
from galley.motion.effects import state_after
from galley.motion.motion import Attachment, Guard, Motion, Slide
from galley.motion.path import Path
from galley.motion.thresholds import THRESHOLDS
from galley.motion.trajectory.timing import rest_to_rest
from galley.robots.panda.mobile import hand_pose
from galley.tests.execution.physics.by_hand import grip
from galley.tests.execution.scripted import FACTS, PLAN, Bench


@pytest.fixture
def context(small_scene, robot):
    start = initial_state(small_scene)
    grasp = grip("block")

    def move(action, phase, group, way, attachments=()):
        nonlocal state
        q = state.q[robot.slice(group)]
        path = Path(group, np.array([q, q + way]))
        guard = Guard(np.array([0.0, 1.0, 0.0]), 20.0, 0.1) if phase == "close fingers" else None
        trajectory = rest_to_rest(path, robot.group(group))
        motion = Motion(action, phase, group, path, trajectory, attachments, grasp, guard)
        state = state_after(small_scene, robot, motion, state)
        return motion

    state = start
    held = (Attachment("item", "block"),)
    motions = (
        move(0, "drive", "base", np.array([-0.3, 0.2, 0.1])),
        move(1, "reach", "arm", np.full(7, 0.1)),
        move(1, "close fingers", "fingers", np.full(2, -0.015)),
        move(1, "lift", "arm", np.full(7, 0.05), held),
        move(2, "lower", "arm", np.full(7, -0.05), held),
        move(2, "open fingers", "fingers", np.full(2, 0.015)),
    )
    return Bench(small_scene, robot, start, motions)


def nudged(way, index=0):
    """The block moved by ``way`` (3,) in the world."""

    def change(state):
        placement = state.items[index]
        X = transform(None, way) @ placement.X_PI
        return state.with_item(index, Placement(placement.parent, frozen(X)))

    return change


def dropped(state):
    """The block lies on the floor."""
    return state.with_item(0, Placement(WORLD, frozen(transform(None, (0.5, 0.5, 0.05)))))


AWAY = (0.03, 0.0, 0.0)


def kinds(recovery):
    return [deviation.kind for deviation in recovery.noticed]


# -- as planned -----------------------------------------------------------------------------------


def test_where_all_goes_as_planned_nothing_is_planned_anew(context):
    assert context.run() is None
    assert context.replanned == context.loop.recoveries == []
    assert tuple(context.loop.motions) == context.motions
    assert context.executor.names == [
        "(go table) | drive",
        "(take block) | reach",
        "(take block) | close fingers",
        "(take block) | lift",
        "(put) | lower",
        "(put) | open fingers",
    ]
    assert context.loop.facts == FACTS[-1]
    assert context.executor.waited == [REST]
    assert context.ears.shares == sorted(context.ears.shares)


def test_a_glimpse_that_a_second_look_does_not_bear_out_changes_nothing(context):
    context.executor.glimpses[0] = nudged((0.02, 0.0, 0.0))
    context.executor.ends[4] = "contact, 5 N"  # where it was to end
    assert context.run() is None
    assert context.replanned == []
    assert context.executor.looks > 4, "it looked again"


# -- not as planned -------------------------------------------------------------------------------


@pytest.mark.parametrize(("ended", "bad"), [("closed on nothing", True), ("grip, 40 N", False)])
def test_a_grasp_that_closed_on_nothing_is_remembered_and_told(context, ended, bad):
    context.executor.happens[2] = lambda state: state.with_item(0, context.start.items[0])
    context.executor.ends[2] = ended
    assert context.run() is None
    ((under_way, _, _),) = context.replanned
    told = "the grasp of block closed on nothing: other grasps come first"
    assert (told in context.ears.stages) == bad == bool(under_way.failed.grasps)
    if bad:
        ((index, X_IT),) = under_way.failed.grasps
        X_WT = item_pose(context.scene, context.start, index, np.eye(4)) @ X_IT
        q = context.motions[1].path.end
        X_WH = hand_pose(np.concatenate([context.motions[0].path.end, q]), context.scene.robot.base)
        np.testing.assert_allclose(
            X_WT, X_WH @ transform(None, context.robot.p_HT), atol=1e-9
        )  # fmt: skip


def test_where_an_item_did_not_stay_is_remembered_and_told(context):
    end = context.start
    for motion in context.motions:
        end = state_after(context.scene, context.robot, motion, end)
    placed = item_pose(context.scene, end, 0, np.eye(4))

    def toppled(state):
        lies = transform([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]], placed[:3, 3])
        return state.with_item(0, Placement(WORLD, frozen(lies)))

    context.executor.happens[5] = toppled
    assert context.run() is None
    ((under_way, _, _),) = context.replanned
    ((index, X_WI),) = under_way.failed.placements
    assert (index, under_way.failed.grasps) == (0, ())
    np.testing.assert_allclose(X_WI, placed, atol=1e-9)
    assert "block did not stay where it was put: other places come first" in context.ears.stages


def test_an_item_that_was_nudged_is_planned_for_anew_from_where_it_is(context):
    context.executor.happens[0] = nudged(AWAY)
    context.executor.ends[0] = "bumped"
    assert context.run() is None
    ((under_way, state, number),) = context.replanned
    assert number == 1
    assert under_way.plan == PLAN
    assert under_way.index == 0
    assert under_way.facts == FACTS[0]
    assert under_way.motion is context.motions[0]
    moved = state.items[0].X_PI[:3, 3] - context.start.items[0].X_PI[:3, 3]
    np.testing.assert_allclose(moved, AWAY, atol=1e-9)
    (recovery,) = context.loop.recoveries
    assert kinds(recovery) == ["moved"]
    assert recovery.how == RESUMED
    assert recovery.ended == "bumped"
    assert recovery.motion == "(go table) | drive"
    assert recovery.plan == tuple(map(str, PLAN))
    assert recovery.time == pytest.approx(context.motions[0].trajectory.duration)
    (noticed,) = recovery.as_json()["noticed"]
    assert (noticed["kind"], noticed["name"], noticed["unit"]) == ("moved", "block", "m")
    assert "30.0 mm" in noticed["what"]
    # The motions were finished from the State that they begin in, and are named as a recovery's.
    assert context.finished[0][1] is state
    assert context.executor.names[1] == "recovery 1: (go table) | drive"
    assert len(context.loop.motions) == 1 + len(context.motions)


@pytest.mark.parametrize(
    ("ways", "corrected"),
    [((0.05, 0.05, 0.05), [True, True, True]), ((0.05, -0.02, 0.04), [True, False, True])],
    ids=["ever nearer", "once away from it"],
)
def test_pushes_that_come_nearer_to_their_goal_are_no_recoveries(context, ways, corrected):
    """The block ends elsewhere after each push, 0.2 m from its goal before the first."""
    drive, reach, *rest = context.motions
    p = context.start.items[0].X_PI[:3, 3]
    goal = np.array([p[0] + 0.2, p[1], 0.5])
    stays = np.tile([*p[:2], 0.5], (2, 1))
    slide = Slide("block", np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0]), stays, goal)
    context.motions = (drive, replace(reach, slide=slide), *rest)
    context.loop.limits = replace(THRESHOLDS, recoveries=1)
    left = tuple(replace(m, action_index=m.action_index - 1) for m in context.motions[1:])
    context.answers = [
        lambda state: RecoveryPlan(PLAN[1:], left, state, FACTS[1:], None, RESUMED) for _ in ways
    ]
    context.executor.happens = {k + 1: nudged((way, 0.0, 0.0)) for k, way in enumerate(ways)}
    assert context.run() is None
    assert [each.correction for each in context.loop.recoveries] == corrected
    for k, corrects in enumerate(corrected, 1):
        kind = "correction" if corrects else "recovery"
        assert any(name.startswith(f"{kind} {k}: ") for name in context.executor.names)
    assert context.loop.pushes == len(ways) + 1
    assert "push 1: 150 mm and 0 degrees left" in context.ears.stages
    assert context.loop.recoveries[0].as_json()["correction"] is True


def test_a_start_that_is_not_as_the_scene_says_is_planned_for_before_anything_moves(context):
    context.executor.state = nudged(AWAY)(context.start)
    assert context.run() is None
    ((under_way, _, _),) = context.replanned
    assert (under_way.index, under_way.motion) == (0, None)
    assert context.executor.names[0].startswith("recovery 1: ")
    assert context.loop.recoveries[0].time == 0.0
    assert context.loop.recoveries[0].motion == ""


def test_after_a_recovery_the_index_counts_in_the_new_plan(context):
    """The plan that goes on begins with the second action; what is off then is in its first."""
    context.executor.happens[3] = dropped
    context.executor.happens[5] = nudged(AWAY)  # the second motion of what goes on
    assert context.run() is None
    (first, state, _), (second, _, _) = context.replanned
    assert (first.plan, first.index, first.facts) == (PLAN, 1, FACTS[1])
    assert first.motion is context.motions[3]
    assert state.held is None
    assert kinds(context.loop.recoveries[0]) == ["not-held"]
    assert context.loop.recoveries[0].motion == "(take block) | lift"
    assert second.plan == PLAN[1:]
    assert (second.index, second.facts) == (0, FACTS[1])


# -- the end --------------------------------------------------------------------------------------


def test_a_goal_that_is_missing_at_the_end_is_planned_for(context):
    context.missing = [("(on block table) does not hold",), ()]

    def back(state):
        """To where the base came from."""
        where = context.robot.slice("base")
        path = Path("base", np.array([state.q[where], context.start.q[where]]))
        home = replace(
            context.motions[0],
            path=path,
            trajectory=rest_to_rest(path, context.robot.group("base")),
        )
        return RecoveryPlan(PLAN[:1], (home,), state, FACTS[:2], None, REPLANNED)

    context.answers = [back]
    assert context.run() is None
    ((under_way, _, _),) = context.replanned
    assert under_way.index == len(PLAN)
    assert under_way.facts == FACTS[-1]
    assert under_way.motion is None
    (recovery,) = context.loop.recoveries
    assert kinds(recovery) == ["goal"]
    assert "does not hold" in str(recovery.noticed[0])
    assert recovery.how == REPLANNED
    assert context.loop.facts == FACTS[1], "those of the plan that was carried out last"
    assert context.executor.names[-1] == "recovery 1: (go table) | drive"


def test_nothing_left_to_do_ends_the_run_once_the_goal_is_seen(context):
    context.executor.happens[5] = nudged(AWAY)
    done = frozenset({Fact("done", ())})
    state = context.start
    context.answers = [RecoveryPlan((), (), state, (done,), None, NOTHING_LEFT)]
    assert context.run() is None
    assert context.loop.facts == done
    assert context.loop.recoveries[0].how == NOTHING_LEFT


def test_a_missing_goal_about_which_nothing_can_be_done_is_left_to_validation(context):
    """Asked once, not again and again; what is missing is for whoever judges the run to say."""
    context.missing = [("it does not hold",)] * 1000
    state = context.start
    nothing = RecoveryPlan((), (), state, (FACTS[0],), None, NOTHING_LEFT)
    context.answers = [nothing] * 1000
    assert context.run() is None
    assert len(context.replanned) == len(context.loop.recoveries) == 1
    assert [d.kind for d in context.loop.recoveries[0].noticed] == ["goal"]


def test_a_world_that_never_does_as_planned_is_given_up(context):
    context.executor.happens = {k: nudged(AWAY) for k in range(100)}
    failure = context.run()
    assert isinstance(failure, Failure)
    assert failure.kind == FailureKind.BUDGET
    assert failure.objects == ("block",)
    assert failure.numbers["recoveries"] == THRESHOLDS.recoveries
    assert "block is" in failure.message
    assert len(context.replanned) == THRESHOLDS.recoveries
    assert len(context.executor.names) == THRESHOLDS.recoveries + 1
    assert context.executor.waited[-1] == REST, "what was let go comes to rest all the same"


def test_where_no_plan_is_found_the_run_ends_with_that_reason(context):
    context.executor.happens[1] = nudged(AWAY)
    why = Failure(FailureKind.UNREACHABLE, "the block is out of reach", ("block",), {})
    context.answers = [why]
    failure = context.run()
    assert isinstance(failure, Failure)
    assert (failure.kind, failure.message, failure.objects) == (why.kind, why.message, why.objects)
    assert "mm from its expected position" in failure.step[0]
    assert len(context.executor.names) == 2, "nothing more was done"
    assert context.loop.recoveries[0].how == "failed"
    assert context.loop.recoveries[0].plan == ()


# -- releases -------------------------------------------------------------------------------------


def test_a_release_is_recorded_with_how_far_it_missed(context):
    context.executor.happens[5] = nudged((0.0, 0.002, 0.0))
    assert context.run() is None
    (release,) = context.loop.releases
    assert release.item == "block"
    assert release.off_m == pytest.approx(0.002)
    assert release.turned_rad == pytest.approx(0.0, abs=1e-6)
    assert release.time_s == pytest.approx(sum(m.trajectory.duration for m in context.motions))


def test_an_item_that_sticks_to_the_fingers_is_no_release(context):
    before = []

    def keep(state):
        before.append(state.items[0])
        return state

    def sticks(state):
        return state.with_item(0, before[-1])

    context.executor.happens[4] = keep
    context.executor.happens[5] = sticks
    context.answers = [Failure(FailureKind.BUDGET, "enough", (), {})]
    assert isinstance(context.run(), Failure)
    assert context.loop.releases == []
    assert kinds(context.loop.recoveries[0]) == ["held"]
