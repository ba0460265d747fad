"""``python -m galley``, and the entry of the console script ``galley``."""

from __future__ import annotations

import atexit
import os
import signal
import sys
from types import FrameType
from typing import NoReturn

_INTERRUPTED = 130


def main() -> int:
    """Run the command line, whose Ctrl-C is one line and status 130 while it is imported too."""
    interruptible = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # not by nohup
    if interruptible:
        # Imports may swallow an exception, or turn it into another one.
        signal.signal(signal.SIGINT, _leave)
    try:
        from galley.cli import main as run

        if interruptible:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        status = run()
        if status == _INTERRUPTED:
            # Python ends by the signal, whatever the status, if the exception passed through code
            # that was compiled from text, as of a dataclass.
            atexit._run_exitfuncs()
            sys.stdout.flush()
            os._exit(status)
        return status
    except KeyboardInterrupt:
        _leave()
    finally:
        if interruptible:
            signal.signal(signal.SIGINT, _leave)  # while the interpreter shuts down


def _leave(number: int = signal.SIGINT, frame: FrameType | None = None) -> NoReturn:
    os.write(2, b"interrupted\n")
    os._exit(_INTERRUPTED)


if __name__ == "__main__":
    raise SystemExit(main())
