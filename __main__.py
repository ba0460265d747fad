"""``python -m galley``, and the entry point of the console script ``galley``."""

from __future__ import annotations

import os
import signal

TYPE_CHECKING = False  # ``typing`` takes longer to import than the rest
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn

_INTERRUPTED = 130
_LATER = 0.02  # s until an interrupt is tried again


def main() -> int:
    """Run the command line; Ctrl-C ends it with one line and status 130, also during imports."""
    interruptible = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # not under nohup
    if interruptible:
        signal.signal(signal.SIGINT, _leave)
    try:
        from galley.cli import main as run

        if interruptible:
            signal.signal(signal.SIGINT, _interrupt)
            signal.signal(signal.SIGALRM, _interrupt)
        return run()
    except KeyboardInterrupt:
        _leave()
    finally:
        if interruptible:  # a late Ctrl-C doesn't change the status of a finished command
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGINT, signal.SIG_IGN)


def _leave(number: int = signal.SIGINT, frame: FrameType | None = None) -> NoReturn:
    os.write(2, b"interrupted\n")
    os._exit(_INTERRUPTED)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt, but not inside an import or Numba; a second Ctrl-C doesn't wait.

    An import may turn the exception into another error. Inside Numba it would corrupt tables that
    the report of the interrupted run still needs.
    """
    waits = signal.getitimer(signal.ITIMER_REAL)[0] > 0.0
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if frame.f_code.co_name == "_find_and_load" or name.startswith("numba."):
            if number == signal.SIGINT and waits:
                _leave()
            signal.setitimer(signal.ITIMER_REAL, _LATER)
            return
        frame = frame.f_back
    raise KeyboardInterrupt


if __name__ == "__main__":
    raise SystemExit(main())
