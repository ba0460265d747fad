"""When a run goes on, when it plans anew, and when it gives up: by an executor with a script."""

from dataclasses import replace

import numpy as np
import pytest

from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import frozen, transform
from galley.domain.pddl.formula import Fact
from galley.domain.scene.model import WORLD
from galley.domain.state import Placement, initial_state
from galley.execution.loop import REST
from galley.execution.recovery.going_on import NOTHING_LEFT, PLANNED_ANEW, RESUMED, Continuation
from galley.motion.effects import after
from galley.motion.motion import Attachment, Guard, Motion
from galley.motion.path import Path
from galley.motion.thresholds import THRESHOLDS
from galley.motion.trajectory.timing import rest_to_rest
from galley.tests.execution.physics.by_hand import grip
from galley.tests.execution.scripted import FACTS, PLAN, Bench


@pytest.fixture
def bench(small_scene, robot):
    start = initial_state(small_scene)
    grasp = grip("block")

    def move(action, phase, group, way, attachments=()):
        nonlocal state
        q = state.q[robot.slice(group)]
        path = Path(group, np.array([q, q + way]))
        guard = Guard(np.array([0.0, 1.0, 0.0]), 20.0, 0.1) if phase == "close fingers" else None
        trajectory = rest_to_rest(path, robot.group(group))
        motion = Motion(action, phase, group, path, trajectory, attachments, grasp, guard)
        state = after(small_scene, robot, motion, state)
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


def test_where_all_goes_as_planned_nothing_is_planned_anew(bench):
    assert bench.run() is None
    assert bench.replanned == bench.loop.recoveries == []
    assert tuple(bench.loop.motions) == bench.motions
    assert bench.executor.names == [
        "(go table) | drive",
        "(take block) | reach",
        "(take block) | close fingers",
        "(take block) | lift",
        "(put) | lower",
        "(put) | open fingers",
    ]
    assert bench.loop.facts == FACTS[-1]
    assert bench.executor.waited == [REST]
    assert bench.ears.shares == sorted(bench.ears.shares)


def test_a_glimpse_that_a_second_look_does_not_bear_out_changes_nothing(bench):
    bench.executor.glimpses[0] = nudged((0.02, 0.0, 0.0))
    assert bench.run() is None
    assert bench.replanned == []
    assert bench.executor.looks > 4, "it looked again"


def test_what_is_off_by_less_than_a_limit_changes_nothing(bench):
    bench.executor.happens[0] = nudged((0.9 * THRESHOLDS.item_moved, 0.0, 0.0))
    assert bench.run() is None
    assert bench.replanned == []


def test_a_motion_that_ended_early_where_it_was_to_end_changes_nothing(bench):
    bench.executor.ends[4] = "contact, 5 N"
    assert bench.run() is None
    assert bench.replanned == []


# -- not as planned -------------------------------------------------------------------------------


def test_an_item_that_was_nudged_is_planned_for_anew_from_where_it_is(bench):
    bench.executor.happens[0] = nudged(AWAY)
    bench.executor.ends[0] = "bumped"
    assert bench.run() is None
    ((under_way, state, number),) = bench.replanned
    assert number == 1
    assert under_way.plan == PLAN
    assert under_way.index == 0
    assert under_way.facts == FACTS[0]
    assert under_way.motion is bench.motions[0]
    moved = state.items[0].X_PI[:3, 3] - bench.start.items[0].X_PI[:3, 3]
    np.testing.assert_allclose(moved, AWAY, atol=1e-9)
    (recovery,) = bench.loop.recoveries
    assert kinds(recovery) == ["moved"]
    assert recovery.how == RESUMED
    assert recovery.ended == "bumped"
    assert recovery.motion == "(go table) | drive"
    assert recovery.plan == tuple(map(str, PLAN))
    assert recovery.time == pytest.approx(bench.motions[0].trajectory.duration)
    # The motions were finished from the State that they begin in, and are named as a recovery's.
    assert bench.finished[0][1] is state
    assert bench.executor.names[1] == "recovery 1: (go table) | drive"
    assert len(bench.loop.motions) == 1 + len(bench.motions)


def test_what_was_under_way_is_told_with_the_facts_before_it(bench):
    bench.executor.happens[3] = dropped
    assert bench.run() is None
    ((under_way, state, _),) = bench.replanned
    assert (under_way.index, under_way.facts) == (1, FACTS[1])
    assert under_way.motion is bench.motions[3]
    assert state.held is None
    assert kinds(bench.loop.recoveries[0]) == ["not-held"]
    assert bench.loop.recoveries[0].motion == "(take block) | lift"


def test_fingers_that_closed_on_nothing_are_noticed_at_once(bench):
    bench.executor.happens[2] = dropped
    assert bench.run() is None
    ((under_way, _, _),) = bench.replanned
    assert under_way.motion is bench.motions[2]
    assert kinds(bench.loop.recoveries[0]) == ["not-held"]


def test_a_start_that_is_not_as_the_scene_says_is_planned_for_before_anything_moves(bench):
    bench.executor.state = nudged(AWAY)(bench.start)
    assert bench.run() is None
    ((under_way, _, _),) = bench.replanned
    assert (under_way.index, under_way.motion) == (0, None)
    assert bench.executor.names[0].startswith("recovery 1: ")
    assert bench.loop.recoveries[0].time == 0.0
    assert bench.loop.recoveries[0].motion == ""


def test_a_second_time_counts_on(bench):
    bench.executor.happens[0] = nudged(AWAY)
    bench.executor.happens[2] = nudged(AWAY)  # the second motion of the recovery
    assert bench.run() is None
    assert [number for _, _, number in bench.replanned] == [1, 2]
    assert len(bench.loop.recoveries) == 2
    assert bench.executor.names[3].startswith("recovery 2: ")
    times = [recovery.time for recovery in bench.loop.recoveries]
    assert times == sorted(times)


def test_after_a_recovery_the_index_counts_in_the_new_plan(bench):
    """The plan that goes on begins with the second action; what is off then is in its first."""
    bench.executor.happens[3] = dropped
    bench.executor.happens[5] = nudged(AWAY)  # the second motion of what goes on
    assert bench.run() is None
    (first, _, _), (second, _, _) = bench.replanned
    assert first.plan == PLAN
    assert second.plan == PLAN[1:]
    assert (second.index, second.facts) == (0, FACTS[1])


# -- the end --------------------------------------------------------------------------------------


def test_a_goal_that_is_missing_at_the_end_is_planned_for(bench):
    bench.missing = [("(on block table) does not hold",), ()]

    def back(state):
        """To where the base came from."""
        where = bench.robot.slice("base")
        path = Path("base", np.array([state.q[where], bench.start.q[where]]))
        home = replace(
            bench.motions[0], path=path, trajectory=rest_to_rest(path, bench.robot.group("base"))
        )
        return Continuation(PLAN[:1], (home,), state, None, FACTS[:2], PLANNED_ANEW)

    bench.answers = [back]
    assert bench.run() is None
    ((under_way, _, _),) = bench.replanned
    assert under_way.index == len(PLAN)
    assert under_way.facts == FACTS[-1]
    assert under_way.motion is None
    (recovery,) = bench.loop.recoveries
    assert kinds(recovery) == ["goal"]
    assert "does not hold" in str(recovery.noticed[0])
    assert recovery.how == PLANNED_ANEW
    assert bench.loop.facts == FACTS[1], "those of the plan that was carried out last"
    assert bench.executor.names[-1] == "recovery 1: (go table) | drive"


def test_nothing_left_to_do_ends_the_run_once_the_goal_is_seen(bench):
    bench.executor.happens[5] = nudged(AWAY)
    done = frozenset({Fact("done", ())})
    state = bench.start
    bench.answers = [Continuation((), (), state, None, (done,), NOTHING_LEFT)]
    assert bench.run() is None
    assert bench.loop.facts == done
    assert bench.loop.recoveries[0].how == NOTHING_LEFT


def test_a_missing_goal_about_which_nothing_can_be_done_is_left_to_validation(bench):
    """Asked once, not again and again; what is missing is for whoever judges the run to say."""
    bench.missing = [("it does not hold",)] * 1000
    state = bench.start
    nothing = Continuation((), (), state, None, (FACTS[0],), NOTHING_LEFT)
    bench.answers = [nothing] * 1000
    assert bench.run() is None
    assert len(bench.replanned) == len(bench.loop.recoveries) == 1
    assert [d.kind for d in bench.loop.recoveries[0].noticed] == ["goal"]


def test_a_world_that_never_does_as_planned_is_given_up(bench):
    bench.executor.happens = {k: nudged(AWAY) for k in range(100)}
    failure = bench.run()
    assert isinstance(failure, Failure)
    assert failure.kind == FailureKind.BUDGET
    assert failure.objects == ("block",)
    assert failure.numbers["recoveries"] == THRESHOLDS.recoveries
    assert "block is" in failure.message
    assert len(bench.replanned) == THRESHOLDS.recoveries
    assert len(bench.executor.names) == THRESHOLDS.recoveries + 1
    assert bench.executor.waited[-1] == REST, "what was let go comes to rest all the same"


def test_where_no_plan_is_found_the_run_ends_with_that_reason(bench):
    bench.executor.happens[1] = nudged(AWAY)
    why = Failure(FailureKind.UNREACHABLE, "the block is out of reach", ("block",), {})
    bench.answers = [why]
    failure = bench.run()
    assert isinstance(failure, Failure)
    assert (failure.kind, failure.message, failure.objects) == (why.kind, why.message, why.objects)
    assert "mm from where it was thought to be" in failure.step[0]
    assert len(bench.executor.names) == 2, "nothing more was done"
    assert bench.loop.recoveries[0].how == "failed"
    assert bench.loop.recoveries[0].plan == ()


def test_where_no_trajectory_is_found_the_run_ends_with_that_reason(bench):
    bench.executor.happens[1] = nudged(AWAY)
    bench.finish = Failure(FailureKind.BLOCKED, "no way round the table", ("table",), {})
    failure = bench.run()
    assert isinstance(failure, Failure)
    assert failure.kind == FailureKind.BLOCKED
    assert len(bench.executor.names) == 2
    assert bench.loop.recoveries[0].how == "failed"


def test_a_recovery_is_reported_in_plain_data(bench):
    bench.executor.happens[0] = nudged(AWAY)
    bench.run()
    told = bench.loop.recoveries[0].as_json()
    assert told["motion"] == "(go table) | drive"
    assert told["how"] == "resumed"
    (noticed,) = told["noticed"]
    assert (noticed["kind"], noticed["name"], noticed["unit"]) == ("moved", "block", "m")
    assert noticed["amount"] == pytest.approx(0.03)
    assert "30.0 mm" in noticed["what"]


# -- releases -------------------------------------------------------------------------------------


def test_a_release_is_recorded_with_how_far_it_missed(bench):
    bench.executor.happens[5] = nudged((0.0, 0.002, 0.0))
    assert bench.run() is None
    (release,) = bench.loop.releases
    assert release.item == "block"
    assert release.off == pytest.approx(0.002)
    assert release.turned == pytest.approx(0.0, abs=1e-6)
    assert release.time == pytest.approx(sum(m.trajectory.duration for m in bench.motions))


def test_an_item_that_sticks_to_the_fingers_is_no_release(bench):
    before = []

    def keep(state):
        before.append(state.items[0])
        return state

    def sticks(state):
        return state.with_item(0, before[-1])

    bench.executor.happens[4] = keep
    bench.executor.happens[5] = sticks
    bench.answers = [Failure(FailureKind.BUDGET, "enough", (), {})]
    assert isinstance(bench.run(), Failure)
    assert bench.loop.releases == []
    assert kinds(bench.loop.recoveries[0]) == ["held"]
