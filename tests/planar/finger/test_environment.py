"""The Gymnasium environment: its tasks, judged by hand."""

import copy

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from galley.planar.finger import Finger
from galley.planar.finger.environment import ID, MASSES, PERIOD, TASKS, FingerEnv


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


def test_a_force_that_is_held_for_half_a_second_presses():
    env = FingerEnv("press")
    env.reset(seed=0, options={"finger": Finger(gap=0.0, static_friction=2.0), "goal": 1.0})
    steps = [env.step(np.array([1.0], dtype=np.float32)) for _ in range(10)]
    assert [step[2] for step in steps] == [False] * 9 + [True]
    env.reset(seed=0, options={"finger": Finger(gap=0.0, static_friction=2.0), "goal": 1.0})
    assert not any(env.step(np.array([1.1], dtype=np.float32))[2] for _ in range(20))


def test_an_object_that_rests_at_its_goal_was_pushed():
    finger = Finger(gap=0.01, static_friction=0.5, kinetic_friction=0.4, restitution=0.0)
    env = FingerEnv("push")
    env.reset(seed=0, options={"finger": finger, "goal": 0.1})
    ended, steps = False, 0
    while not ended and steps < 200:
        force = 0.7 if env._run.x_o < 0.07 else -0.2
        _, _, ended, _, info = env.step(np.array([force], dtype=np.float32))
        steps += 1
    assert info["success"]
    assert info["object_position"] == pytest.approx(0.1, abs=0.05)


def test_what_is_told_is_judged():
    for mass, told, reward in ((MASSES[0], -1, 1), (MASSES[0], 1, -1), (MASSES[1], 1, 1)):
        env = FingerEnv("tell")
        env.reset(seed=0, options={"finger": Finger(object_mass=mass)})
        _, got, ended, _, info = env.step(np.array([0.0, told], dtype=np.float32))
        assert (got, ended, info["success"]) == (reward, True, reward > 0)
    assert not env.step(np.array([0.0, 0.4], dtype=np.float32))[2]


def test_the_reward_is_how_much_nearer_the_object_came():
    env = FingerEnv("push")
    env.reset(seed=0, options={"finger": Finger(gap=0.2), "goal": 5.0})
    total = sum(env.step(np.array([3.0], dtype=np.float32))[1] for _ in range(60))
    moved = env.step(np.zeros(1, dtype=np.float32))
    assert 0.0 < total < 4.8
    assert total + moved[1] == pytest.approx(moved[4]["object_position"] - 0.2)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: FingerEnv("lift"), "lift"),
        (lambda: FingerEnv(noise=-1.0), "-1"),
        (lambda: FingerEnv(noise=float("nan")), "nan"),
        (lambda: FingerEnv(render_mode="human"), "render_mode = 'human'"),
        (lambda: FingerEnv().reset(options={"gaol": 1.0}), "gaol"),
    ],
)
def test_bad_arguments_are_named(make, named):
    with pytest.raises(ValueError, match=named):
        make()


@pytest.mark.parametrize("action", [[float("nan")], [1.0, 2.0], 0.0])
def test_bad_actions_are_refused(action):
    env = FingerEnv("push")
    env.reset(seed=0)
    with pytest.raises(ValueError, match="action"):
        env.step(np.array(action))
