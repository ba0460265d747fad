"""``galley reach train`` and ``eval``."""

import json

import pytest

from galley.cli import main


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["eval", "nofile"], "nofile: no such file"),
        (["eval", "text"], "text: is not a checkpoint of galley reach train"),
        (["train", "--out", "no/where"], "no/where: its folder does not exist"),
        (
            ["train", "--out", "m", "--data", "d", "--l1", "2"],
            "--data: arm and sampler are those of",
        ),
        (
            ["train", "--out", "m", "--data", "d", "--bases", "2"],
            "--data: has its own number of --bases",
        ),
        (["train", "--out", "m", "--data", "d"], "d: has no rows"),
        (["train", "--out", "m", "--radii", "0.4", "0.1"], "smaller first, got 0.4 and 0.1"),
        (["train", "--out", "m", "--bases", "2"], "too few rows"),
        (["train", "--bases", "100", "--steps", "1"], "steps must be 2 or more, got 1"),
        (["eval"], "model.safetensors: no such file"),
    ],
)
def test_bad_input_is_one_line(command, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text").write_text("no checkpoint")
    assert main(["reach", *command]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
    assert {each.name for each in tmp_path.iterdir()} == {"text"}


@pytest.mark.slow
def test_sample_train_and_eval_in_turn(tmp_path, capsys):
    data, model, file = str(tmp_path / "data"), str(tmp_path / "model"), tmp_path / "eval.json"
    limits = ["--limits", "-2", "0.9", "-3", "3"]
    assert main(["reach", "sample", "--bases", "20000", *limits, "--jobs", "1", "--out", data]) == 0
    assert main(["reach", "train", "--data", data, "--steps", "120", "--out", model]) == 0
    assert "s left" in capsys.readouterr().out
    assert main(["reach", "eval", model, "--bases", "5000", "--json", str(file)]) == 0
    found = json.loads(file.read_text())
    capsys.readouterr()
    assert abs(found["kl_nats"]) < 0.2
    assert main(["reach", "eval", model, "--bases", "5000"]) == 0
    assert f"{found['kl_nats']:.4f} +- {found['kl_error']:.4f}" in capsys.readouterr().out
