"""Figures of a comparison."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from galley.studies.comparison.measures import CollisionVerdict, Hit
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
