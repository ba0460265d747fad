"""``galley push train``, ``eval`` and ``film --policy``."""

import json
import os
import re
import shlex
import shutil
from pathlib import Path

import pytest

import galley
from galley.cli import main
from galley.learning.policy import READY
from galley.tests.digests import digest

TINY = ["--channels", "8", "--batch", "16", "--steps", "400"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("demonstrations") / "pushes"
    collect = ["push", "collect", "--demonstrator", "planned", "--seeds", "3", "--jobs", "1"]
    assert main([*collect, "--out", str(path)]) == 0
    return path


@pytest.mark.slow
def test_a_stopped_training_gives_the_weights_of_one_that_was_not(folder, tmp_path, monkeypatch):
    from galley.learning.policy.training import Trainer

    command = ["push", "train", str(folder), *TINY, "--out"]
    assert main([*command, str(tmp_path / "whole.safetensors")]) == 0
    out = tmp_path / "stopped.safetensors"
    state, save = out.with_name("stopped.safetensors.training"), Trainer.save

    def stop(self, path):
        save(self, path)
        if self.step > 100:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Trainer, "save", stop)
        assert main([*command, str(out)]) == 130
    assert state.exists()
    assert not out.exists()
    assert main([*command, str(out)]) == 0
    assert digest(out) == digest(tmp_path / "whole.safetensors")
    assert not state.exists()
    assert out.with_suffix(".png").stat().st_size > 1000
    assert main([*command, str(out)]) == 0  # there already


@pytest.mark.slow
def test_starts_near_the_goal_are_learned_from_but_not_evaluated_on(folder, tmp_path):
    """Whichever folder comes first."""
    near, out = tmp_path / "near", tmp_path / "p.safetensors"
    few = ["--demonstrator", "planned", "--seeds", "2", "--jobs", "1"]
    assert main(["push", "collect", *few, "--config", "near.yaml", "--out", str(near)]) == 0
    assert main(["push", "train", str(near), str(folder), *TINY, "--out", str(out)]) == 0
    from galley.learning.policy.policy import load_policy

    policy = load_policy(out)
    assert policy.history["episodes"] == 5
    assert policy.config.start_away == 1.0
    assert policy.config.start_turned > 3.0


def evaluated(episodes, workers, file):
    command = ["push", "eval", "ready", "--seeds", episodes, "--jobs", workers, "--json"]
    assert main([*command, str(file)]) == 0
    record = json.loads(file.read_text())["ready"]
    assert record.pop("latency_95_ms") >= record.pop("latency_ms") > 0
    return record


def test_the_shipped_policy_is_small_and_its_figures_are_written(tmp_path):
    assert READY["ready"].stat().st_size < 3e6
    pytest.importorskip("jax")  # importing it sets variables
    before = dict(os.environ)
    record = evaluated("1", "1", tmp_path / "eval.json")
    assert (record["episodes"], record["successes"]) == (1, 1)  # seed 0, see docs/policy.md
    assert 0.95 <= record["coverage"] <= record["largest_coverage"] <= 1.0
    assert os.environ == before  # others started from here compute as this process does


@pytest.mark.slow
def test_the_episodes_that_the_pages_show_succeed(tmp_path):
    docs = Path(galley.__file__).parent / "docs"
    text = (docs / "policy.md").read_text() + (docs / "pushing.md").read_text()
    commands = re.findall(r"`galley (push film [^`]*)`", text)
    assert any("--policy ready" in command for command in commands)
    for k, command in enumerate(commands):
        assert main([*shlex.split(command), "--out", str(tmp_path / str(k))]) == 0
        _, *rows = (tmp_path / str(k) / "episodes.csv").read_text().splitlines()
        assert all(row.endswith(",1") for row in rows)


@pytest.mark.slow
def test_a_policy_is_evaluated_alike_by_any_number_of_workers(tmp_path):
    file = tmp_path / "eval.json"
    assert evaluated("2", "1", file) == evaluated("2", "2", file)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["train", "nowhere", "--out", "p"], "has no demonstrations"),
        (["train", "empty", "--out", "p"], "has no demonstrations"),
        (["train", "pushes", "--first", "9", "--out", "p"], "has 3 episodes, not 9"),
        (["train", "pushes", "--action-horizon", "99", "--out", "p"], "action_horizon = 99"),
        (["train", "pushes", "--out", "no/p"], "its folder does not exist"),
        (["eval", "nothing"], "no such file"),
        (["eval", "notes.txt"], "is not a checkpoint of galley push train"),
        (["eval", "ready", "--config", "notes.txt"], "notes.txt:1:1: expected a mapping"),
        (["eval", "ready", "--shape", "Q"], "'Q': must be one of"),
    ],
)
def test_bad_input_is_said_in_one_line(arguments, word, folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("no checkpoint")
    shutil.copytree(folder, tmp_path / "pushes")
    assert main(["push", *arguments]) == 2
    err = capsys.readouterr().err.strip().splitlines()
    assert word in err[-1]
    assert "Traceback" not in "".join(err)
