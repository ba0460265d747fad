"""``galley reach field``: a picture and a sentence; bad input."""

import re

import pytest
from PIL import Image

from galley.cli import main


def test_the_kitchens_field_is_drawn_and_told(tmp_path, capsys):
    out = tmp_path / "field.png"
    arguments = ["reach", "field", "sugar_box", "--grid", "15", "--out", str(out)]
    assert main(arguments) == 0
    said = " ".join(capsys.readouterr().out.split())
    reach, room = (float(v) for v in re.findall(r"([\d.]+)% ?(?:of all|;)", said)[:2])
    assert 15.0 < reach < 40.0
    assert 0.5 < room < reach
    colors = Image.open(out).convert("RGB").getcolors(1 << 20)
    assert len(colors) > 50


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sugarbox"], "did you mean 'sugar_box'?"),
        (["xyz"], "there are"),
        (["sugar_box", "--scene", "nowhere.yaml"], "nowhere.yaml"),
        (["sugar_box", "--out", "field.jpg"], ".png"),
        (["sugar_box", "--grid", "1"], "got 1"),
    ],
)
def test_bad_input_is_named(arguments, message, capsys):
    assert main(["reach", "field", *arguments]) == 2
    assert message in capsys.readouterr().err
