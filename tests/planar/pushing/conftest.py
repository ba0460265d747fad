"""What the tests of pushing share."""

import pytest


@pytest.fixture
def no_display(monkeypatch):
    """As on a server: no display, and no word of it to SDL."""
    for name in ("SDL_VIDEODRIVER", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
