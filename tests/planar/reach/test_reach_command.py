"""``galley reach`` from the command line: help, bad input, missing extras, the whole sequence."""

from __future__ import annotations

from functools import partial

import pytest

from galley.planar.commands.reach.plot import KINDS
from galley.planar.reach.dataset import load, read_settings


@pytest.fixture
def run(cli):
    """``run(*words)``: exit status, stdout and stderr of ``galley reach``."""
    return partial(cli, "reach")


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["sample", "--epsilon", 3], "epsilon must be in [0, 0.8)"),
        (["sample", "--limits", 2, 1, -1, 1], "limits of joint 1 are empty: 2 >= 1"),
        (["sample", "--limits", 2, 2.5, 0.1, 0.2, "--heading-sigma", 0.01], "within the limits"),
        (["sample", "--target", 0, 0, "--bounds", 0, 1, 0, 1], "not allowed with"),
        (["sample", "--box", 1, 2, 3], "got box 1 2 3"),
        (["sample", "--forbid", "circle", "x"], "'x' is not a number"),
        (["plot", "--data", "nowhere", "--l1", 2], "--data: arm and sampler are those of"),
        (["plot", "--kinds", "donut", "--model", "m"], "--model is drawn by --kinds density alone"),
        (["plot", "--kinds", "density", "--model", "m"], "m: no such file"),
        (["plot", "--kinds", "donut", "--data", "d", "--bases", 9], "--bases has no effect"),
    ],
)
def test_bad_input_is_refused_in_one_line(words, named, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, out, err = run(*words)
    assert status == 2
    assert named in err.splitlines()[-1]
    assert "Traceback" not in err
    assert not out
    assert not list(tmp_path.iterdir())


def test_sample_then_plot(run, tmp_path):
    data, plots = tmp_path / "data", tmp_path / "plots"
    status, out, _ = run("sample", "--bases", 3000, "--target", 1, 2, "--jobs", 1, "--out", data)
    assert status == 0
    assert "6000 rows, 2.000 a base, in 1 file" in out
    assert len(load(data)) == 5400
    status, out, err = run("plot", "--data", data, "--kinds", "donut", "--out", plots)
    assert (status, err) == (0, "")
    assert sorted(each.name for each in plots.iterdir()) == ["donut.png"]


def test_a_dataset_that_is_too_small_to_draw_is_refused(run, tmp_path):
    data, plots = tmp_path / "data", tmp_path / "plots"
    assert run("sample", "--bases", 5, "--jobs", 1, "--out", data)[0] == 0
    status, _, err = run("plot", "--data", data, "--out", plots)
    assert status == 2
    assert "has no validation rows to draw" in err
    assert err.count("\n") == 1
    assert not plots.exists()


def test_a_dataset_without_rows_is_no_success(run, tmp_path):
    words = ("--circle", 0, 0, 5, "--target", 0, 0, "--bases", 20, "--jobs", 1)
    status, out, err = run("sample", *words, "--out", tmp_path / "data")
    assert status == 1
    assert "0 rows" in out
    assert err == "the dataset is empty: no candidate base passes the filters\n"


def test_shapes_of_the_command_line_are_those_of_the_settings(run, tmp_path):
    words = (
        "--circle", 1, 0, 0.2, "--box", 0, 1, 0.3, 0.2, "--box", 1, 1, 0.1, 0.2, 0.5,
        "--polygon", 0, 0, 1, 0, 0, 1, "--forbid", "circle", 2, 2, 0.5, "--margin", 0.01,
        "--bases", 100, "--jobs", 1,
    )  # fmt: skip
    assert run("sample", *words, "--out", tmp_path / "data")[0] == 0
    found = read_settings(tmp_path / "data")
    assert found.obstacles == (
        ("circle", (1.0, 0.0, 0.2)),
        ("box", (0.0, 1.0, 0.3, 0.2)),
        ("box", (1.0, 1.0, 0.1, 0.2, 0.5)),
        ("polygon", (0.0, 0.0, 1.0, 0.0, 0.0, 1.0)),
    )
    assert found.forbidden == (("circle", (2.0, 2.0, 0.5)),)
    assert found.margin == 0.01


@pytest.mark.slow
def test_every_kind_of_picture_is_drawn(run, tmp_path):
    status, _, err = run("plot", "--bases", 300, "--out", tmp_path)
    assert (status, err) == (0, "")
    assert {each.stem for each in tmp_path.iterdir()} == set(KINDS)
    assert all(each.stat().st_size > 10_000 for each in tmp_path.iterdir())
