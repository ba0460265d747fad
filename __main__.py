"""``python -m galley``, and the entry of the console script ``galley``.

Until ``main`` has begun, Ctrl-C is Python's: a traceback. So little is imported before.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys

TYPE_CHECKING = False  # ``typing`` takes longer to import than the rest
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn

_INTERRUPTED = 130
_LATER = 0.02  # s
_ENTRIES = ("__main__", "runpy", "importlib._bootstrap", "galley.__main__")


def main() -> int:
    """Run the command line, whose Ctrl-C is one line and status 130 while it is imported too."""
    interruptible = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # not by nohup
    if interruptible:
        signal.signal(signal.SIGINT, _leave)
        # Runs last of all that runs at exit. Python would put SIGINT's own action back, by which a
        # command that is done would end as if it were killed; it leaves what is ignored.
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
    try:
        from galley.cli import main as run

        if interruptible:
            signal.signal(signal.SIGALRM, _interrupt)
            signal.signal(signal.SIGINT, _interrupt)
            sys.unraisablehook = _not_raised
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
        if interruptible:  # while the interpreter shuts down
            signal.signal(signal.SIGALRM, _leave)
            signal.signal(signal.SIGINT, _leave)
            # Once Python has put the signals back, the timer would end the process as a fault does.
            signal.setitimer(signal.ITIMER_REAL, 0.0)


def _leave(number: int = signal.SIGINT, frame: FrameType | None = None) -> NoReturn:
    os.write(2, b"interrupted\n")
    os._exit(_INTERRUPTED)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt, but never inside an import or Numba.

    An import may turn it into another error. Numba's tables are broken by it, and the report of
    what was interrupted still needs them. Where only the command line waits for the two, there is
    nothing to keep; else it is raised after them, for which a second Ctrl-C does not wait.
    """
    delicate = False
    waiting: list[str] = []  # modules that wait for the outermost import, or for Numba
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if frame.f_code.co_name == "_find_and_load" or name.startswith("numba."):
            delicate, waiting = True, []
        else:
            waiting.append(name)
        frame = frame.f_back
    if not delicate:
        raise KeyboardInterrupt
    again = number == signal.SIGINT and signal.getitimer(signal.ITIMER_REAL)[0] > 0.0
    if again or all(name in _ENTRIES or _of_a_command(name) for name in waiting):
        _leave()
    signal.setitimer(signal.ITIMER_REAL, _LATER)


def _of_a_command(name: str) -> bool:
    return name.startswith("galley.cli") or name.split(".")[2:3] == ["commands"]


def _not_raised(what: sys.UnraisableHookArgs) -> None:
    """Raise a KeyboardInterrupt later that a callback or a destructor has swallowed."""
    if issubclass(what.exc_type, KeyboardInterrupt):
        signal.setitimer(signal.ITIMER_REAL, _LATER)
    else:
        sys.__unraisablehook__(what)


if __name__ == "__main__":
    raise SystemExit(main())
