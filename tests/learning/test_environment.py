"""The kitchen as an environment: against runs of the planner, Gymnasium and the validator."""

import warnings
from dataclasses import replace
from functools import partial

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import galley
import galley.gym
from galley.domain.errors import BadInput
from galley.execution.disturbance.noise import parse_noise
from galley.learning.collection.kitchen import KitchenDemonstrator, Recording
from galley.learning.environment import KitchenEnv
from galley.validation import validate_run

SUGAR = "sugar_only.pddl"
make = partial(gymnasium.make, "galley/Kitchen-v0", problem=SUGAR)


@pytest.fixture(scope="module")
def env():
    made = make(render_mode="rgb_array")
    yield made
    made.close()


def rolled(env, actions, seed):
    """The observations of an episode of given actions, and the last step's info."""
    seen, info = env.reset(seed=seed)
    found = [seen]
    for action in actions:
        seen, reward, done, late, info = env.step(action)
        assert reward == done == info["is_success"]
        assert not late
        found.append(seen)
        if done:
            break
    return found, info


@pytest.mark.parametrize(
    ("problem", "actions"),
    [
        (SUGAR, "joints"),
        pytest.param("desk.pddl", "joints", marks=pytest.mark.slow),
        # Five joints: hand poses leave an arm of seven its elbow, which may go another way.
        pytest.param("desk.pddl", "hand", marks=pytest.mark.slow),
    ],
)
def test_what_a_planner_commanded_does_the_same_again(problem, actions):
    """In the world of the same seed, with its noise: it picks and places, by force and friction."""
    run = KitchenDemonstrator(
        galley.load(problem=problem), noise=parse_noise("low"), recording=Recording(actions=actions)
    )
    episode = run(1)
    assert episode.success
    env = make(problem=problem, noise="low", actions=actions, max_episode_steps=9999)
    found, info = rolled(env, episode.actions, seed=1)
    assert info["is_success"]
    assert info["goal"] == 1.0
    names = set(found[0])
    assert names == set(episode.observations) - {"symbolic_action"}
    for name in names:
        np.testing.assert_array_equal(found[0][name], episode.observations[name][0])
    rows = np.array([each["hand_pose"] for each in found])
    apart = np.abs(rows - episode.observations["hand_pose"][: len(rows)])[:, :3].max(axis=1)
    assert (
        np.percentile(apart, 90) < 0.02
    )  # m; the hand is driven by joints, or where they brought it
    held = np.array([each["held"][0] for each in found])
    assert set(held) == set(episode.observations["held"][:, 0])
    verdict = validate_run(env.unwrapped.task.scene, env.unwrapped.log())
    assert verdict.max_penetration_m < 0.002
    env.close()


def test_gymnasiums_checker_accepts_it(env):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of bounds that are infinite, or not from -1 to 1
        check_env(env.unwrapped, skip_render_check=False)
    env.reset(seed=0)
    assert env.render().shape == (480, 480, 3)
    assert env.spec.max_episode_steps == 2000


def test_the_same_seed_and_actions_give_the_same_to_the_last_bit(env):
    actions = np.random.default_rng(0).uniform(*env.unwrapped._bounds, (5, 11))
    one, other = (rolled(env, actions, seed=4)[0] for _ in range(2))
    for a, b in zip(one, other, strict=True):
        assert a.keys() == b.keys()
        assert all((a[name] == b[name]).all() for name in a)


def test_noise_moves_what_stands_by_the_seed():
    env = make(noise="moderate")
    places = [env.reset(seed=seed)[0]["item_sugar_box"] for seed in (1, 1, 2)]
    assert (places[0] == places[1]).all()
    assert 1e-4 < np.abs(places[0] - places[2])[:2].max() < 0.05  # m
    env.close()


def test_a_command_is_reached_as_fast_as_the_joints_can(env):
    seen, _ = env.reset(seed=0)
    target = np.append(seen["state"][:-1], 0.06)
    target[0] -= 0.3  # m
    target[5] += 0.5  # rad
    steps = [env.step(target)[0]["state"] for _ in range(30)]
    for joint, speed in ((0, 0.6), (5, 2.175)):  # m/s and rad/s of the robot file
        gone = abs(steps[3][joint] - seen["state"][joint])  # after 0.2 s
        assert 0.7 * 0.2 * speed < gone < 1.1 * 0.2 * speed
    np.testing.assert_allclose(steps[-1], target, atol=2e-3)


def test_the_hand_comes_to_the_commanded_pose_in_the_base():
    env = make(actions="hand")
    seen, _ = env.reset(seed=0)
    pose = np.append(seen["hand_pose"][:3] + np.array([0.05, -0.08, 0.1]), seen["hand_pose"][3:])
    for _ in range(40):
        seen, *_ = env.step(np.concatenate([seen["base"], pose, [0.04]]))
    np.testing.assert_allclose(seen["hand_pose"], pose, atol=2e-3)
    far = np.append(
        pose[:3] + np.array([5.0, 0.0, 0.0]), pose[3:]
    )  # out of reach: as near as it can
    for _ in range(40):
        seen, *_ = env.step(np.concatenate([seen["base"], far, [0.04]]))
    assert seen["hand_pose"][0] > pose[0]
    assert np.isfinite(seen["state"]).all()
    env.close()


def test_reset_changes_the_task_where_shapes_stay(env):
    _, info = env.reset(options={"problem": "task.pddl"})
    assert "spam" in info["task"]
    assert len(info["facts"]) == 2
    for _ in range(2):  # the second time, too
        with pytest.raises(ValueError, match="another shape"):
            env.reset(options={"problem": "desk.pddl"})
    with pytest.raises(ValueError, match="closed: call reset"):
        env.step(env.action_space.sample())
    with pytest.raises(ValueError, match="must be problem, scene or robot"):
        env.reset(options={"goal": "(on sugar burner)"})
    _, info = env.reset()
    assert info["task"] == "(on sugar countertop)"


def test_what_is_in_the_hand_decides_facts_without_geometry(env):
    """(empty h1) and (grasp sugar): by the effects of actions, and by the fingers."""
    task = env.unwrapped.task
    assert "(empty h1)" in {str(fact) for fact in task.problem.init}
    goal = galley.load(problem=SUGAR, goal="(and (empty h1) (grasp sugar))")
    env.reset(seed=0)
    env.unwrapped.task = replace(task, problem=goal.problem)
    facts = env.unwrapped._facts()
    assert {str(each.fact): each.holds for each in facts} == {
        "(empty h1)": True,
        "(grasp sugar)": False,
    }
    env.unwrapped.task = task


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"rate": 7}, BadInput, "does not divide the 120"),
        ({"actions": "feet"}, BadInput, "'feet' is neither joints nor hand"),
        ({"cameras": ("back",)}, BadInput, "'back' is not one of front"),
        ({"noise": "loud"}, BadInput, "loud"),
        ({"render_mode": "human"}, ValueError, "must be rgb_array or None"),
        ({"problem": "no.pddl"}, BadInput, "no.pddl"),
        ({"problem": "two_arms.pddl"}, BadInput, "robots with one hand"),
    ],
    ids=str,
)
def test_a_bad_argument_is_named(given, error, said):
    with pytest.raises(error, match=said):
        KitchenEnv(**{"problem": SUGAR, **given})


@pytest.mark.parametrize("action", [np.zeros(10), np.full(11, np.nan), "up"], ids=str)
def test_a_bad_action_is_refused(env, action):
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"must be \(11,\) finite numbers"):
        env.unwrapped.step(action)
