"""gym-pusht's interface over our physics."""

import gymnasium
import numpy as np
import pytest
import shapely
from gymnasium import spaces
from numpy.testing import assert_allclose

from galley.planar.pushing.config import PushConfig
from galley.planar.pushing.environment import ID
from galley.planar.pushing.gym_pusht import GOAL, KEYPOINTS, OBSERVATIONS, GymPushTEnv
from galley.planar.pushing.shapes import shape

# Poses of the block (px, px, rad) that gym-pusht 0.1.8 starts with by the seeds 0, 1, ...
STARTS = [
    (241.54255640895335, 268.5169735431818, -2.8841484100105235),
    (290.5891546977548, 457.7681838617591, -2.2358110930610913),
    (173.38541141585057, 251.67053258792123, 1.9743385564396059),
    (195.68481906422733, 230.24802517734213, 1.8929632932132208),
    (370.69201941099226, 342.49962782094815, 2.9923274543394056),
    (110.32650686932725, 342.2084680066682, 0.0962933399642707),
]


def test_a_seed_starts_as_in_gym_pusht_where_nothing_overlaps():
    env, same = GymPushTEnv(), 0
    for seed, block in enumerate(STARTS):
        _, info = env.reset(seed=seed)
        same += np.allclose(info["block_pose"], block, rtol=0, atol=1e-9)
        corners = env.sim.body.moved(env.state.body[:, 0]).vertices
        table = shapely.box(0, 0, env.config.width, env.config.height)
        assert table.covers(shapely.Polygon(corners))
    assert same >= 0.5 * len(STARTS)


def test_spaces_are_gym_pushts():
    def box(*high):
        return spaces.Box(np.zeros(len(high)), np.array(high), dtype=np.float64)

    agent = box(512, 512)
    seen = [GymPushTEnv(each).observation_space for each in OBSERVATIONS]
    state, points, pixels, both = seen
    picture = spaces.Box(0, 255, (96, 96, 3), np.uint8)
    assert (pixels, both) == (picture, spaces.Dict({"pixels": picture, "agent_pos": agent}))
    assert state == box(512, 512, 512, 512, 2 * np.pi)
    assert points == spaces.Dict({"environment_state": box(*[512] * 16), "agent_pos": agent})
    assert GymPushTEnv().action_space == spaces.Box(0, 512, (2,), dtype=np.float32)


def test_coverage_is_that_of_the_keypoints_polygons():
    env = GymPushTEnv("environment_state_agent_pos")
    turn = np.array([[np.cos(GOAL[2]), -np.sin(GOAL[2])], [np.sin(GOAL[2]), np.cos(GOAL[2])]])
    goal = tee(KEYPOINTS @ turn.T + GOAL[:2])
    for x, y, angle in [(256, 211, GOAL[2]), (250, 220, 0.7), (280, 200, 1.2), (256, 256, 0.0)]:
        env.reset(options={"reset_to_state": (40, 40, x, y, angle)})
        seen, reward, _, _, info = env.step(np.array([40, 40], dtype=np.float32))
        body = tee(seen["environment_state"].reshape(8, 2))
        share = body.intersection(goal).area / goal.area
        assert info["coverage"] == pytest.approx(share, abs=1e-9)
        assert share > 0.1
        assert reward == pytest.approx(min(share / 0.95, 1.0))


def test_pictures_show_gym_pushts_plane():
    """0 to 512 px over the whole side, y downwards: block, goal and pusher lie where they are."""
    env = GymPushTEnv("pixels_agent_pos", render_mode="rgb_array")
    seen, info = env.reset(options={"reset_to_state": (100, 400, 380, 300, 0.3)})
    x, y, angle = info["block_pose"]
    inner = np.array([(0, 15), (0, 100), (-50, 15)])
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    for picture in (seen["pixels"], env.render()):
        scale = len(picture) / 512.0

        def at(p, picture=picture, scale=scale):
            column, row = np.int64(np.asarray(p) * scale)
            return picture[row, column].tolist()

        for p in inner @ turn.T + (x, y):
            assert at(p) == [143, 163, 184]
        assert at((100, 400)) == [78, 126, 255]
        assert at((256, 256 + 15)) == [144, 238, 144]
        assert at((250, 480)) == [255, 255, 255]
    assert env.render().shape == (680, 680, 3)


def tee(points):
    return shapely.union_all([shapely.Polygon(points[:4]), shapely.Polygon(points[4:])])


def test_on_the_goal_it_succeeds():
    env = GymPushTEnv()
    # The block's frame is moved as it is turned about (0, 45): this undoes it.
    back = np.array([np.sin(GOAL[2]) * -45.0, np.cos(GOAL[2]) * 45.0]) - (0.0, 45.0)
    env.reset(options={"reset_to_state": (40, 40, *(GOAL[:2] + back), GOAL[2])})
    seen, reward, ended, late, info = env.step(np.array([40, 40], dtype=np.float32))
    assert_allclose(seen, [40, 40, *GOAL], atol=1e-9)
    assert (reward, ended, late, info["is_success"]) == (1.0, True, False, True)


def test_attributes_are_those_that_scripts_for_gym_pusht_use():
    sizes = {"observation_width": 60, "observation_height": 48}
    env = gymnasium.make(
        ID, compat="gym-pusht", obs_type="pixels_agent_pos",
        render_mode="rgb_array", visualization_width=200, visualization_height=100, **sizes,
    ).unwrapped  # fmt: skip
    env.reset(seed=3)
    for target in ((200, 300), (300, 300)):
        seen, _, _, _, info = env.step(np.array(target, dtype=np.float32))
    assert seen["pixels"].shape == env.get_obs()["pixels"].shape == (48, 60, 3)
    assert env.render().shape == (100, 200, 3)
    assert (env.obs_type, env.observation_width) == ("pixels_agent_pos", 60)
    assert (env.dt, env.control_hz, env.success_threshold) == (0.01, 10, 0.95)
    assert_allclose(env.agent.position, info["pos_agent"], rtol=0)
    assert_allclose(env.agent.velocity, info["vel_agent"], rtol=0)
    assert_allclose((*env.block.position, env.block.angle), info["block_pose"], rtol=0)
    assert_allclose(env.goal_pose, info["goal_pose"], rtol=0)
    start = np.array([100.0, 120.0, 300.0, 310.0, 0.4])
    env._set_state(start)
    # The block is placed with the angle that it has, then turned about its centre of gravity.
    (c, s), (d, t) = ((np.cos(a), np.sin(a)) for a in (info["block_pose"][2], 0.4))
    assert_allclose(env.block.position, (300 + 45 * (t - s), 310 + 45 * (c - d)), atol=1e-9)
    assert env.block.angle == 0.4
    assert_allclose(env.agent.position, start[:2], atol=1e-9)


def test_a_push_moves_the_block_and_is_reported():
    env = GymPushTEnv()
    before, _ = env.reset(options={"reset_to_state": (256, 100, 256, 256, 0.0)})
    touched = []
    for _ in range(10):  # down, onto the middle of the bar
        after, _, _, _, info = env.step(np.array([256, 300], dtype=np.float32))
        touched.append(info["n_contacts"])
    assert touched[0] == 0
    assert max(touched) == 1
    assert_allclose(after[2] - before[2], 0.0, atol=1.0)
    assert after[3] - before[3] > 40.0


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"compat": "pusht"}, "compat = 'pusht'"),
        ({"compat": "gym-pusht", "observation": "keypoints"}, "environment_state_agent_pos"),
        ({"compat": "gym-pusht", "config": PushConfig(shape=shape("L"))}, "T only"),
        ({"action": "torque"}, "action = 'torque'"),
    ],
    ids=str,
)
def test_bad_arguments_are_named(arguments, named):
    with pytest.raises(ValueError, match=named):
        gymnasium.make(ID, **arguments)


@pytest.mark.parametrize("name", ["compat", "action"])
def test_the_compiled_vector_says_what_it_lacks(name):
    values = {"compat": "gym-pusht", "action": "joints"}
    with pytest.raises(ValueError, match=f"{name} = .*sync"):
        gymnasium.make_vec(ID, num_envs=2, **{name: values[name]})
    many = gymnasium.make_vec(ID, num_envs=2, vectorization_mode="sync", compat="gym-pusht")
    assert many.reset(seed=0)[0].shape == (2, 5)


def test_bad_starts_and_actions_are_refused():
    env = GymPushTEnv()
    with pytest.raises(ValueError, match="5 finite numbers"):
        env.reset(options={"reset_to_state": (1, 2)})
    with pytest.raises(ValueError, match="must be reset_to_state"):
        env.reset(options={"state": (1, 2, 3, 4, 5)})
    env.reset(seed=0)
    with pytest.raises(ValueError, match="action = "):
        env.step(np.array([np.nan, 1.0]))
