"""A window that shows pictures and reads mouse and keys (pygame-ce, extra ``planar``)."""

from __future__ import annotations

import logging
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

_log = logging.getLogger(__name__)
_UNSEEN = ("dummy", "offscreen")  # SDL's drivers without a display, its last resort


class Window:
    """A window, open until ``close``; also a context manager.

    Attributes:
        pygame: the library, for the names of keys.
        keys: the keys that are down.
        pressed: the keys that went down in the last ``read``.
        mouse: the pixel (x, y) of the mouse; None until it has moved in the window.

    Args:
        width, height: pixels.
        title: text in the window's frame.
        seen: whether there must be a display; False: without one the window opens unseen.

    Raises:
        ImportError: pygame is missing.
        RuntimeError: there is no display.
    """

    def __init__(self, width: int, height: int, title: str, seen: bool = True) -> None:
        os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
        import pygame

        self.pygame: Any = pygame
        self.keys: set[int] = set()
        self.pressed: set[int] = set()
        self.mouse: tuple[int, int] | None = None
        try:
            pygame.display.init()
            if pygame.display.get_driver() in _UNSEEN and "SDL_VIDEODRIVER" not in os.environ:
                if seen:
                    raise RuntimeError("no window: there is no display")
                _log.warning("there is no display: nobody sees the window")
            self._surface = pygame.display.set_mode((width, height))
        except pygame.error as error:
            raise RuntimeError(f"no window: {error}") from None
        pygame.display.set_caption(title)
        self._clock = pygame.time.Clock()

    def __enter__(self) -> Window:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def read(self) -> bool:
        """Read the events since the last call; False after escape or if the window was closed."""
        pygame = self.pygame
        self.pressed = set()
        for event in pygame.event.get():
            if event.type == pygame.QUIT:
                return False
            if event.type == pygame.KEYDOWN:
                self.keys.add(event.key)
                self.pressed.add(event.key)
            elif event.type == pygame.KEYUP:
                self.keys.discard(event.key)
            elif event.type == pygame.MOUSEMOTION:
                self.mouse = event.pos
        return pygame.K_ESCAPE not in self.pressed

    def show(self, picture: NDArray[np.uint8], rate: float) -> None:
        """Show a picture (h, w, 3), then wait until 1 / rate (s) after the last one."""
        # pygame counts columns first.
        self.pygame.surfarray.blit_array(self._surface, picture.swapaxes(0, 1))
        self.pygame.display.flip()
        self._clock.tick(rate)

    def close(self) -> None:
        """Close the window; a second call does nothing."""
        self.pygame.quit()
