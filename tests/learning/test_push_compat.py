"""``galley push collect --compat gym-pusht``, in our physics and in gym-pusht's own."""

import json
import pickle
from dataclasses import replace

import gymnasium
import numpy as np
import pyarrow.parquet as pq
import pytest

from galley.cli import main
from galley.learning.collection.pushing import PushDemonstrator, replay
from galley.learning.demonstrations import read_collection, read_folder, write_episode
from galley.planar.pushing.config import PushConfig
from galley.planar.pushing.config_file import load_config
from galley.planar.pushing.gym_pusht import PHYSICS

COMPAT = ("collect", "--demonstrator", "planned", "--compat", "gym-pusht")
SEED = 21  # a short one


def push(*words):
    return main(["push", *map(str, words)])


def environment(physics, **more):
    ours = {"compat": "gym-pusht"} if physics == "galley" else {}
    return gymnasium.make(PHYSICS[physics], **ours, **more)


@pytest.fixture(scope="module", params=["galley", "upstream"])
def collected(request, tmp_path_factory):
    """A folder with an episode, and its physics."""
    if request.param == "upstream":
        pytest.importorskip("gym_pusht")
    out = tmp_path_factory.mktemp("compat") / request.param
    words = (*COMPAT, "--physics", request.param, "--seed", SEED, "--seeds", 1, "--size", 96)
    assert push(*words, "--jobs", 1, "--format", "lerobot", "--out", out) == 0
    return out, request.param


def test_the_actions_succeed_in_the_environment_itself(collected):
    """The oracle: gym-pusht's own observations, step by step, for what was stored."""
    folder, physics = collected
    for episode in read_folder(folder):
        seen = episode.observations
        points = environment(physics, obs_type="environment_state_agent_pos")
        painted = environment(physics, obs_type="pixels_agent_pos")
        now, shown = (each.reset(seed=episode.seed)[0] for each in (points, painted))
        for k, action in enumerate(episode.actions):
            np.testing.assert_array_equal(seen["state"][k], now["agent_pos"])
            keypoints = now["environment_state"]
            np.testing.assert_allclose(seen["environment_state"][k], keypoints, atol=1e-9)
            np.testing.assert_array_equal(seen["image"][k], shown["pixels"])
            assert points.action_space.contains(action)
            now, reward, done, _, info = points.step(action)
            shown = painted.step(action)[0]
            assert seen["next_reward"][k, 0] == pytest.approx(reward, abs=1e-9)
            last = k == len(episode) - 1
            assert (bool(seen["next_done"][k, 0]), done) == (last, last)
        assert episode.success is True
        assert info["is_success"]
        assert episode.metadata["coverage"] == pytest.approx(info["coverage"], abs=1e-9)


def test_lerobot_has_the_names_of_its_own_push_t_data(collected):
    folder, _ = collected
    info = json.loads((folder / "lerobot/meta/info.json").read_text())
    features = {name: (each["dtype"], each["shape"]) for name, each in info["features"].items()}
    assert (
        features.items()
        >= {
            "observation.image": ("image", [96, 96, 3]),
            "observation.state": ("float32", [2]),
            "observation.environment_state": ("float32", [16]),
            "action": ("float32", [2]),
            "next.reward": ("float32", [1]),
            "next.done": ("bool", [1]),
            "next.success": ("bool", [1]),
        }.items()
    )
    assert info["fps"] == 10
    table = pq.read_table(folder / "lerobot/data/chunk-000/file-000.parquet")
    assert sum(table["next.success"].to_pylist()) == 1
    assert table["timestamp"].to_pylist()[:2] == [0.0, pytest.approx(0.1)]
    stats = json.loads((folder / "lerobot/meta/stats.json").read_text())
    assert 0.9 < stats["observation.image"]["mean"][0][0][0] < 1.0
    assert 50 < stats["observation.state"]["mean"][0] < 450
    tasks = pq.read_table(folder / "lerobot/meta/tasks.parquet")["task"].to_pylist()
    assert tasks == ["Push the T-shaped block onto the T-shaped target."]


def test_verify_replays_and_finds_a_changed_action(collected, capsys):
    folder, _ = collected
    assert push("verify", folder) == 0
    assert "1 episode replayed: the same" in capsys.readouterr().out
    collection, episode = read_collection(folder), read_folder(folder)[0]
    actions = np.array(episode.actions)
    actions[3] += 1.0
    assert replay(replace(episode, actions=actions), collection)[1] > 1e-6
    assert replay(replace(episode, actions=actions[::-1]), collection)[1] > 1e-6


def test_an_episode_does_not_depend_on_those_before_it(collected):
    folder, physics = collected
    run = pickle.loads(pickle.dumps(PushDemonstrator(PushConfig(), "planned", 96, physics=physics)))
    again = run(SEED)
    for name, array in read_folder(folder)[0].arrays.items():
        np.testing.assert_array_equal(array, again.arrays[name])


def test_our_physics_draw_tables_by_seed(tmp_path):
    (tmp_path / "c.yaml").write_text("mass: [0.5, 2]\nfriction: [0.3, 0.7]\n")
    words = (*COMPAT, "--config", tmp_path / "c.yaml", "--seeds", 2, "--out", tmp_path / "o")
    assert push(*words, "--jobs", 1) == 0
    episodes, config = read_folder(tmp_path / "o"), load_config(tmp_path / "c.yaml")
    masses = [each.metadata["table"]["mass"] for each in episodes]
    assert masses == [config.drawn(seed).mass for seed in (0, 1)]
    assert push("verify", tmp_path / "o") == 0
    collection, first = read_collection(tmp_path / "o"), episodes[0]
    other = replace(first, metadata={**first.metadata, "table": episodes[1].metadata["table"]})
    write_episode(tmp_path / "o", collection, other)
    assert push("verify", tmp_path / "o") == 1  # another table moves otherwise


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (
            ("--demonstrator", "mouse", "--compat", "gym-pusht"),
            "goes without --compat",
        ),
        (("--demonstrator", "planned", "--physics", "upstream"), "needs --compat"),
        ((*COMPAT[1:], "--shape", "L"), "has the T only"),
        ((*COMPAT[1:], "--size", "20"), "96 to 480 pixels"),
        ((*COMPAT[1:], "--physics", "upstream", "--config", "pushing.yaml"), "and no --config"),
    ],
)
def test_what_does_not_go_together_is_said_in_one_line(words, what, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert push("collect", *words) == 2
    err = capsys.readouterr().err.strip().splitlines()
    assert what in err[-1]
    assert len(err) == 1
    assert not list(tmp_path.iterdir())


def test_a_missing_gym_pusht_is_named_with_how_to_install_it(monkeypatch, capsys):
    from galley.cli.common import arguments

    monkeypatch.setattr(arguments, "find_spec", lambda name: None if name == "gym_pusht" else 1)
    assert push(*COMPAT, "--physics", "upstream") == 2
    assert "needs gym_pusht: pip install 'galley-tamp[pusht]'" in capsys.readouterr().err
