"""Figures of a comparison."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from galley.studies.comparison.measures import CLEARANCE_CAP, CollisionVerdict, Hit
from galley.studies.comparison.pictures import STYLES, draw_query


def shown(path, method):
    """How many of a figure's pixels have a method's colour."""
    pixels = np.asarray(Image.open(path).convert("RGB")).astype(int)
    color = [int(STYLES[method][0][k : k + 2], 16) for k in (1, 3, 5)]
    return int((np.abs(pixels - color).max(axis=2) < 12).sum())


@pytest.mark.slow
@pytest.mark.parametrize("collides", [False, True])
def test_every_method_is_in_the_figure(tmp_path, kitchen, robot, solved, collides):
    path = tmp_path / "compare.png"
    if collides:
        verdict = CollisionVerdict(False, (Hit(0.5, ("hand", "stove"), 0.01, "kernel"),), 9)
        rows = tuple((a, m and replace(m, verdict=verdict)) for a, m in solved.rows)
        solved = replace(solved, rows=rows)
    draw_query(path, solved, robot)
    assert [p.name for p in tmp_path.iterdir()] == ["compare.png"]
    assert Image.open(path).size == (1760, 1210)
    for attempt, measured in solved.rows:
        assert (shown(path, attempt.method) > 100) == (measured is not None)


@pytest.mark.slow
@pytest.mark.parametrize("least", [CLEARANCE_CAP, 0.1])
def test_joints_have_their_names_and_clearance_a_panel_only_where_something_is_near(
    tmp_path, drawn, robot, solved, least
):
    rows = []
    for attempt, measured in solved.rows:
        falls = np.linspace(CLEARANCE_CAP, least, len(measured.curve.clearance))
        curve = replace(measured.curve, clearance=falls)
        rows.append((attempt, replace(measured, clearance=least, curve=curve)))
    draw_query(tmp_path / "compare.png", replace(solved, rows=tuple(rows)), robot)
    assert {axes.get_title(loc="left") for axes in drawn} == {"", *robot.group("arm").joints}
    panels = [axes for axes in drawn if "clearance" in axes.get_ylabel()]
    assert len(panels) == (least < CLEARANCE_CAP)
