from __future__ import annotations

import numpy as np
import pytest

from galley.viz.captions import (
    Caption,
    action_captions,
    caption_height,
    draw_caption,
    speed_badge,
)

FULL = Caption("3/8  place sugar countertop", "approach", "12.4 s", "2x speed", "Galley")


def picture(width: int, height: int) -> np.ndarray:
    return np.full((height, width, 3), 200, dtype=np.uint8)


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (854, 480), (640, 360)])
def test_the_bar_is_dark_with_bright_letters(width: int, height: int) -> None:
    before = picture(width, height)
    after = draw_caption(before, FULL)
    assert (before == 200).all()  # a copy is drawn on
    bar = caption_height(height)
    assert (after[2 * bar : height - bar] == 200).all()  # between the tags above and the bar
    foot = after[height - bar :].astype(int)
    letters = foot.min(axis=2) > 190
    rows, columns = np.flatnonzero(letters.any(axis=1)), np.flatnonzero(letters.any(axis=0))
    assert 0.3 * bar < np.ptp(rows) < 0.9 * bar  # letters a third of the bar or more, none cut off
    assert rows.min() > 1
    assert rows.max() < bar - 2
    assert columns.min() < 0.05 * width
    assert np.median(foot) < 80
    orange = (foot[..., 0] > 200) & (foot[..., 2] < 120)
    assert orange.sum() > 30  # the phase


def test_tags_stand_in_their_corners() -> None:
    plain = picture(1280, 720)
    only = draw_caption(plain, Caption(badge="2x speed"))
    changed = np.argwhere((only != 200).any(axis=2))
    assert changed[:, 0].max() < 100
    assert changed[:, 1].min() > 1000
    only = draw_caption(plain, Caption(title="Galley"))
    changed = np.argwhere((only != 200).any(axis=2))
    assert changed[:, 0].max() < 100
    assert changed[:, 1].max() < 300
    assert (draw_caption(plain, Caption()) == plain).all()


def test_a_long_action_ends_in_dots_before_phase_and_clock() -> None:
    long = draw_caption(picture(640, 360), Caption("4/9  " + "stow " * 40, "approach", "1.0 s"))
    foot = long[-caption_height(360) :].astype(int)
    orange = (foot[..., 0] > 200) & (foot[..., 2] < 120)
    assert orange.any()
    assert np.flatnonzero(orange.any(axis=0)).max() < 640 - 40


def test_actions_are_counted() -> None:
    lines = ["navigate a b | drive", "pick s b h | approach", "pick s b h | retreat"]
    assert action_captions(lines) == [
        ("1/2  navigate a b", "drive"),
        ("2/2  pick s b h", "approach"),
        ("2/2  pick s b h", "retreat"),
    ]
    assert speed_badge(1.0) == ""
    assert speed_badge(2.5) == "2.5x speed"
