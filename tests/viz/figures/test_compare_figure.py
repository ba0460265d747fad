"""Figures of trajectories."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from galley.domain.frames import rotation_z, transform
from galley.robots import RobotModel
from galley.viz.figures.comparison import (
    Line,
    Panel,
    Sample,
    best_view,
    compare_figure,
    distribution_figure,
    outlines,
)
from galley.viz.figures.file import figure_file
from galley.viz.render.sightlines import Boxes

X_WB = transform(rotation_z(0.5), [0.4, -0.2, 0.3])
BOXES = Boxes(np.linalg.inv(X_WB)[None], np.array([[0.3, 0.2, 0.1]]))


def line(color: str, hit: float | None = None) -> Line:
    t = np.linspace(0.0, 2.0, 50)
    q = np.sin(t)[:, None] * np.ones(7)
    hand = np.stack([np.cos(t), np.sin(t), 0.1 * t], axis=1)
    return Line(
        "a line", color, t, q, np.cos(t)[:, None] * np.ones(7), hand, t, 0.1 - 0.05 * t, hit
    )


def test_the_view_is_the_one_in_which_the_path_spreads_most() -> None:
    flat = np.random.default_rng(0).uniform(-1, 1, (30, 3))
    for axis, name in ((2, "from above"), (1, "from the side"), (0, "from the front")):
        points = flat.copy()
        points[:, axis] *= 0.01
        assert best_view(points)[0] == name


def test_outlines_hold_the_whole_box_and_touch_it() -> None:
    grid = np.stack(np.meshgrid(*[[-1.0, 0.0, 1.0]] * 3), axis=-1).reshape(-1, 3)
    points = grid * BOXES.halves[0] @ X_WB[:3, :3].T + X_WB[:3, 3]
    for a, b in ((0, 1), (0, 2), (1, 2)):
        ((low, high),) = outlines(BOXES, a, b)
        assert np.allclose(points[:, [a, b]].min(axis=0), low)
        assert np.allclose(points[:, [a, b]].max(axis=0), high)


@pytest.mark.slow
def test_every_line_is_in_the_figure(tmp_path: Path, robot: RobotModel) -> None:
    path = tmp_path / "compare.png"
    lines = [line("#ff0000", 0.5), line("#0000ff")]
    compare_figure(path, "a title", lines, robot.group("arm"), BOXES, np.zeros(3))
    assert [p.name for p in tmp_path.iterdir()] == ["compare.png"]
    pixels = np.asarray(Image.open(path).convert("RGB")).astype(int)
    assert pixels.shape == (1210, 1760, 3)
    for color in ((255, 0, 0), (0, 0, 255)):
        assert (np.abs(pixels - color).max(axis=2) < 40).sum() > 100


def test_methods_without_a_success_leave_room_in_the_distributions(tmp_path: Path) -> None:
    path = tmp_path / "d.png"
    samples = [
        Sample("one", "#ff0000", 1.0, {"x": [1.0, 2.0, 3.0]}),
        Sample("none", "#00ff00", 0.0, {}),
    ]
    distribution_figure(path, "title", samples, [Panel("x", "x, ms", logarithmic=True)])
    assert Image.open(path).size[0] == 1760


def test_a_figure_that_fails_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), figure_file(tmp_path / "f.png", (2.0, 2.0)):
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []
