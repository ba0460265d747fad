"""A window that shows pictures and knows the mouse and the keys (pygame-ce, extra ``planar``)."""

from __future__ import annotations

import logging
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

_log = logging.getLogger(__name__)
_UNSEEN = ("dummy", "offscreen")  # SDL's last resorts


class Window:
    """A window, open until ``close``; also a context manager.

    Attributes:
        pygame: the library, for its names of keys.
        keys: the keys that are down.
        pressed: those that went down in the last ``read``.
        mouse: its pixel (x, y); None until it has moved in the window.

    Args:
        width, height: pixels. title: in its frame.
        seen: whether there must be a display; else it opens without one, and nobody sees it.

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
        """Take in what happened since the last call; False once escape or the frame's close."""
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
        """Show a picture (h, w, 3), then wait until 1 / rate (s) have passed since the last."""
        # pygame counts columns first.
        self.pygame.surfarray.blit_array(self._surface, picture.swapaxes(0, 1))
        self.pygame.display.flip()
        self._clock.tick(rate)

    def close(self) -> None:
        """Close it; twice does no harm."""
        self.pygame.quit()
