"""The executor that docs/disturbances.md writes is one, in 20 lines."""

import re
from pathlib import Path

import galley

PAGE = Path(galley.__file__).parent / "docs" / "disturbances.md"


def blocks():
    return re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)


def test_the_page_runs_from_top_to_bottom(capsys):
    code = "".join(blocks())
    exec(compile(code, str(PAGE), "exec"), {})
    said = capsys.readouterr().out
    assert "sugar_box" in said
    assert "navigate center burner | drive" in said
