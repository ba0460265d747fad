"""A run as an episode, against the log of the run itself."""

from dataclasses import replace

import numpy as np
import pytest

import galley
from galley.domain.errors import BadInput
from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import from_pose7, rotation_z, transform
from galley.domain.shipped import SCENARIOS
from galley.learning.collection.kitchen import KitchenDemonstrator, Recording, episode_of
from galley.learning.demonstrations import NoEpisode, collect, read_folder
from galley.robots.catalog import robot_of
from galley.robots.urdf_reader import read_tree
from galley.tests.digests import digests
from galley.viz.film.pictures import drawer

RATE = 10  # Hz


@pytest.fixture(scope="module")
def task():
    return galley.load(problem="sugar_only.pddl")


@pytest.fixture(scope="module")
def run(task):
    return galley.execute(galley.solve(task, seed=3, optimize="none"), executor="kinematic")


@pytest.fixture(scope="module")
def episode(run):
    return episode_of(run, Recording(RATE))


def at(log, times):
    """Indices of the samples nearest to times."""
    return np.abs(log.time[:, None] - times).argmin(axis=0)


def test_steps_are_the_logs_samples_at_their_times(run, episode, task):
    log, seen = run.log, episode.observations
    np.testing.assert_allclose(episode.times, np.arange(len(episode)) / RATE, atol=1e-9)
    assert log.duration - 1 / RATE < episode.times[-1] <= log.duration
    k = at(log, episode.times)
    np.testing.assert_array_equal(seen["base"], log.q[k, :3])
    np.testing.assert_array_equal(seen["joints"], log.q[k, 3:10])
    np.testing.assert_allclose(seen["gripper"][:, 0], log.q[k, 10] + log.q[k, 11])
    np.testing.assert_array_equal(seen["scene_joints"], log.scene_q[k])
    for index, item in enumerate(task.scene.items):
        pose, logged = seen[f"item_{item.name}"], log.items[k, index]
        np.testing.assert_array_equal(pose[:, :3], logged[:, :3])
        np.testing.assert_array_equal(np.abs((pose * logged)[:, 3:].sum(axis=1)) > 1 - 1e-9, True)
        assert episode.metadata["items"][index] == item.name


def test_a_meaning_begins_with_the_names_of_its_components(task, episode):
    meanings = KitchenDemonstrator(task).collection.arrays
    widths = {name: each.shape[1] for name, each in episode.arrays.items() if each.shape[1:] > (1,)}
    assert len(widths) > 5
    for name, width in widths.items():
        assert len(meanings[name].partition(" (")[0].split(", ")) == width, name


def test_an_orientation_never_jumps_to_its_other_sign(run):
    angle = np.linspace(0.0, 14.0, len(run.log.time))  # rad, about z: more than two turns
    turning = np.zeros((len(angle), 4))
    turning[:, 2], turning[:, 3] = np.sin(angle / 2), np.cos(angle / 2)
    items = run.log.items.copy()
    items[:, 0, 3:] = np.where(turning[:, 3:] < 0, -turning, turning)  # as executors log it
    episode = episode_of(replace(run, log=replace(run.log, items=items)), Recording(RATE))
    seen = episode.observations[f"item_{run.solution.task.scene.items[0].name}"]
    np.testing.assert_array_equal(seen[:, 3:], turning[at(run.log, episode.times)])


def test_velocities_are_slopes_of_the_positions(run, episode):
    log, seen = run.log, episode.observations
    k = at(log, episode.times)[1:-1]
    slope = (log.q[k + 1] - log.q[k - 1]) / (2 * log.period)
    # Where a motion begins or ends, the slope is of both: half-way between.
    smooth = (log.motion[k - 1] == log.motion[k + 1])[:, None]
    for name, columns in (("base", slice(0, 3)), ("joints", slice(3, 10))):
        off = np.abs(slope[:, columns] - seen[f"{name}_velocity"][1:-1]) * smooth
        assert np.median(off.max(axis=1)) < 1e-3
        assert off.max() < 0.05
    assert np.abs(seen["base_velocity"]).max() > 0.1
    closing = slope[:, 10:].sum(axis=1, keepdims=True) - seen["gripper_velocity"][1:-1]
    np.testing.assert_allclose(closing * smooth, 0.0, atol=0.03)


def gripping(state, held, actions):
    """States (T, n) with an opening of 0 where the fingers close, or hold, as actions have it."""
    closed, holds = actions[:, -1] == 0.0, held[:, 0] >= 0
    assert holds.any()
    assert closed[holds][:-1].all()
    assert not closed[: np.flatnonzero(holds)[0] - RATE].any()
    assert not closed[np.flatnonzero(holds)[-1] + 2 :].any()
    return np.column_stack([state[:, :-1], np.where(closed, 0.0, state[:, -1])])


def test_an_action_leads_to_the_next_step(episode):
    seen = episode.observations
    state = np.concatenate([seen["base"], seen["joints"], seen["gripper"]], axis=1)
    np.testing.assert_array_equal(seen["state"], state)
    wanted = gripping(state[1:], seen["held"][1:], episode.actions[:-1])
    np.testing.assert_allclose(episode.actions[:-1], wanted, atol=1e-12)
    assert np.abs(episode.actions[:-1] - state[:-1]).max() > 0.01


def test_the_hand_is_where_its_joints_put_it_and_can_be_what_is_commanded(run, episode, task):
    """By the forward kinematics of the robot's URDF, from the world into the base."""
    robot, log = robot_of(task.scene.robot), run.log
    tree = read_tree(robot.urdf, robot.joints)
    for k, hand in zip(at(log, episode.times), episode.observations["hand_pose"], strict=True):
        x, y, heading = log.q[k, :3]
        X_WB = transform(rotation_z(heading), (x, y, 0.0))
        X_WT = tree.link_pose(robot.palm, log.q[k]) @ transform(None, robot.p_HT)
        np.testing.assert_allclose(X_WB @ from_pose7(hand), X_WT, atol=1e-9)
    commanded = episode_of(run, Recording(RATE, actions="hand"))
    seen = commanded.observations
    state = np.concatenate([seen["base"], seen["hand_pose"], seen["gripper"]], axis=1)
    wanted = gripping(state[1:], seen["held"][1:], commanded.actions[:-1])
    np.testing.assert_allclose(commanded.actions[:-1], wanted, atol=1e-9)
    hands = KitchenDemonstrator(task, recording=Recording(actions="hand")).collection.arrays
    assert len(hands["action"].partition(" (")[0].split(", ")) == commanded.actions.shape[1]


def test_the_symbolic_action_is_the_one_under_way(run, episode):
    texts = episode.metadata["symbolic_action"]
    assert [f"({text})" for text in texts] == [str(action) for action in run.solution.plan]
    lines = run.log.motions[run.log.motion[at(run.log, episode.times)]]
    for line, (which,) in zip(lines, episode.observations["symbolic_action"], strict=True):
        assert f"({texts[which]})" in line


def test_what_is_held_rises_from_the_burner(episode, task):
    held = episode.observations["held"][:, 0]
    assert set(held) == {-1, episode.metadata["items"].index("sugar_box")}
    height = episode.observations["item_sugar_box"][:, 2]
    assert (height[held >= 0] >= height[0] - 1e-9).all()
    before = np.flatnonzero(held >= 0)[0]
    assert np.ptp(height[:before]) < 1e-9


def test_success_and_seed_are_those_of_the_run(run, episode):
    assert galley.judge(run).goal_reached
    assert (episode.success, episode.seed) == (True, 3)
    assert "failure" not in episode.metadata
    assert episode.metadata["task"] == "(on sugar countertop)"
    aborted = replace(run, aborted=Failure(FailureKind.BUDGET, "searched for 0.123 s"))
    failed = episode_of(aborted, Recording(RATE))
    assert failed.success is False
    assert failed.metadata["failure"] == FailureKind.BUDGET.value  # no time that differs by run
    np.testing.assert_array_equal(failed.actions, episode.actions)


def test_a_recoverys_actions_are_those_that_it_plans(run):
    motions = [f"recovery 1: {line}" if k > 3 else line for k, line in enumerate(run.log.motions)]
    again = replace(run, log=replace(run.log, motions=np.array(motions)))
    plain, recovered = (episode_of(each, Recording(RATE)) for each in (run, again))
    assert recovered.metadata["symbolic_action"] == plain.metadata["symbolic_action"]
    np.testing.assert_array_equal(
        recovered.observations["symbolic_action"], plain.observations["symbolic_action"]
    )


@pytest.mark.parametrize(("cameras", "size"), [(("front", "hand"), 96), (("top",), 480)])
def test_pictures_have_their_size_and_change(cameras, size, run):
    filmed = episode_of(run, Recording(1, cameras, size))
    for camera in cameras:
        images = filmed.observations[camera]
        assert images.shape == (len(filmed), size, size, 3)
        assert images.dtype == np.uint8
        assert images.std() > 20
        assert (images[0] != images[-1]).any(axis=-1).mean() > 0.01
    assert set(filmed.arrays) - set(cameras) == set(episode_of(run, Recording(1)).arrays)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"rate": 50}, "50 does not divide the 120 samples a second: 1, 2"),
        ({"cameras": ("nose",)}, "'nose' is not one of front, top, hand"),
        ({"cameras": ("top", "top")}, "each of them once"),
        ({"size": 95}, "95: a picture has 96 to 480"),
    ],
    ids=str,
)
def test_a_bad_recording_is_refused(fields, message):
    with pytest.raises(BadInput, match=message):
        Recording(**fields)
    with pytest.raises(ValueError, match="no camera 'nose'"):
        drawer("nose", 96, None, None)


def test_without_a_plan_there_is_no_episode():
    task = galley.load(domain="drawers.pddl", problem=SCENARIOS / "too_tall.pddl")
    with pytest.raises(NoEpisode, match=r"no plan: .* is 0\.175 m high"):
        KitchenDemonstrator(task, "kinematic", optimize="none")(0)


def test_settings_are_all_that_an_episode_depends_on(task):
    from galley.execution.disturbance.noise import MODERATE

    one = KitchenDemonstrator(task)
    others = [
        replace(one, task=galley.load(problem="task.pddl")),
        replace(one, executor="kinematic"),
        replace(one, noise=MODERATE),
        replace(one, optimize="none"),
        replace(one, recording=Recording(10)),
        replace(one, recording=Recording(cameras=("hand",))),
        replace(one, recording=Recording(cameras=("hand",), size=128)),
    ]
    settings = [each.collection.settings for each in (one, *others)]
    assert all(settings.count(each) == 1 for each in settings)
    assert one.collection == replace(one).collection


@pytest.mark.slow
def test_bytes_depend_neither_on_workers_nor_on_the_process(task, tmp_path):
    run = KitchenDemonstrator(task, "physics", recording=Recording(10, ("hand",)))
    for workers in (1, 2):
        assert collect(run, range(2), run.collection, tmp_path / str(workers), workers) == {}
    assert digests(tmp_path / "1") == digests(tmp_path / "2")
    assert [info.success for info in read_folder(tmp_path / "1").infos] == [True, True]
