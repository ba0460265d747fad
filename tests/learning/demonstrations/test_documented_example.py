"""The example of docs/demonstrations.md runs, and leaves what it says."""

import re
from pathlib import Path

import galley
from galley.learning.demonstrations import read_replay_buffer

PAGE = Path(galley.__file__).parent / "docs" / "demonstrations.md"


def test_the_example_runs(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    code = "".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL))
    exec(code, names := {})
    counts = [int(each) for each in capsys.readouterr().out.split()[:4]]
    good = [seed for seed in range(12) if names["reach"](seed).success]
    validation = round(0.2 * len(good))
    assert counts == [12, len(good), len(good) - validation, validation]
    assert {each.seed for each in read_replay_buffer(tmp_path / "reaching.zarr").infos} < set(good)
    assert (tmp_path / "reaching_lerobot" / "meta" / "info.json").is_file()
