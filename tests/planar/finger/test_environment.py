"""The Gymnasium environment, and hand-made policies that solve its tasks."""

import copy

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import TimeLimit

from galley.planar.finger import Finger
from galley.planar.finger.environment import ID, MASSES, PERIOD, TASKS, FingerEnv
from galley.planar.finger.policies import make_policy


def played(task, seed, noise=0.0, env=None):
    """The last info of an episode of the hand-made policy, and the seconds that it took."""
    env = TimeLimit(env or FingerEnv(task, noise), round(30.0 / PERIOD))
    observation, _ = env.reset(seed=seed)
    policy, over, steps = make_policy(task, noise), False, 0
    while not over:
        observation, _, ended, late, info = env.step(policy(observation))
        over, steps = ended or late, steps + 1
    return info, steps * PERIOD


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.filterwarnings("ignore:.*(minimum|maximum) value is -?infinity.*")
@pytest.mark.filterwarnings("ignore:.*We recommend.*normalized.*")
def test_gymnasium_accepts_it(task):
    check_env(gymnasium.make("galley/Finger-v0", task=task).unwrapped)


@pytest.mark.parametrize("task", TASKS)
def test_an_episode_ends_after_30_seconds_and_a_copy_goes_on_alike(task):
    env = gymnasium.make(ID, task=task, noise=0.1)
    env.reset(seed=2)
    count, push = round(30.0 / PERIOD), np.full(env.action_space.shape, 0.4, dtype=np.float32)
    steps = [env.step(push) for _ in range(20)]
    copied = copy.deepcopy(env)
    steps += [env.step(push * (-1) ** (k // 40)) for k in range(20, count)]
    assert [step[3] for step in steps] == [False] * (count - 1) + [True]
    again = [copied.step(push * (-1) ** (k // 40)) for k in range(20, count)]
    assert np.array_equal([step[0] for step in again], [step[0] for step in steps[20:]])
    assert again[-1][3]


def test_a_picture_shows_finger_and_object_where_they_are():
    env = FingerEnv(render_mode="rgb_array")
    assert FingerEnv().render() is None
    env.reset(seed=0, options={"finger": Finger(gap=0.5), "goal": 2.0})
    picture = env.render()
    for x, row, color in (
        (-0.1, 40, (27, 108, 168)), (0.2, 40, (255, 255, 255)),
        (0.6, 40, (138, 90, 43)), (2.0, 40, (205, 232, 205)),
    ):  # fmt: skip
        assert tuple(picture[row, round((x + 1.0) * 96)]) == color
    with pytest.raises(ValueError, match="render_mode = 'human'"):
        FingerEnv(render_mode="human")


@pytest.mark.parametrize("task", TASKS)
def test_policies_succeed(task):
    assert all(played(task, seed)[0]["success"] for seed in range(4))


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_policies_succeed_in_95_of_100_worlds(task):
    assert sum(played(task, seed, 0.02)[0]["success"] for seed in range(100)) >= 95


def test_a_policy_without_touch_fails():
    """Pushing needs the sensor: the same policy can't move what it doesn't feel."""

    class Numb(FingerEnv):
        def _observation(self):
            observation = super()._observation()
            observation[2] = 0.0
            return observation

    assert not any(played("push", seed, env=Numb("push"))[0]["success"] for seed in range(2))


def test_what_is_told_is_judged():
    for mass, told, reward in ((MASSES[0], -1, 1), (MASSES[0], 1, -1), (MASSES[1], 1, 1)):
        env = FingerEnv("tell")
        env.reset(seed=0, options={"finger": Finger(object_mass=mass)})
        _, got, ended, _, info = env.step(np.array([0.0, told], dtype=np.float32))
        assert (got, ended, info["success"]) == (reward, True, reward > 0)
    assert not env.step(np.array([0.0, 0.4], dtype=np.float32))[2]


def test_worlds_come_from_the_seed_alone():
    runs = []
    for seed in (3, 3, 4):
        env = FingerEnv("push", noise=0.1)
        first, info = env.reset(seed=seed)
        steps = [env.step(env.action_space.high)[0] for _ in range(40)]
        runs.append((info["finger"], np.stack([first, *steps])))
    assert runs[0][0] == runs[1][0] != runs[2][0]
    assert np.array_equal(runs[0][1], runs[1][1])


def test_the_reward_is_how_much_nearer_the_object_came():
    env = FingerEnv("push")
    env.reset(seed=0, options={"finger": Finger(gap=0.2), "goal": 5.0})
    total = sum(env.step(np.array([3.0], dtype=np.float32))[1] for _ in range(60))
    moved = env.step(np.zeros(1, dtype=np.float32))
    assert 0.0 < total < 4.8
    assert total + moved[1] == pytest.approx(moved[4]["object_position"] - 0.2)


@pytest.mark.parametrize(
    ("options", "named"),
    [({"task": "lift"}, "lift"), ({"noise": -1.0}, "-1"), ({"noise": float("nan")}, "nan")],
)
def test_bad_arguments_are_named(options, named):
    with pytest.raises(ValueError, match=named):
        FingerEnv(**options)


def test_a_misspelt_option_or_task_is_named():
    with pytest.raises(ValueError, match="gaol"):
        FingerEnv().reset(options={"gaol": 1.0})
    with pytest.raises(ValueError, match="lift"):
        make_policy("lift")


@pytest.mark.parametrize("action", [[float("nan")], [1.0, 2.0], 0.0])
def test_bad_actions_are_refused(action):
    env = FingerEnv("push")
    env.reset(seed=0)
    with pytest.raises(ValueError, match="action"):
        env.step(np.array(action))
