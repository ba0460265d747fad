"""Pushing under Gymnasium's interfaces."""

import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from numpy.testing import assert_allclose, assert_array_equal

from galley.pushing.config import PushConfig
from galley.pushing.environment import ID, OBSERVATIONS, STEPS, SUCCESS, PushEnv, PushVectorEnv
from galley.pushing.shapes import shape

GOAL = (0.03, 0.03, *PushConfig().goal)


@pytest.mark.parametrize("observation", OBSERVATIONS)
@pytest.mark.filterwarnings("ignore:.*We recommend.*normalized.*")
def test_gymnasium_accepts_it(observation, monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    check_env(gymnasium.make(ID, observation=observation).unwrapped)


def test_one_import_makes_it():
    name = f"galley.pushing.environment:{ID}"
    code = f"import gymnasium; gymnasium.make({name!r}).reset(seed=1)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_seed_gives_the_same_episode():
    runs = []
    for _ in range(2):
        env = PushEnv()
        seen = [env.reset(seed=4)[0]]
        env.action_space.seed(5)
        seen += [env.step(env.action_space.sample())[0] for _ in range(50)]
        runs.append(np.array(seen))
    assert_allclose(*runs, rtol=0, atol=0)
    assert not np.allclose(runs[0][0], PushEnv().reset(seed=5)[0])


def test_observations_are_those_of_the_simulation():
    state, points = PushEnv(), PushEnv("keypoints")
    there = (0.1, 0.2, 0.3, 0.25, 7.0)
    seen, _ = state.reset(options={"state": there})
    assert_allclose(seen, [0.1, 0.2, 0.3, 0.25, 7.0 - 2.0 * np.pi])
    seen, _ = points.reset(options={"state": there})
    body = shape("T")
    about = body.vertices - body.mass_properties(1.0).centroid
    c, s = np.cos(7.0), np.sin(7.0)
    corners = [(0.3 + c * x - s * y, 0.25 + s * x + c * y) for x, y in about]
    assert_allclose(seen, [*np.ravel(corners), 0.1, 0.2])


def test_pixels_are_those_of_the_state_and_keep_still():
    env = PushEnv("pixels_state", resolution=64)
    seen, _ = env.reset(options={"state": (0.1, 0.2, 0.3, 0.25, 7.0)})
    before = seen["pixels"].copy()
    assert_allclose(seen["agent_pos"], (0.1, 0.2))
    assert_array_equal(seen["pixels"], env._table.painter.observe(env.state)[0])
    assert seen["pixels"].shape == (64, 64, 3)
    after = env.step(np.array([0.4, 0.2], dtype=np.float32))[0]
    assert_array_equal(seen["pixels"], before)  # an observation is the caller's
    assert_allclose(seen["agent_pos"], (0.1, 0.2))
    assert (after["pixels"] != before).any()


def test_rendering_shows_each_step(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    pygame = pytest.importorskip("pygame")
    assert PushEnv().render() is None
    env = PushEnv(render_mode="rgb_array")
    env.reset(options={"state": (0.1, 0.2, 0.3, 0.25, 7.0)})
    picture = env.render()
    assert picture.shape == (512, 512, 3)
    assert tuple(picture[200, 100]) == (78, 126, 255)  # the pusher, where it is
    many = PushVectorEnv(3, render_mode="rgb_array")
    many.reset(options={"state": (0.1, 0.2, 0.3, 0.25, 7.0)})
    assert_array_equal(many.render(), [picture] * 3)
    shown = PushEnv(render_mode="human", config=PushConfig(dt=0.001))
    assert shown.metadata["render_fps"] == 100
    shown.reset(options={"state": (0.1, 0.2, 0.3, 0.25, 7.0)})
    on_screen = pygame.surfarray.array3d(pygame.display.get_surface()).swapaxes(0, 1)
    assert_array_equal(on_screen, picture)
    shown.close()
    assert not pygame.display.get_init()
    shown.close()


def test_on_the_goal_it_succeeds_with_full_reward():
    env = PushEnv()
    env.reset(options={"state": GOAL})
    _, reward, terminated, truncated, info = env.step(np.array([0.03, 0.03], dtype=np.float32))
    assert (reward, terminated, truncated) == (1.0, True, False)
    assert info["is_success"]
    assert info["coverage"] == pytest.approx(1.0)


def test_beside_the_goal_the_reward_is_the_share_covered():
    env = PushEnv()
    _, info = env.reset(options={"state": (0.03, 0.03, 0.26, 0.25, 0.6)})
    _, reward, terminated, _, after = env.step(np.array([0.03, 0.03], dtype=np.float32))
    assert 0.1 < info["coverage"] < SUCCESS
    assert not terminated
    assert reward == pytest.approx(after["coverage"] / SUCCESS)


def test_an_episode_is_truncated():
    env = PushEnv()
    env.reset(options={"state": (0.03, 0.03, 0.3, 0.3, 0.0)})
    ends = [env.step(np.array([0.03, 0.03], dtype=np.float32))[2:4] for _ in range(STEPS)]
    assert ends == [(False, False)] * (STEPS - 1) + [(False, True)]


@pytest.mark.parametrize("observation", OBSERVATIONS)
def test_a_vector_plays_the_same_episodes_as_single_environments(observation):
    def same(found, alone):
        for name in found if isinstance(found, dict) else [...]:
            each = np.array([seen[name] for seen in alone])
            tolerance = 1 if each.dtype == np.uint8 else 1e-15
            assert found[name].dtype == each.dtype
            assert_allclose(found[name].astype(float), each.astype(float), rtol=0, atol=tolerance)

    many = gymnasium.make_vec(ID, num_envs=6, observation=observation)
    seen, _ = many.reset(seed=2)
    states = np.column_stack([*many.unwrapped.state.pusher, *many.unwrapped.state.body])
    single = [PushEnv(observation) for _ in range(6)]
    same(seen, [e.reset(options={"state": s})[0] for e, s in zip(single, states, strict=True)])
    many.action_space.seed(3)
    for _ in range(40):
        actions = many.action_space.sample()
        seen, rewards, ended, late, info = many.step(actions)
        steps = [env.step(action) for env, action in zip(single, actions, strict=True)]
        same(seen, [step[0] for step in steps])
        assert_allclose(rewards, [step[1] for step in steps], rtol=1e-15)
        assert_allclose(info["coverage"], [step[4]["coverage"] for step in steps], rtol=0)
        assert not (ended | late).any()


def test_a_table_that_is_done_is_reset_in_the_next_step():
    many = PushVectorEnv(num_envs=2)
    many.reset(seed=1, options={"state": [GOAL, (0.03, 0.03, 0.3, 0.3, 0.0)]})
    stay = np.full((2, 2), 0.03, dtype=np.float32)
    _, reward, ended, late, _ = many.step(stay)
    assert ended.tolist() == [True, False]
    assert not late.any()
    seen, reward, ended, late, _ = many.step(stay)
    assert reward[0] == 0.0
    assert not ended.any()
    assert not np.allclose(seen[0, 2:], GOAL[2:])  # somewhere else
    assert_allclose(seen[1, 2:], (0.3, 0.3, 0.0))
    for _ in range(STEPS - 3):
        assert not many.step(stay)[3].any()
    assert many.step(stay)[3].tolist() == [False, True]  # the other began two steps later


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: PushEnv("touch"), "observation = 'touch'"),
        (lambda: PushEnv(render_mode="ansi"), "render_mode = 'ansi'"),
        (lambda: PushVectorEnv(render_mode="human"), "render_mode = 'human'"),
        (lambda: PushEnv("pixels", resolution=0), "0 x 0 pixels"),
        (lambda: PushVectorEnv(0), "num_envs = 0"),
        (lambda: PushEnv().reset(options={"goal": 1}), "options"),
        (lambda: PushEnv().reset(options={"state": (1, 2)}), "5 finite numbers"),
        (lambda: PushEnv().reset(options={"state": (9, 9, 0.2, 0.2, 0)}), "on the table"),
    ],
    ids=[
        "observation",
        "rendering",
        "vector rendering",
        "size",
        "number",
        "option",
        "state",
        "place",
    ],
)
def test_bad_arguments_are_named(make, named):
    with pytest.raises(ValueError, match=named):
        make()


@pytest.mark.parametrize("action", [(np.nan, 0.1), (0.1,), (0.1, 0.1, 0.1), "ab"], ids=str)
def test_bad_actions_are_refused(action):
    env = PushEnv()
    env.reset(seed=0)
    with pytest.raises(ValueError, match="action = "):
        env.step(action)
