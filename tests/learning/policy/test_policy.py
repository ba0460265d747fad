"""The diffusion policy: its formulas, its data, its training and its file."""

import pickle
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import zarr
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from galley.cli import main
from galley.domain.errors import BadInput
from galley.learning.checkpoints import named_arrays
from galley.learning.demonstrations import Demonstrations, Episode, read_replay_buffer
from galley.learning.policy import READY
from galley.learning.policy.data import symmetries, tracks_of, with_symmetric
from galley.learning.policy.design import Design, Training
from galley.learning.policy.diffusion import cosine_schedule, ddim, noised, sampling_levels
from galley.learning.policy.evaluation import PolicyRunner
from galley.learning.policy.policy import (
    DiffusionPolicy,
    Driver,
    empty_network,
    load_policy,
    save_policy,
)
from galley.learning.policy.training import Trainer, average_of
from galley.learning.policy.views import Views
from galley.learning.policy.windows import Scale, windows
from galley.planar.pushing.config import PushConfig
from galley.planar.pushing.demonstrators import demonstrator
from galley.planar.pushing.environment import PushEnv
from galley.planar.pushing.gym_pusht import GymPushTEnv
from galley.planar.pushing.rollout import roll_out
from galley.planar.pushing.shapes import shape
from galley.planar.pushing.simulation import PushSimulation
from galley.tests.digests import digest

pytestmark = pytest.mark.usefixtures("quick_compilation_in_the_gate")

SMALL = {"channels": 8, "width": 32}


@pytest.fixture(scope="module")
def tracks():
    """Three planned episodes of the T."""
    sim = PushSimulation(PushConfig())
    who = demonstrator("planned", sim.config)
    found = []
    for seed in range(3):
        run = roll_out(sim, who, seed)
        rows = run.states[:-1]
        theta = np.remainder(rows[:, 6:7], 2 * np.pi)
        found.append((np.hstack([rows[:, :2], rows[:, 4:6], theta]), run.targets))
    return found


def test_the_schedule_is_the_squared_cosine():
    kept = cosine_schedule(100)

    def f(t):
        return np.cos((t / 100 + 0.008) / 1.008 * np.pi / 2) ** 2

    # beta is bounded only at the end, where f falls to 0.
    assert_allclose(kept[:99], [f(k) / f(0) for k in range(1, 100)], rtol=1e-12)
    assert kept[-1] == pytest.approx(kept[-2] * 1e-3)
    assert (np.diff(kept) < 0).all()


def test_ddim_with_the_known_denoiser_of_a_normal_law_gives_that_law():
    mean, deviation = 0.3, 0.2
    kept = cosine_schedule(1000)
    table = jnp.asarray(kept, jnp.float32)

    def velocity(x, level):
        """E[v | x] = sqrt(a) E[e | x] - sqrt(1 - a) E[x0 | x] for x0 of a normal law."""
        a = table[level]
        variance = a * deviation**2 + 1 - a
        away = x - jnp.sqrt(a) * mean
        clean = mean + jnp.sqrt(a) * deviation**2 / variance * away
        noise = jnp.sqrt(1 - a) / variance * away
        return jnp.sqrt(a) * noise - jnp.sqrt(1 - a) * clean

    noise = jax.random.normal(jax.random.key(0), (20_000,))
    stages = ddim(velocity, noise, kept, sampling_levels(1000, 200))
    assert stages.shape == (201, 20_000)
    assert float(stages[-1].mean()) == pytest.approx(mean, abs=0.005)
    assert float(stages[-1].std()) == pytest.approx(deviation, abs=0.005)


def test_the_noisy_value_and_its_velocity_give_back_the_data():
    x, noise = np.random.default_rng(0).normal(size=(2, 50)).astype(np.float32)
    for kept in (0.999, 0.5, 1e-4):
        noisy, v = noised(jnp.asarray(x), jnp.asarray(noise), jnp.asarray(kept, jnp.float32))
        assert_allclose(np.sqrt(kept) * noisy - np.sqrt(1 - kept) * v, x, atol=1e-5)
        assert_allclose(np.sqrt(1 - kept) * noisy + np.sqrt(kept) * v, noise, atol=1e-5)


@pytest.mark.parametrize("steps", [1, 2, 10, 100])
def test_sampling_begins_in_noise_and_visits_each_level_once(steps):
    levels = sampling_levels(100, steps)
    assert levels[0] == 99
    assert len(levels) == steps == len(set(levels.tolist()))
    assert (np.diff(levels) < 0).all()


def test_the_average_is_the_closed_form():
    """With a constant rate k it is sum (1 - k) k^(n - i) w_i + k^n w_0."""
    weights = np.random.default_rng(0).normal(size=200)
    average = jnp.asarray(weights[0])
    keeps = []
    for step, w in enumerate(weights[1:]):
        average = average_of(average, jnp.asarray(w), jnp.asarray(step), 0.9)
        keeps.append(min(0.9, (1 + step) / (10 + step)))
    ahead = np.append(np.cumprod(keeps[::-1])[::-1], 1.0)  # what is left of each at the end
    parts = np.append(ahead[0], (1 - np.array(keeps)) * ahead[1:])
    assert float(average) == pytest.approx(float(parts @ weights), abs=1e-5)


def padded(values, start, length):
    """diffusion_policy's SequenceSampler, as a plain loop: the ends stand for what is beyond."""
    out = []
    for k in range(start, start + length):
        if k < 0:
            out.append(values[0])
        elif k >= len(values):
            out.append(values[-1])
        else:
            out.append(values[k])
    return out


@pytest.mark.parametrize("length", [1, 2, 5, 16, 40])
@pytest.mark.parametrize("horizon", [1, 2, 4])
def test_windows_are_those_of_a_plain_loop(length, horizon):
    seen, said = windows(length, Design(observation_horizon=horizon, action_horizon=8))
    values = list(range(length))
    wanted = [padded(values, k, 16) for k in range(1 - horizon, length - horizon + 1)]
    assert said.tolist() == wanted
    assert seen.tolist() == [each[:horizon] for each in wanted]
    assert seen[:, -1].tolist() == values  # each step is once the last one observed


@given(st.integers(0, 10**6))
def test_the_scale_gives_back_the_targets(seed):
    rng = np.random.default_rng(seed)
    targets = rng.normal(size=(20, 16, 2)) * 10.0 ** rng.uniform(-3, 1, (1, 16, 2))
    features = rng.normal(size=(20, 5)) * [1.0, 0.0, 1e-9, 100.0, 1.0]
    scale = Scale.of(features, targets)
    numbers = scale.targets(targets)
    assert np.abs(numbers).max() <= 1.0
    assert_allclose(scale.metres(numbers), targets, atol=1e-6 * np.abs(targets).max())
    found = scale.features(features)
    assert_allclose(found.mean(axis=0), 0.0, atol=1e-5)
    assert_allclose(found.std(axis=0), [1, 0, 0, 1, 1], atol=1e-5)


@pytest.mark.parametrize("name", ["T", "L", "rectangle"])
def test_keypoints_and_state_say_the_same(name, tracks):
    """The pose is fitted to the vertices: the frame of the targets must be the same."""
    config, states = PushConfig(shape=shape(name)), tracks[0][0]
    seen = windows(len(states), Design())[0]
    frames = []
    for observation in ("state", "keypoints"):
        views = Views(config, Design(observation=observation))
        observations = views.observed(states)
        _, frame = views.features(observations[seen])
        frame[:, 2] = np.remainder(frame[:, 2], 2 * np.pi)
        frames.append(frame)
    assert_allclose(frames[0], frames[1], atol=1e-9)


@pytest.mark.parametrize("observation", ["state", "keypoints"])
def test_what_is_observed_is_what_the_environment_gives(observation):
    env = PushEnv(observation)
    seen, _ = env.reset(seed=3)
    policy = untrained(Design(observation=observation, **SMALL))
    assert_allclose(policy.observed(env.state), seen, atol=1e-12)


def test_features_in_the_bodys_frame_do_not_change_with_the_place_of_the_scene(tracks):
    """Table, goal and body are moved together, as the world would be seen by somebody else."""
    states, actions = tracks[0]
    config = PushConfig()
    angle, shift = 0.7, np.array([0.2, -0.03])
    R = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    moved = states.copy()
    for k in (0, 2):
        moved[:, k : k + 2] = states[:, k : k + 2] @ R.T + shift
    moved[:, 4] += angle
    goal = R @ config.goal[:2] + shift
    other = PushConfig(goal_x=goal[0], goal_y=goal[1], goal_theta=config.goal_theta + angle)
    seen, said = windows(len(states), Design())
    a, frame_a = Views(config, Design()).features(states[seen])
    b, frame_b = Views(other, Design()).features(moved[seen])
    assert_allclose(a, b, atol=1e-12)
    targets = Views.seen(actions[said], frame_a)
    assert_allclose(Views.seen((actions @ R.T + shift)[said], frame_b), targets, atol=1e-12)
    assert_allclose(Views.placed(targets, frame_a), actions[said], atol=1e-12)


@pytest.mark.parametrize(("name", "count"), [("T", 2), ("L", 1), ("rectangle", 4)])
def test_the_symmetries_of_outlines(name, count):
    outline = shape(name)
    assert len(symmetries(outline.vertices - outline.mass_properties(1.0).centroid)) == count


@pytest.mark.parametrize(("name", "times"), [("T", 2), ("rectangle", 8)])
def test_episodes_made_by_symmetry_happen_in_the_simulation(name, times):
    config = PushConfig(shape=shape(name))
    sim = PushSimulation(config)
    run = roll_out(sim, demonstrator("planned", config), 1)
    theta = np.remainder(run.states[:-1, 6:7], 2 * np.pi)
    track = np.hstack([run.states[:-1, :2], run.states[:-1, 4:6], theta]), run.targets
    found = with_symmetric([track], config)
    assert len(found) == times
    for states, actions in found:
        table = sim.states(states[:1, 2:], states[:1, :2])
        for row, action in zip(states, actions, strict=True):
            assert_allclose(table.body[:2, 0], row[2:4], atol=1e-9)
            sim.advance(table, action[None])
        assert table.coverage[0] > 0.95


def untrained(design, seed=0):
    from galley.learning.checkpoints import random_weights

    config = PushConfig()
    network = random_weights(empty_network(config, design), seed)
    inputs = network.read.in_size - 32
    low = np.full((design.prediction_horizon, 2), -0.2)
    return DiffusionPolicy(
        config, design, Scale(np.zeros(inputs), np.ones(inputs), low, -low), network
    )


@pytest.mark.parametrize("method", ["diffusion", "cloning"])
def test_actions_are_on_the_table_and_follow_from_the_seed(method):
    policy = untrained(Design(method=method, **SMALL))
    env = PushEnv()

    def played(seed):
        observation, _ = env.reset(seed=5)
        policy.reset(seed)
        actions = []
        for _ in range(20):
            actions.append(policy.act(observation))
            observation, *_ = env.step(actions[-1])
        return np.array(actions)

    first = played(1)
    assert first.shape == (20, 2)
    assert (first >= 0).all()
    assert (first <= 0.512).all()
    assert_array_equal(first, played(1))
    assert np.array_equal(first, played(2)) == (method == "cloning")


def test_a_policy_is_evaluated_on_the_table_of_its_training_or_another(tmp_path):
    path, ranges = tmp_path / "p.safetensors", {"mass": [1.0, 2.0], "friction": [0.2, 0.8]}
    policy = load_policy(READY["ready"])
    policy.on(PushConfig(ranges=ranges))
    save_policy(path, policy)
    assert load_policy(path).config.ranges == ranges
    tables = [PushConfig(friction=0.2), PushConfig(friction=1.0), PushConfig(ranges=ranges)]
    for who in (None, "scripted"):
        run = PolicyRunner(path, who)
        sent = pickle.loads(pickle.dumps(replace(run, config=tables[2].drawn(1))))
        assert run(1).coverage == sent(1).coverage
        assert len({replace(run, config=each)(1).coverage for each in tables}) == 3


@pytest.mark.parametrize(("observation", "status"), [("keypoints", 2), ("state", 0)])
def test_an_outline_that_a_policy_can_not_see_is_refused(observation, status, tmp_path, capsys):
    path = tmp_path / "p.safetensors"
    save_policy(path, untrained(Design(observation=observation, method="cloning", **SMALL)))
    (tmp_path / "c.yaml").write_text("shape: [T, L]\n")
    elsewhere = (("--shape", "L"), ("--config", str(tmp_path / "c.yaml")))
    for words in elsewhere if status else elsewhere[:1]:
        assert main(["push", "eval", str(path), "--seeds", "1", "--jobs", "1", *words]) == status
        err = capsys.readouterr().err
        assert ("sees an outline of 8 vertices, not of 6" in err) == (status == 2)


def test_a_plan_is_followed_for_the_action_horizon():
    policy = untrained(Design(action_horizon=3, **SMALL))
    driver = Driver(policy)
    sim = PushSimulation(policy.config)
    state = sim.random_states(np.random.default_rng(0), 1)
    driver.reset(0)
    targets = [driver.act(state) for _ in range(7)]
    assert policy.plans == 3
    assert_allclose(targets[:3], np.clip(driver.stages[0][-1, 1:4], 0.0, 0.512))
    assert driver.stages[0].shape == (policy.design.sampling_steps + 1, 16, 2)


@pytest.mark.parametrize(
    "observation", [np.zeros(4), np.zeros((1, 5)), [0, 0, np.nan, 0, 0]], ids=str
)
def test_a_bad_observation_is_refused(observation):
    with pytest.raises(ValueError, match="must be 5 finite numbers, state"):
        untrained(Design(**SMALL)).act(observation)


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ({"method": "gan"}, "diffusion, cloning"),
        ({"action_horizon": 16}, "from 1 to 15"),
        ({"prediction_horizon": 12}, "divide by 8"),
        ({"channels": 12}, "divide by 8"),
        ({"sampling_steps": 101}, "from 1 to 100"),
    ],
)
def test_a_bad_design_is_refused_by_name(values, word):
    with pytest.raises(ValueError, match=rf"{next(iter(values))} = .*{word}"):
        Design(**values)


def test_a_checkpoint_gives_the_same_policy(tmp_path):
    first = untrained(Design(**SMALL))
    save_policy(tmp_path / "p", first)
    again = load_policy(tmp_path / "p")
    save_policy(tmp_path / "q", again)
    assert digest(tmp_path / "p") == digest(tmp_path / "q")
    env = PushEnv()
    observation, _ = env.reset(seed=0)
    assert_array_equal(first.act(observation), again.act(observation))


def test_bad_checkpoints_are_refused_in_one_line(tmp_path):
    from safetensors.numpy import save

    path = tmp_path / "p.safetensors"
    save_policy(path, untrained(Design(**SMALL)))
    whole = path.read_bytes()
    for other in (whole[:-100], save({"a": np.zeros(3)})):  # cut, somebody else's
        path.write_bytes(other)
        with pytest.raises(BadInput, match="is not a checkpoint of galley push train"):
            load_policy(path)
    path.write_bytes(whole.replace(b'\\"width\\": 32', b'\\"width\\": 16'))
    with pytest.raises(BadInput, match=r"damaged checkpoint: read.*of shape"):
        load_policy(path)
    with pytest.raises(BadInput, match="no such file"):
        load_policy(tmp_path / "none")


def test_a_training_that_goes_on_gives_the_same_weights(tracks, tmp_path):
    design, how = Design(**SMALL), Training(steps=8, batch=4, validation=0.34)
    whole = Trainer(tracks, PushConfig(), design, how)
    list(whole.run())
    first = Trainer(tracks, PushConfig(), design, how)
    portions = first.run()
    for _ in range(3):
        next(portions)
    first.save(tmp_path / "t")
    second = Trainer(tracks, PushConfig(), design, how)
    second.resume(tmp_path / "t")
    assert second.step == first.step > 0
    list(second.run())
    for (name, a), (_, b) in zip(
        named_arrays(whole.state), named_arrays(second.state), strict=True
    ):
        assert_array_equal(a, b, err_msg=name)
    assert whole.losses == second.losses
    other = Trainer(tracks[:2], PushConfig(), design, Training(steps=8, batch=4))
    with pytest.raises(BadInput, match=r"is of a training with .*; remove it"):
        other.resume(tmp_path / "t")


@pytest.mark.slow
@pytest.mark.parametrize("method", ["diffusion", "cloning"])
def test_one_episode_is_learned_by_heart(tracks, method):
    """Followed closed-loop from its own start, it is done again: the goal is covered."""
    how = Training(steps=3000, batch=64, validation=0.0, symmetric=False, learning_rate=2e-3)
    design = Design(method=method, channels=16, width=128, action_horizon=8)
    trainer = Trainer(tracks[:1], PushConfig(), design, how)
    losses = [now.training for now in trainer.run()]
    assert losses[-1] < 0.05 * losses[0]
    policy = trainer.policy
    states, actions = tracks[0]
    apart = []
    for k in range(0, len(states) - 8, 8):
        policy.reset(0)
        if k:
            policy.act(states[k - 1])
            policy._left.clear()
        apart.append(np.abs(policy.act(states[k]) - actions[k]).max())
    assert np.median(apart) < 0.005  # m


def buffer(folder, states, actions, ends):
    """As diffusion_policy's Push-T: float32, images too, and no attributes."""
    root = zarr.create_group(folder, zarr_format=2)
    data, meta = root.create_group("data"), root.create_group("meta")
    n = len(states)
    for name, values in {
        "state": states,
        "action": actions,
        "img": np.zeros((n, 8, 8, 3)),
        "keypoint": np.zeros((n, 9, 2)),
        "n_contacts": np.zeros((n, 1)),
    }.items():
        data.create_array(name, data=np.asarray(values, dtype=np.float32))
    meta.create_array("episode_ends", data=np.array(ends))


def test_the_public_buffer_is_read_in_gym_pushts_units(tmp_path):
    """Its corners in px, as the environment gives them, are the outline's in m where we see it."""
    env = GymPushTEnv("environment_state_agent_pos")
    seen, info = env.reset(seed=1)
    rng, states, actions, points = np.random.default_rng(0), [], [], []
    for _ in range(30):
        states.append([*info["pos_agent"], *info["block_pose"]])
        points.append(np.reshape(seen["environment_state"], (-1, 2)))
        actions.append(rng.uniform(50, 450, 2))
        seen, *_, info = env.step(actions[-1])
    buffer(tmp_path / "b.zarr", states, actions, [10, 30])
    episodes = read_replay_buffer(tmp_path / "b.zarr", arrays=("state",))
    tracks, config = tracks_of(episodes, None, tmp_path)
    assert [len(each) for each, _ in tracks] == [10, 20]
    found, driven = (np.concatenate(parts) for parts in zip(*tracks, strict=True))
    sim = PushSimulation(config)
    inner = (np.array(points) - 7.0) / 1000.0
    outlines = sim.outlines(found[:, 2:])
    for corner in np.moveaxis(inner, 1, 0):  # in whatever order
        assert np.linalg.norm(outlines - corner[:, None], axis=2).min(axis=1).max() < 1e-6
    assert_allclose(1000.0 * driven + 7.0, actions, atol=1e-4)
    assert_allclose(1000.0 * found[:, :2] + 7.0, np.array(states)[:, :2], atol=1e-4)


@pytest.mark.parametrize(
    ("states", "actions", "word"),
    [
        (np.full((5, 5), 0.2), np.full((5, 2), 0.2), "no pixels from 0 to 512"),
        (np.full((5, 5), 900.0), np.full((5, 2), 200.0), "no pixels from 0 to 512"),
        (np.full((5, 4), 200.0), np.full((5, 2), 200.0), "has 'state', 5 numbers"),
        (np.full((5, 5), 200.0), np.full((5, 7), 200.0), "actions of 2"),
    ],
)
def test_another_buffer_is_refused(states, actions, word, tmp_path):
    episodes = Demonstrations.of([Episode({"state": states}, actions, np.arange(5.0))])
    with pytest.raises(BadInput, match=word):
        tracks_of(episodes, None, tmp_path)


def test_failed_episodes_are_not_learned():
    states = np.tile(np.arange(6.0)[:, None] + 100, (1, 5))
    episode = Episode({"state": states}, np.full((6, 2), 200.0), np.arange(6.0), success=True)
    failed = replace(episode, success=False)
    tracks, _ = tracks_of(Demonstrations.of([episode, failed]), None, "folder")
    assert [len(each) for each, _ in tracks] == [6]
    with pytest.raises(BadInput, match="has no episode that succeeded, of 1"):
        tracks_of(Demonstrations.of([failed]), None, "folder")
