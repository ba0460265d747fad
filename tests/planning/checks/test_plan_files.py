"""Plans as other planners write them, and costs that are printed exactly."""

import os
import threading

import pytest

from galley.domain.errors import BadInput
from galley.planning import GroundAction, read_plan
from galley.planning.operators import cost_text

ACTIONS = (
    GroundAction("navigate", ("center", "burner")),
    GroundAction("pick", ("sugar", "burner", "h1")),
)
FORMS = {
    "ours": "(navigate center burner)\n(pick sugar burner h1)\n; cost 2\n",
    "VAL": "0.000: (navigate center burner) [1.000]\n1.001: (pick sugar burner h1) [1.000]\n",
    "out of order": "2.0: (pick sugar burner h1) [1]\n1: (navigate center burner) [1]\n",
    "upper case": "; Time 0.01\n\n0: (NAVIGATE CENTER BURNER) [1]\n1: (PICK SUGAR BURNER H1) [1]",
    "LPG": "0: (NAVIGATE CENTER BURNER) [D:1.0; C:0.1]\n1: (PICK SUGAR BURNER H1) [D:1; C:0]",
    "a bare list": "1) navigate center burner\n2) pick sugar burner h1\n",
    "FF": "step    0: NAVIGATE CENTER BURNER\n        1: PICK SUGAR BURNER H1\n",
    "numbered and bare": "0: NAVIGATE CENTER BURNER\n1: PICK SUGAR BURNER H1\n",
}


@pytest.mark.parametrize("form", FORMS)
def test_plans_of_other_planners_are_read(form, tmp_path):
    (tmp_path / "plan").write_text(FORMS[form])
    assert read_plan(tmp_path / "plan") == ACTIONS


@pytest.mark.parametrize(
    ("text", "line", "column", "what"),
    [
        ("(a b)\npick", 2, 1, "expected an action"),
        ("(a b)\n  ()", 2, 3, "needs a name"),
        ("(a ?x)", 1, 4, "a variable can't stand here"),
        ("(a (b))", 1, 4, "expected an object"),
        ("(a b)\n(c d", 2, 1, "never closed"),
        ("(a b))", 1, 6, "closes nothing"),
    ],
)
def test_plan_file_faults(tmp_path, text, line, column, what):
    (tmp_path / "plan.txt").write_text(text)
    with pytest.raises(BadInput) as caught:
        read_plan(tmp_path / "plan.txt")
    (fault,) = caught.value.errors
    assert (fault.line, fault.column) == (line, column)
    assert what in fault.what


def test_a_plan_from_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=(FORMS["VAL"],))
    writer.start()
    assert read_plan(tmp_path / "pipe") == ACTIONS
    writer.join()


def test_empty_plan_file(tmp_path):
    (tmp_path / "plan.txt").write_text("; nothing to do\n")
    assert read_plan(tmp_path / "plan.txt") == ()


@pytest.mark.parametrize(
    ("cost", "text"),
    [(1e6, "1000000"), (1234567.5, "1234567.5"), (0.0, "0"), (0.1, "0.1"), (10, "10")],
)
def test_costs_are_written_out(cost, text):
    assert cost_text(cost) == text
