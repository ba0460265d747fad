"""Films appear whole or not at all, and trouble is told in one line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from galley.domain.errors import BadInput
from galley.viz.encoder import encoded


def write(path: Path, height: int, width: int, count: int = 20) -> None:
    with encoded(path, 10.0) as append:
        for k in range(count):
            append(np.full((height, width, 3), k, dtype=np.uint8))


def test_what_ffmpeg_refuses_is_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"the encoder failed: .") as caught:
        write(tmp_path / "a.mp4", 33, 35, 400)  # H.264 in yuv420p needs even sides
    assert len(str(caught.value).splitlines()) == 1
    assert "libx264" not in str(caught.value), "not ffmpeg's whole command"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", ["no/a.mp4", "a" * 300 + ".mp4"])
def test_a_film_that_can_not_be_written_is_not_begun(path: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        write(tmp_path / path, 32, 32)
    assert len(str(caught.value).splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_film_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    def broken(path: Path) -> None:
        with encoded(path, 10.0) as append:
            append(np.zeros((32, 32, 3), dtype=np.uint8))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken(tmp_path / "a.mp4")
    assert list(tmp_path.iterdir()) == []
    write(tmp_path / "a.mp4", 32, 32)
    assert [p.name for p in tmp_path.iterdir()] == ["a.mp4"]
