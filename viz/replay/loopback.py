"""Serves pages to browsers on this machine only."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def serve(pages: Mapping[str, Callable[[], str]]) -> tuple[str, threading.Event]:
    """Serve pages at any free port of the loopback address, for as long as this process lives.

    Args:
        pages: for each path, a function that makes its page, called at each request; other paths
            get the page of ``/``.

    Returns:
        The address of ``/``, and an event that is set once a browser has got a page.
    """
    loaded = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            with contextlib.suppress(ConnectionError):  # a browser may leave at any time
                self.wfile.write(pages.get(self.path, pages["/"])().encode())
                loaded.set()

        def log_message(self, *_: object) -> None:
            """Log nothing: the base class would print each request."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/", loaded
