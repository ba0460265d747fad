"""``galley push collect``, ``verify`` and ``film DIR``."""

import pickle
import shutil
from dataclasses import replace

import gymnasium
import numpy as np
import pytest

from galley.cli import main
from galley.learning.collection.pushing import PushDemonstrator, replay, table_of
from galley.learning.demonstrations import (
    read_collection,
    read_folder,
    read_replay_buffer,
    write_episode,
)
from galley.planar.pushing.config import ArmConfig, PushConfig, config_record
from galley.planar.pushing.config_file import load_config
from galley.planar.pushing.shapes import shape
from galley.tests.digests import digest

RANGE, GOOD = "reversed.yaml", "range.yaml"


def push(*words):
    return main(["push", *map(str, words)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("pushes") / "of_planned"
    words = ("--demonstrator", "planned", "--seeds", 2, "--jobs", 1, "--size", 96)
    assert push("collect", *words, "--format", "zarr", "--out", out) == 0
    return out


def test_an_episode_is_what_the_environment_shows_for_its_actions(folder):
    episode = read_folder(folder)[1]
    state, keypoints, pixels = (
        gymnasium.make("galley.gym:galley/Push-v0", observation=name).unwrapped
        for name in ("state", "keypoints", "pixels")
    )
    seen = {each: each.reset(seed=episode.seed)[0] for each in (state, keypoints, pixels)}
    for k, action in enumerate(episode.actions):
        assert episode.observations["state"][k] == pytest.approx(seen[state], abs=1e-12)
        outline = episode.observations["keypoint"][k].ravel()
        assert outline == pytest.approx(seen[keypoints][:-2], abs=1e-12)
        np.testing.assert_array_equal(episode.observations["img"][k], seen[pixels])
        for each in seen:
            seen[each], _, done, _, info = each.step(action)
    assert done
    assert episode.success
    assert episode.metadata["coverage"] == info["coverage"]
    assert np.diff(episode.times) == pytest.approx(0.1)


def test_all_parameters_of_a_table_come_back_from_its_collection():
    arm = ArmConfig(links=(0.3, 0.2, 0.25), base_x=-0.05)
    config = PushConfig(shape=shape("L"), arm=arm, mass=0.7, pusher_mass=2.0, goal_theta=0.1)
    back = table_of(PushDemonstrator(config, "planned").collection)
    assert replace(back, shape=config.shape) == config
    np.testing.assert_array_equal(back.shape.vertices, config.shape.vertices)


def test_a_demonstrator_that_has_run_can_be_sent_to_a_worker():
    run = PushDemonstrator(PushConfig(), "scripted")
    again = pickle.loads(pickle.dumps(run)) if run(0) else None
    np.testing.assert_array_equal(again(0).actions, run(0).actions)


def test_a_second_call_goes_on_and_replay_finds_a_changed_action(folder, tmp_path, capsys):
    copy = tmp_path / "pushes"
    shutil.copytree(folder, copy)
    words = ("--demonstrator", "planned", "--jobs", 1, "--size", 96, "--out", copy)
    assert push("collect", *words, "--seeds", 3) == 0
    for name in ("episode-000000.parquet", "episode-000001.parquet"):
        assert digest(copy / name) == digest(folder / name)
    assert push("verify", copy) == 0
    assert "3 episodes replayed: the same" in capsys.readouterr().out
    collection, found = read_collection(copy), read_folder(copy)
    actions = np.array(found[1].actions)
    actions[3] += 1e-3
    write_episode(copy, collection, replace(found[1], actions=actions))
    assert push("verify", copy) == 1
    assert "not what was recorded: seed 1" in capsys.readouterr().err
    assert replay(found[2], collection)[1] == 0.0


def test_the_replay_buffer_has_the_names_of_the_public_one(folder):
    buffer = read_replay_buffer(folder / "zarr")
    arrays = buffer[0].arrays
    assert {"img", "state", "keypoint", "action"} <= set(arrays)
    assert arrays["img"].shape[1:] == (96, 96, 3)
    assert len(buffer) == 2


def test_a_stored_episode_is_filmed(folder, tmp_path):
    out = tmp_path / "film"
    assert push("film", folder, "--episode", 1, "--height", 120, "--out", out) == 0
    assert {each.name for each in out.iterdir()} == {"push.mp4", "episodes.csv"}


def test_tables_are_drawn_by_seed_whoever_does_it(tmp_path, capsys):
    file = tmp_path / "c.yaml"
    easy = "start_away: 0.05\nstart_turned: 0.2\n"
    file.write_text(f"mass: [0.8, 2]\nshape: [T, L, rectangle]\n{easy}")
    words = ("collect", "--demonstrator", "planned", "--seeds", 3, "--config", file)
    for jobs in (1, 2):
        assert push(*words, "--jobs", jobs, "--out", tmp_path / str(jobs)) == 0
    one, config = read_folder(tmp_path / "1"), load_config(file)
    for seed, episode in enumerate(one):
        name = f"episode-{seed:06d}.parquet"
        assert digest(tmp_path / "1" / name) == digest(tmp_path / "2" / name)
        assert "keypoint" not in episode.observations
        drawn = table_of(read_collection(tmp_path / "1"), episode)
        assert config_record(drawn) == config_record(config.drawn(seed))
        assert not drawn.ranges
    assert len({info.metadata["table"]["mass"] for info in one.infos}) == 3
    assert len({len(info.metadata["table"]["vertices"]) for info in one.infos}) > 1
    kept = table_of(read_collection(tmp_path / "1"))
    assert config_record(kept) == config_record(config)
    assert kept.ranges["mass"] == [0.8, 2.0]
    assert push("verify", tmp_path / "1") == 0
    assert push("film", tmp_path / "1", "--height", 120, "--out", tmp_path / "film") == 0
    assert push("train", tmp_path / "1", "--out", tmp_path / "p") == 2
    assert "has several outlines" in capsys.readouterr().err


def test_the_mouse_keeps_what_has_ended(tmp_path, monkeypatch):
    """The window is tested for itself; here another hand pushes in it."""
    from galley.planar.pushing.rollout import roll_out
    from galley.planar.pushing.simulation import PushSimulation

    def watch(config, seed):
        from galley.planar.pushing.demonstrators import demonstrator

        sim, who = PushSimulation(config), demonstrator("planned", config)
        yield roll_out(sim, who, seed)
        yield roll_out(sim, who, seed + 1, steps=5)  # thrown away by R
        yield roll_out(sim, who, seed + 2)

    monkeypatch.setattr("galley.planar.pushing.play.watch", watch)
    words = ("collect", "--demonstrator", "mouse", "--out", tmp_path / "mine")
    assert push(*words, "--seeds", 2) == 0
    assert [info.seed for info in read_folder(tmp_path / "mine").infos] == [0, 2]
    assert push(*words, "--seeds", 1, "--format", "zarr") == 0
    assert [info.seed for info in read_folder(tmp_path / "mine").infos] == [0, 2, 3]
    assert len(read_replay_buffer(tmp_path / "mine" / "zarr")) == 3
    assert push(*words, "--seeds", 3) == 1  # the window was closed before


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("verify", "nowhere"), "nowhere: has no demonstrations"),
        (("collect", "--demonstrator", "planned", "--size", 20), "96 to 480 pixels"),
        (("collect", "--demonstrator", "planned", "--shape", "Q"), "'Q': must be one of"),
        (("collect", "--demonstrator", "planned", "--config", RANGE), ":2:1: mass: mass = [2.0, 1"),
        (("collect", "--demonstrator", "mouse", "--config", GOOD), "the mouse goes without"),
        (
            ("demo", "--demonstrator", "scripted", "--config", GOOD),
            "mass: a range or list is",
        ),
    ],
)
def test_bad_input_is_named(words, what, tmp_path, monkeypatch, capsys, tmp_path_factory):
    files = tmp_path_factory.mktemp("configs")
    for name, text in ((RANGE, "friction: 0.5\nmass: [2, 1]\n"), (GOOD, "mass: [1, 2]\n")):
        (files / name).write_text(text)
    words = [files / word if word in (RANGE, GOOD) else word for word in words]
    monkeypatch.chdir(tmp_path)
    assert push(*words) == 2
    assert what in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_episodes_that_are_not_of_pushing_are_not_replayed(folder, capsys):
    assert push("verify", folder / "zarr") == 2
    assert "nothing to replay" in capsys.readouterr().err
    assert push("verify", folder, "--episode", 9) == 2
    assert "--episode is 0 to 1" in capsys.readouterr().err
