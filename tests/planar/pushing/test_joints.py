"""Joint targets: the arm that holds the pusher is commanded."""

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from galley.planar.pushing.config import ArmConfig, PushConfig
from galley.planar.pushing.environment import PushEnv

ENV = PushEnv(action="joints")
ARMS = (
    ArmConfig(),
    ArmConfig(links=(0.35, 0.35)),
    ArmConfig(links=(0.2, 0.2, 0.2, 0.1, 0.1, 0.1)),
    ArmConfig(base_x=0.3, base_y=0.3),  # the original's, on the table
    ArmConfig(links=(0.25, 0.12), base_x=0.256, base_y=0.256),
)
ENVS = [PushEnv(action="joints", config=PushConfig(arm=each)) for each in ARMS]


def crosses(arm, angles):
    """By shapely: whether links meet that share no joint, or one lies on its neighbour."""
    p = arm.points(angles)
    links = [shapely.LineString(p[i : i + 2]) for i in range(len(p) - 1)]
    pairs = [(i, j) for j in range(len(links)) for i in range(j)]
    apart = any(links[i].intersects(links[j]) for i, j in pairs if j > i + 1)
    folded = any(links[i].overlaps(links[j]) for i, j in pairs if j == i + 1)
    return apart or folded


@given(st.sampled_from(range(len(ENVS))), st.integers(0, 2**32 - 1), st.floats(0.1, 2.0))
def test_no_configuration_that_is_reported_crosses_itself(which, seed, spread):
    env, rng = ENVS[which], np.random.default_rng(seed)
    seen, info = env.reset(seed=seed)
    for _ in range(12):
        n = len(info["angles"])
        assert not crosses(env.arm, seen[5:])
        assert_allclose(env.arm.tip(seen[5:]), seen[:2], atol=1e-3)
        action = np.clip(rng.normal(0.0, spread, n), -np.pi, np.pi).astype(np.float32)
        seen, _, _, _, info = env.step(action)
        if crosses(env.arm, action.astype(float)):
            assert info["refused"]


def test_the_pusher_is_driven_to_the_tip():
    _, info = ENV.reset(options={"state": (0.1, 0.1, 0.4, 0.4, 0.0)})
    goal = np.array([0.2, 0.15])
    action = ENV.arm.ik(info["angles"], goal)[0].astype(np.float32)
    for _ in range(30):
        seen, _, _, _, info = ENV.step(action)
    assert not info["refused"]
    assert_allclose(seen[:2], goal, atol=1e-6)
    assert_allclose(info["angles"], seen[5:], rtol=0, atol=0)


def test_a_command_that_crosses_itself_leaves_the_last_target():
    _, info = ENV.reset(options={"state": (0.1, 0.1, 0.4, 0.4, 0.0)})
    crossed = np.array([0.0, 2.2, 2.2, 2.2, 0.0], dtype=np.float32)
    seen, _, _, _, info = ENV.step(crossed)
    assert info["refused"]
    assert_allclose(seen[:2], 0.1, atol=1e-9)  # before any other target it stays
    goal = np.array([0.2, 0.15])
    ENV.step(ENV.arm.ik(info["angles"], goal)[0].astype(np.float32))
    for _ in range(30):
        seen, _, _, _, info = ENV.step(crossed)
        assert info["refused"]
    assert_allclose(seen[:2], goal, atol=1e-6)


def test_a_step_that_the_arm_cannot_follow_is_not_taken():
    """Two links of unlike lengths can't come near their base, which is in the way."""
    env = ENVS[-1]
    _, info = env.reset(options={"state": (0.06, 0.256, 0.4, 0.06, 0.0)})
    action = env.arm.ik(info["angles"], (0.46, 0.256))[0].astype(np.float32)
    assert not env.arm.collides(action)
    refused = 0
    for _ in range(20):
        before = env.state.values.copy()
        before[2:4] = 0.0
        seen, _, _, _, info = env.step(action)
        if info["refused"]:
            refused += 1
            assert_allclose(env.state.values, before, rtol=0, atol=0)
    assert refused > 0
    assert seen[0] < 0.256 - 0.13


def test_an_arm_that_reaches_nothing_is_named():
    env = PushEnv(action="joints", config=PushConfig(arm=ArmConfig(links=(0.01, 0.01))))
    with pytest.raises(ValueError, match="can hold the pusher hardly anywhere"):
        env.reset(seed=0)


def test_a_given_start_out_of_reach_is_refused():
    env = PushEnv(action="joints", config=PushConfig(arm=ArmConfig(links=(0.3, 0.3))))
    with pytest.raises(ValueError, match=r"can't hold the pusher at 0\.500, 0\.500"):
        env.reset(options={"state": (0.5, 0.5, 0.2, 0.2, 0.0)})


def test_angles_are_observed_and_drawn():
    state, seen = (
        PushEnv(each, action="joints", render_mode="rgb_array")
        for each in ("state", "pixels_state")
    )
    angles = state.reset(seed=1)[0][5:]
    assert_allclose(seen.reset(seed=1)[0]["angles"], angles, rtol=0, atol=0)
    bare = PushEnv(render_mode="rgb_array")
    bare.reset(seed=1)
    joint = state.arm.points(angles)[-2]  # the last that is above the table
    column, row = np.int64(joint / state.config.width * 512)
    assert (state.render()[row, column] != bare.render()[row, column]).any()


@pytest.mark.parametrize("action", [(np.nan,) * 5, (0.1, 0.1), "ab", (0.0,) * 6], ids=str)
def test_bad_actions_are_refused(action):
    ENV.reset(seed=0)
    with pytest.raises(ValueError, match=r"action = .*5.* finite angles"):
        ENV.step(action)
