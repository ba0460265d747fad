"""Tasks of this folder, given as text."""

import pytest

from galley.domain.pddl.reader import read_task
from galley.tests.domain.pddl.places import DOMAIN, PROBLEM


@pytest.fixture
def read(tmp_path):
    """``read(domain, problem)``: the task of two texts; the sound ones where none is given."""

    def run(domain=DOMAIN, problem=PROBLEM):
        (tmp_path / "d.pddl").write_text(domain, encoding="utf-8", newline="")
        (tmp_path / "p.pddl").write_text(problem, encoding="utf-8", newline="")
        return read_task(tmp_path / "d.pddl", tmp_path / "p.pddl")

    return run
