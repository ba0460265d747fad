"""Figures as files."""

import pytest

from galley.viz.figures import figure_file


def test_a_figure_that_fails_leaves_no_file(tmp_path):
    with pytest.raises(ZeroDivisionError), figure_file(tmp_path / "f.png", (2.0, 2.0)):
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []
