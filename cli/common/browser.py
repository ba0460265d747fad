"""A page that is served as long as the command runs."""

from __future__ import annotations

import contextlib
import sys
import threading


def serve(address: str) -> None:
    """Say where the page is, and wait until Ctrl-C, which ends the command well."""
    print(f"in the browser: {address} (Ctrl-C ends)")
    sys.stdout.flush()
    with contextlib.suppress(KeyboardInterrupt):
        threading.Event().wait()
