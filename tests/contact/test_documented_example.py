"""The examples of docs/contact.md run, and print what their comments say."""

import re
from pathlib import Path

import pytest

import galley

PAGE = Path(galley.__file__).parent / "docs" / "contact.md"


def test_the_examples_run(capsys):
    code = "".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL))
    exec(code, names := {})
    assert "5.000 s  slip" in capsys.readouterr().out
    assert names["samples"].sensor[0] == 0.5
    assert names["run"].at(20.0).sensor[0] == pytest.approx(0.4)
