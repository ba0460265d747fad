"""Environments that are seen: pictures for people, or a window that shows each step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from galley.planar.pushing.picture import Picture

if TYPE_CHECKING:
    from galley.planar.window import Window

Actions = NDArray[np.float32]
Info = dict[str, Any]
Seen = Any
"""An observation: an array, or a dict of them."""


def known_mode(mode: str | None, metadata: Info) -> str | None:
    """A way to render that an environment has.

    Raises:
        ValueError: it has not.
    """
    if mode not in (None, *metadata["render_modes"]):
        known = ", ".join(metadata["render_modes"])
        raise ValueError(f"render_mode = {mode!r}: must be None or one of {known}")
    return mode


class RenderedEnv(gymnasium.Env[Seen, Actions]):
    """An environment with a picture.

    Args:
        render_mode: None, ``rgb_array`` or ``human``. step: s, of a control step.

    Raises:
        ValueError: no such way to render.
    """

    metadata = {  # noqa: RUF012 (as Gymnasium declares it)
        "render_modes": ["human", "rgb_array"],
        "render_fps": 10,
    }

    def __init__(self, render_mode: str | None, step: float) -> None:
        self.render_mode = known_mode(render_mode, self.metadata)
        self.metadata = {**self.metadata, "render_fps": round(1.0 / step, 3)}
        self._window: Window | None = None

    def __getstate__(self) -> dict[str, Any]:
        """A copy has no window until it shows a picture."""
        return {**vars(self), "_window": None}

    def _picture(self) -> Picture:
        """What there is to see (h, w, 3)."""
        raise NotImplementedError

    def render(self) -> Any:
        """The picture (h, w, 3) with ``rgb_array``; with ``human`` it is shown, as each step.

        Raises:
            ImportError: ``human``, and pygame is missing.
            RuntimeError: ``human``, and the window can't be opened.
        """
        if self.render_mode is None:
            return None
        picture = self._picture()
        if self.render_mode == "rgb_array":
            return picture
        if self._window is None:
            from galley.planar.window import Window

            height, width, _ = picture.shape
            self._window = Window(width, height, "galley/Push-v0", seen=False)
        self._window.read()
        self._window.show(picture, self.metadata["render_fps"])
        return None

    def close(self) -> None:
        """Close the window."""
        if self._window is not None:
            self._window.close()
            self._window = None
