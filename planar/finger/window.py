"""A window in which the arrow keys push the finger (pygame-ce, extra ``planar``)."""

from __future__ import annotations

from galley.planar.finger.model import Finger
from galley.planar.finger.pictures import EPOCH_NAMES, FingerCanvas
from galley.planar.finger.simulation import RunError, Simulation
from galley.planar.finger.trace import Trace
from galley.planar.window import Window

_SIZE = (960, 360)  # pixels
_VIEW = 6.0  # m across the window
_MARGIN = 0.3  # share of the window that is kept clear ahead of the object and behind the fingertip
_STEP = 0.04  # s, between pictures; drawing one takes less
_HARD = 5.0  # times the force, with shift
_HELP = "left, right: push   shift: five times as hard   escape: end"


def drive(finger: Finger, force: float = 2.0, longest: float = 600.0) -> Trace:
    """Open a window and simulate until escape or the window is closed.

    It runs in real time, or slower if the contact time is shorter than a picture takes (0.04 s).

    Args:
        finger: the parameters.
        force: of an arrow key, N; with shift it is five times that.
        longest: time after which it ends by itself, s.

    Raises:
        ImportError: pygame is missing.
        RuntimeError: there is no display.
    """
    fault = None
    with Window(*_SIZE, "galley touch") as window:
        run, step = Simulation(finger), min(_STEP, finger.contact_time)
        stage = FingerCanvas(finger, *_SIZE, -0.3 * _VIEW, 0.7 * _VIEW, _HARD * force, _HELP)
        while run.time < longest and window.read():
            applied = force * _push(window)
            try:
                run.advance(applied, run.time + step)
            except RunError as error:
                fault = str(error)
                break
            _follow(stage, run.x_f, run.x_o)
            note = EPOCH_NAMES[run.epoch]
            felt = run.sense().sensor
            picture = stage.draw(run.x_f, run.x_o, applied, felt, run.time, note)
            window.show(picture, 1.0 / step)
    return run.trace(fault)


def _push(window: Window) -> float:
    """-1, 0 or 1 by the arrow keys; five times that with shift."""
    pygame, down = window.pygame, window.keys
    way = float(pygame.K_RIGHT in down) - float(pygame.K_LEFT in down)
    return way * (_HARD if down & {pygame.K_LSHIFT, pygame.K_RSHIFT} else 1.0)


def _follow(stage: FingerCanvas, x_f: float, x_o: float) -> None:
    """Move the stage if the fingertip or the object is too near to its edge."""
    span = stage.high - stage.low
    shift = min(0.0, x_f - (stage.low + _MARGIN * span))
    # The finger stays in the picture, even if the object is far away.
    shift = shift or max(0.0, min(x_o, x_f + _VIEW / 2) - (stage.high - _MARGIN * span))
    stage.low, stage.high = stage.low + shift, stage.high + shift
