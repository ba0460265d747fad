"""``galley demos eval``: policies that succeed, that don't, and that are none."""

import json

import pytest

from galley.cli import main

SUGAR = ["--problem", "sugar_only.pddl"]
STAY = "def policy(observation, task):\n    return observation['state']\n"


@pytest.mark.slow
def test_collected_episodes_succeed_again_and_are_filmed(tmp_path, capsys):
    folder, film, data = (str(tmp_path / name) for name in ("sugar", "again.mp4", "eval.json"))
    noise = ["--noise", "low"]
    assert main(["demos", "collect", *SUGAR, *noise, "--seeds", "2", "--out", folder]) == 0
    more = ["--film", film, "--json", data, "--jobs", "2"]
    assert main(["demos", "eval", folder, *SUGAR, *noise, "--seeds", "2", *more]) == 0
    record = json.loads((tmp_path / "eval.json").read_text())
    assert (record["successes"], record["episodes"], record["coverage"]) == (2, 2, 1.0)
    assert (tmp_path / "again.mp4").stat().st_size > 1e4
    assert main(["demos", "eval", folder, *SUGAR, "--rate", "10"]) == 2
    assert "was collected with --rate 20, not 10" in capsys.readouterr().err
    assert main(["demos", "eval", folder, *SUGAR, "--seed", "7"]) == 2
    assert "has no episode of seed 7" in capsys.readouterr().err


def test_a_policy_that_does_nothing_does_not_succeed(tmp_path, capsys):
    (tmp_path / "stay.py").write_text(STAY)
    few = ["--seeds", "2", "--steps", "3"]
    assert main(["demos", "eval", str(tmp_path / "stay.py"), *SUGAR, *few]) == 0
    assert "0/2" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def policy(a b):", "stay.py:1: is not valid Python"),
        ("x = 1", "defines no function policy(observation, task)"),
        ("def policy(o, t):\n    return o['no']", "stay.py:2: fails: KeyError: 'no'"),
        ("def policy(o, t):\n    return [1]", "must be (11,) finite numbers"),
        ("def policy(o, t): return 1\ndef reset(s): 1 / 0", "stay.py:2: fails: ZeroDivisionError"),
    ],
)
def test_a_policy_that_is_none_is_said_in_one_line(text, said, tmp_path, capsys):
    (tmp_path / "stay.py").write_text(text)
    assert main(["demos", "eval", str(tmp_path / "stay.py"), *SUGAR]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert said in line


def test_a_policy_of_lerobot_needs_lerobot(tmp_path, capsys):
    pytest.importorskip("gymnasium")
    (tmp_path / "config.json").write_text("{}")
    status = main(["demos", "eval", str(tmp_path), *SUGAR])
    assert status == 2
    assert "policy of LeRobot" in capsys.readouterr().err
