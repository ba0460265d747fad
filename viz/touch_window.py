"""A window in which the arrow keys push the finger (pygame-ce, extra ``push``)."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np

from galley.contact.finger.model import Finger
from galley.contact.finger.simulation import Fault, Simulation
from galley.contact.finger.trace import Trace
from galley.viz.touch import EPOCH_NAMES, Moment, Stage

_SIZE = (960, 360)  # pixels
_VIEW = 6.0  # m across the window
_MARGIN = 0.3  # share of the window that is kept clear ahead of the object and behind the fingertip
_STEP = 0.04  # s, between pictures: what drawing one takes, and to spare
_HARD = 5.0  # with shift
_UNSEEN = ("dummy", "offscreen")  # SDL's last resorts
_HELP = "left, right: push   shift: five times as hard   escape: end"


def drive(finger: Finger, force: float = 2.0, longest: float = 600.0) -> Trace:
    """Open a window and simulate until escape or the window is closed.

    It runs in real time; slower, where the contact time is shorter than a picture takes (0.04 s).

    Args:
        finger: the parameters.
        force: N, of an arrow key; with shift five times that.
        longest: s after which it ends by itself.

    Raises:
        ImportError: pygame is missing.
        RuntimeError: there is no display.
    """
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    import pygame

    try:
        pygame.display.init()
        if pygame.display.get_driver() in _UNSEEN and "SDL_VIDEODRIVER" not in os.environ:
            raise RuntimeError("no window: there is no display")
        window = pygame.display.set_mode(_SIZE)
    except pygame.error as error:
        raise RuntimeError(f"no window: {error}") from None
    run, step = Simulation(finger), min(_STEP, finger.contact_time)
    stage = Stage(finger, *_SIZE, -0.3 * _VIEW, 0.7 * _VIEW, _HARD * force, _HELP)
    clock = pygame.time.Clock()
    pygame.display.set_caption("galley touch")
    keys, fault = _Keys(), None
    try:
        while run.time < longest and keys.read(pygame):
            applied = force * keys.push(pygame)
            try:
                run.advance(applied, run.time + step)
            except Fault as error:
                fault = str(error)
                break
            stage = _following(stage, run.x_f, run.x_o)
            note = EPOCH_NAMES[run.epoch]
            felt = run.sense().sensor
            picture = stage.draw(Moment(run.x_f, run.x_o, applied, felt, run.time, note))
            pixels = np.asarray(picture).swapaxes(0, 1)  # pygame counts columns first
            pygame.surfarray.blit_array(window, pixels)
            pygame.display.flip()
            clock.tick(1.0 / step)
    finally:
        pygame.quit()
    return run.trace(fault)


class _Keys:
    """Which keys are down, from pygame's events."""

    def __init__(self) -> None:
        self._down: set[int] = set()

    def read(self, pygame: Any) -> bool:
        """Take in what happened since the last call; returns whether to go on."""
        for event in pygame.event.get():
            if event.type == pygame.QUIT:
                return False
            if event.type == pygame.KEYDOWN:
                self._down.add(event.key)
            elif event.type == pygame.KEYUP:
                self._down.discard(event.key)
        return pygame.K_ESCAPE not in self._down

    def push(self, pygame: Any) -> float:
        """-1, 0 or 1 by the arrow keys; five times that with shift."""
        way = float(pygame.K_RIGHT in self._down) - float(pygame.K_LEFT in self._down)
        hard = self._down & {pygame.K_LSHIFT, pygame.K_RSHIFT}
        return way * (_HARD if hard else 1.0)


def _following(stage: Stage, x_f: float, x_o: float) -> Stage:
    """The stage, moved where fingertip or object would come too near to its edge."""
    span = stage.high - stage.low
    shift = min(0.0, x_f - (stage.low + _MARGIN * span))
    # The finger stays in the picture, also where it has left the object far behind.
    shift = shift or max(0.0, min(x_o, x_f + _VIEW / 2) - (stage.high - _MARGIN * span))
    return replace(stage, low=stage.low + shift, high=stage.high + shift)
