"""Pushing under Gymnasium's interfaces."""

import copy

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from numpy.testing import assert_allclose, assert_array_equal

from galley.planar.pushing.config import PushConfig
from galley.planar.pushing.environment import (
    ID,
    OBSERVATIONS,
    STEPS,
    SUCCESS,
    PushEnv,
    PushVectorEnv,
)
from galley.planar.pushing.shapes import shape

GOAL = (0.03, 0.03, *PushConfig().goal)


KINDS = [
    *({"observation": each} for each in OBSERVATIONS),
    *({"observation": each, "action": "joints"} for each in ("state", "pixels_state")),
    *({"compat": "gym-pusht", "observation": each} for each in ("state", "pixels_agent_pos")),
]


@pytest.mark.parametrize("given", KINDS, ids=lambda given: " ".join(given.values()))
@pytest.mark.filterwarnings("ignore:.*We recommend.*normalized.*")
def test_gymnasium_accepts_it(given, no_display):
    check_env(gymnasium.make(ID, **given).unwrapped)


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


@pytest.mark.parametrize("longest", [7, STEPS, STEPS + 40])
def test_an_episode_has_as_many_steps_as_make_is_told(longest):
    more = {} if longest == STEPS else {"max_episode_steps": longest}
    env, many = gymnasium.make(ID, **more), gymnasium.make_vec(ID, 2, **more)
    assert env.spec.max_episode_steps == longest
    start = {"state": (0.03, 0.03, 0.3, 0.3, 0.0)}
    env.reset(options=start)
    many.reset(options=start)
    stay = np.full(2, 0.03, dtype=np.float32)
    ends = [(env.step(stay)[2:4], many.step([stay] * 2)[3].tolist()) for _ in range(longest)]
    assert ends == [((False, False), [False] * 2)] * (longest - 1) + [((False, True), [True] * 2)]


def flat(seen):
    """An observation as numbers, or those of many."""
    parts = [seen[name] for name in sorted(seen)] if isinstance(seen, dict) else [seen]
    return np.concatenate([*map(np.ravel, parts)])


@pytest.mark.parametrize("seed", [2, [9, 4, 4, 2**40]], ids=str)
@pytest.mark.parametrize("observation", OBSERVATIONS)
def test_a_vector_plays_the_episodes_of_single_environments(observation, seed):
    options = {"observation": observation, "max_episode_steps": 25}  # so that each is reset
    many = gymnasium.make_vec(ID, 4, **options)
    single = gymnasium.make_vec(ID, 4, vectorization_mode="sync", **options)
    assert_array_equal(*(flat(env.reset(seed=seed)[0]) for env in (many, single)))
    many.action_space.seed(3)
    for _ in range(60):
        actions = many.action_space.sample()
        steps = [env.step(actions) for env in (many, single)]
        assert_array_equal(*(flat(step[0]) for step in steps))
        assert_array_equal(*(step[1:4] for step in steps))


COPIED = [
    *((gymnasium.make, each) for each in KINDS),
    *((gymnasium.make_vec, {"observation": each, "num_envs": 3}) for each in OBSERVATIONS[::2]),
    (gymnasium.make, {"render_mode": "human"}),
]


@pytest.mark.parametrize(
    ("make", "given"), COPIED, ids=lambda each: getattr(each, "__name__", str(each))
)
def test_a_copy_goes_on_as_the_original_would(make, given, no_display):
    env = make(ID, **given)
    env.reset(seed=1)
    env.action_space.seed(3)
    for _ in range(20):
        env.step(env.action_space.sample())
    copied = copy.deepcopy(env)
    actions = [env.action_space.sample() for _ in range(30)]
    ours = [flat(env.step(action)[0]) for action in actions]
    assert_array_equal([flat(copied.step(action)[0]) for action in actions], ours)
    assert (ours[0] != ours[-1]).any()
    assert_array_equal(*(flat(each.reset()[0]) for each in (env, copied)))
    env.close()
    copied.close()


@pytest.mark.parametrize("compat", [None, "gym-pusht"])
def test_a_motion_that_is_unstable_is_said_when_it_happens(compat):
    config = PushConfig(mass=0.01, contact_stiffness=1e5)
    env = gymnasium.make(ID, config=config, compat=compat)
    seen = env.reset(seed=0)[0]

    def push(env, seen):
        for _ in range(STEPS):
            seen = env.step(seen[..., 2:4].astype(np.float32))[0]

    with pytest.raises(ValueError, match=r"left the table.*dt = 0.01 s is too long.*use 0\.000"):
        push(env, seen)
    many = PushVectorEnv(8, config=config)
    with pytest.raises(ValueError, match="left the table"):
        push(many, many.reset(seed=0)[0])


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


def test_an_easy_level_starts_near_the_goal():
    config = PushConfig(start_away=0.05, start_turned=0.3)
    easy, usual = PushVectorEnv(200, config=config), PushVectorEnv(200)
    off = np.abs(easy.reset(seed=0)[0][:, 2:] - [*config.goal])
    turned = np.minimum(off[:, 2], 2.0 * np.pi - off[:, 2])
    assert off[:, :2].max() <= 0.05
    assert turned.max() <= 0.3
    assert off[:, :2].max() > 0.045  # as far as that, too
    assert turned.max() > 0.28
    assert np.abs(usual.reset(seed=0)[0][:, 2:4] - config.goal[:2]).max() > 0.1
    alone = gymnasium.make(ID, config=config).reset(seed=7)[0]
    assert np.abs(alone[2:4] - config.goal[:2]).max() <= 0.05


@pytest.mark.parametrize("observation", ["state", "pixels_state"])
def test_a_table_that_is_done_can_begin_anew_in_that_step(observation):
    """What it saw last is in the info; the rest is as with resets in the next step."""
    start = {"state": [GOAL, (0.03, 0.03, 0.3, 0.3, 0.0)]}
    stay = np.full((2, 2), 0.03, dtype=np.float32)
    later, same = (
        PushVectorEnv(2, observation, max_episode_steps=3, autoreset_mode=mode)
        for mode in ("NextStep", AutoresetMode.SAME_STEP)
    )
    for each in (later, same):
        each.reset(seed=1, options=start)
    last, *verdict, _ = later.step(stay)
    anew, *told, info = same.step(stay)
    assert_array_equal(told, verdict)
    assert info["_final_obs"].tolist() == [True, False]
    assert info["final_obs"][1] is None
    first = {k: v[0] for k, v in last.items()} if isinstance(last, dict) else last[0]
    assert_array_equal(flat(info["final_obs"][0]), flat(first))
    begun = later.step(stay)[0]  # it begins now
    pick = (lambda seen: seen["agent_pos"]) if isinstance(anew, dict) else (lambda seen: seen)
    assert_array_equal(pick(anew)[0], pick(begun)[0])
    assert not np.allclose(pick(anew)[0], pick(last)[0])
    _, _, ended, late, info = same.step(stay)
    assert not (ended | late).any()
    assert "final_obs" not in info
    assert same.step(stay)[3].tolist() == [False, True]
    assert same.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP
    assert later.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: PushVectorEnv(autoreset_mode="Disabled"), "autoreset_mode = 'Disabled'"),
        (lambda: PushEnv("touch"), "observation = 'touch'"),
        (lambda: PushVectorEnv(render_mode="human"), "render_mode = 'human'"),
        (lambda: PushEnv("pixels", resolution=0), "0 x 0 pixels"),
        (lambda: PushVectorEnv(3).reset(seed=[1, 2]), "one for each of 3 tables"),
        (lambda: PushEnv().reset(options={"goal": 1}), "options"),
        (lambda: PushEnv().reset(options={"state": (9, 9, 0.2, 0.2, 0)}), "on the table"),
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
