"""docs/validation.md: its example runs, its table of tolerances and of kinds is the code's."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

import galley
from galley.validation.tolerances import KINEMATIC, PHYSICS, Tolerances
from galley.validation.verdict import Violation

PAGE = Path(galley.__file__).parent / "docs" / "validation.md"


def rows(heading):
    """Cells of the table under a heading."""
    text = PAGE.read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_example_runs(run_folder, tmp_path, monkeypatch, capsys):
    (tmp_path / "run").symlink_to(run_folder)
    monkeypatch.chdir(tmp_path)
    code = "".join(re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE))
    exec(compile(code, str(PAGE), "exec"), {})
    out = capsys.readouterr().out
    assert out.startswith("True True ")
    assert "(on sugar countertop) True sugar_box stands" in out


def test_the_table_has_every_tolerance_as_it_is():
    table = {row[0].strip("`"): (float(row[1]), float(row[2])) for row in rows("Tolerances")}
    assert set(table) == {field.name for field in fields(Tolerances)}
    for name, (kinematic, physics) in table.items():
        assert getattr(KINEMATIC, name) == pytest.approx(kinematic, rel=1e-12), name
        assert getattr(PHYSICS, name) == pytest.approx(physics, rel=1e-12), name


def test_the_table_has_every_kind():
    told = {kind for row in rows("What is found") for kind in re.findall(r"`([\w-]+)`", row[0])}
    known = Violation.__doc__.split("kind:")[1]
    assert told == set(re.findall(r"``([\w-]+)``", known))
    sources = "".join(p.read_text() for p in (PAGE.parents[1] / "validation").rglob("*.py"))
    for kind in told:
        assert f'"{kind}"' in sources, kind
