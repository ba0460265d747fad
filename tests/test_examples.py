"""The examples: each runs as a plain script, and is a notebook to jupytext."""

from pathlib import Path

import jupytext
import pytest

import galley
from galley.tests.command_line import environment, python

FOLDER = Path(galley.__file__).parent / "examples"
EXAMPLES = sorted(FOLDER.glob("[0-9]*.py"))


def test_there_are_nine_numbered_from_one():
    assert [path.name[:2] for path in EXAMPLES] == [f"{k:02}" for k in range(1, 10)]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_a_notebook(path):
    text = path.read_text()
    notebook = jupytext.read(path)
    kinds = [cell.cell_type for cell in notebook.cells]
    assert kinds[0] == "markdown"
    assert notebook.cells[0].source.startswith("# ")
    assert kinds.count("code") >= 3
    assert kinds.count("markdown") >= 3
    assert 40 <= len(text.splitlines()) <= 120
    # Nothing is lost on the way to a notebook and back.
    code = "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    again = jupytext.reads(jupytext.writes(notebook, "ipynb"), "ipynb")
    assert code == "\n\n".join(c.source for c in again.cells if c.cell_type == "code")
    compile(code, str(path), "exec")


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_elsewhere_and_writes_only_into_runs(path, tmp_path):
    before = {each: each.stat().st_mtime_ns for each in FOLDER.rglob("*") if each.is_file()}
    done = python(path, cwd=tmp_path, env=environment())
    assert done.status == 0, done.err[-3000:]
    assert 2 <= len(done.out.splitlines()) <= 60, done.out
    assert {each.name for each in tmp_path.iterdir()} <= {"runs"}
    after = {each: each.stat().st_mtime_ns for each in FOLDER.rglob("*") if each.is_file()}
    assert {k: v for k, v in after.items() if "__pycache__" not in k.parts} == {
        k: v for k, v in before.items() if "__pycache__" not in k.parts
    }
