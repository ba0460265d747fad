"""Motions and Manipulations of users' skills: what is wrong with one is said in words."""

from dataclasses import replace

import numpy as np
import pytest

from galley.domain.state import State
from galley.skills.given_types import manipulation_fault
from galley.skills.manipulation.manipulation import Line, Manipulation, Stroke

NAMES = frozenset({"cup", "table", "finger"})
STATE = State(np.zeros(12), np.zeros(2), ())
PAIRS = frozenset({("cup", "finger")})
LINE = Line("reach", np.tile(np.eye(4), (3, 1, 1)), STATE, PAIRS, (), 0.1)
STROKE = Stroke("close fingers", 0.01, PAIRS, ())
GOOD = Manipulation("take", (LINE, STROKE, LINE), 0.04)


def with_line(**changes):
    return replace(GOOD, steps=(replace(LINE, **changes), STROKE, LINE))


def with_stroke(**changes):
    return replace(GOOD, steps=(LINE, replace(STROKE, **changes), LINE))


def test_a_good_one_has_no_fault():
    assert manipulation_fault(GOOD, NAMES) is None
    assert manipulation_fault(with_line(scene_q=np.zeros((3, 2)), speed=1), NAMES) is None


@pytest.mark.parametrize(
    ("found", "says"),
    [
        ((GOOD,), "a tuple"),
        (replace(GOOD, opening="wide"), "whose opening is no number from 0"),
        (replace(GOOD, opening=float("nan")), "whose opening is no number from 0"),
        (replace(GOOD, steps=[LINE]), "whose steps are no tuple of Lines and Strokes"),
        (replace(GOOD, steps=()), "does not begin and end with a Line"),
        (replace(GOOD, steps=(LINE, STROKE)), "does not begin and end with a Line"),
        (with_line(poses=np.eye(4)), "the shape (4, 4), not (n, 4, 4)"),
        (with_line(poses=np.eye(4)[None]), "the shape (1, 4, 4), not (n, 4, 4) with n from 2"),
        (with_line(poses=[np.eye(4)] * 3), "whose poses is a list"),
        (with_line(poses=np.full((3, 4, 4), np.nan)), "no finite numbers"),
        (with_line(poses=np.array([np.diag([1.0, 1.0, -1.0, 1.0])] * 3)), "no rotation matrices"),
        (with_line(speed="fast"), "whose speed is no number greater than 0"),
        (with_line(speed=0.0), "whose speed is no number greater than 0"),
        (with_line(state=None), "whose state is None"),
        (with_line(scene_q=np.zeros((2, 2))), "the shape (2, 2), not (3, 2)"),
        (with_line(allowed=frozenset({("cupp", "finger")})), "'cupp' to touch"),
        (with_line(allowed=frozenset({("cupp", "finger")})), "did you mean 'cup'?"),
        (with_line(allowed=frozenset({"cup"})), "not of pairs of names"),
        (with_stroke(opening=None), "Stroke whose opening is no number from 0"),
        (with_stroke(attachments=("cup",)), "attachments that are no Attachment"),
        (with_stroke(guard=3.0), "whose guard is a float"),
    ],
)
def test_each_fault_is_named(found, says):
    assert says in manipulation_fault(found, NAMES)
