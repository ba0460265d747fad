"""Tasks for the tests of this folder."""

from importlib.resources import files
from pathlib import Path

import pytest

from galley.domain.pddl.reader import read_task
from galley.planning import ground


@pytest.fixture
def pddl(tmp_path):
    """Reads a domain and a problem given as text."""

    def read(domain, problem):
        (tmp_path / "d.pddl").write_text(domain)
        (tmp_path / "p.pddl").write_text(problem)
        return read_task(tmp_path / "d.pddl", tmp_path / "p.pddl")

    return read


@pytest.fixture(scope="session")
def kitchen_task():
    """The default kitchen task, grounded."""
    folder = Path(str(files("galley.domain").joinpath("kitchen")))
    return ground(*read_task(folder / "kitchen.pddl", folder / "task.pddl"))
