"""The examples of docs/contact.md and docs/pushing.md run, and print what their comments say."""

import re
from pathlib import Path

import pytest

import galley

DOCS = Path(galley.__file__).parent / "docs"


def test_the_examples_run(capsys):
    code = "".join(re.findall(r"```python\n(.*?)```", (DOCS / "contact.md").read_text(), re.DOTALL))
    exec(code, names := {})
    assert "5.000 s  slip" in capsys.readouterr().out
    assert names["samples"].sensor[0] == 0.5
    assert names["run"].at(20.0).sensor[0] == pytest.approx(0.4)
    assert names["found"].area == pytest.approx(0.04)
    assert names["distance"] == pytest.approx([-0.05, 0.1])


def test_the_examples_of_pushing_run(capsys):
    code = "".join(re.findall(r"```python\n(.*?)```", (DOCS / "pushing.md").read_text(), re.DOTALL))
    exec(code, names := {})
    assert names["state"].coverage.max() > 0.0
    assert names["many"].single_observation_space.shape == (5,)
    assert names["observation"]["agent_pos"].shape == (2,)
    assert "(96, 96, 3)" in capsys.readouterr().out
    assert names["run"].success
