"""Compiles ahead of time: once per installation, in child processes, with progress messages.

Every use of compiled code calls ``ensure`` first. Child processes compile what is missing, and the
calling process always loads it from the cache, so the first run gives the same numbers, bit for
bit, as later ones. A lock lets one process compile at a time. The children inherit it, so it is
held until the last of them ends, however that happens.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import importlib
import json
import logging
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import IO, Any, Protocol

from galley.compiled.jit import cache_folder, compile_now, folder_above, is_entry, keep_nothing

_log = logging.getLogger(__name__)
KERNEL, PLANNERS, REACH = "collision checks", "motion planners", "the arm's reach"
KINEMATICS, TIMING, RENDERER = "kinematics", "path timing", "the film's renderer"
LANDMARKS = "landmark cuts"
POLYGONS, PUSHING = "polygons", "pushing"
PARTS = {  # the longest first
    KERNEL: (
        "collision.kernel.examine collision.kernel.contacts",
        "collision.kernel.prepare",
        "collision.kernel.edges",
    ),
    PLANNERS: (
        "motion.kernel.plan",
        "motion.kernel.rrt",
        "motion.kernel.shortcut",
        "motion.kernel.checks",
    ),
    REACH: ("robots.panda.reach_kernel",),
    KINEMATICS: ("robots.panda.ik_kernel",),
    RENDERER: ("viz.render.raster_kernel",),
    LANDMARKS: ("planning.searches.landmark_cut_kernel",),
    TIMING: (
        "motion.kernel.curves",
        "optimization.kernel.dynamics",
        "optimization.kernel.path_timing",
        "optimization.kernel.program",
    ),
    PUSHING: (
        "planar.pushing.simulation_kernel",
        "planar.pushing.arm_kernel",
        "planar.pushing.picture_kernel",
    ),
    POLYGONS: ("planar.geometry.polygon_kernel", "planar.geometry.support_kernel"),
}
"""What is compiled together because it is used together: texts of one module, or of some that share
so much that one process compiles them."""

_CHILD = "import sys; sys.path[:] = {path!r}; from galley.compiled.build import work; work()"
# Numba writes an error, in colours, for each of the rules that it tries for a type.
_CHILD_SETTINGS = {"NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING": "1"}
_POLL = 0.2  # s between tries to get a lock
_ready: set[str] = set()  # parts that this process knows to be compiled
_one_at_a_time = threading.Lock()


class Progress(Protocol):
    """Who hears of it; ``domain.listener.Listener`` is one."""

    def stage(self, text: str) -> None:
        """Something begins."""

    def fraction(self, text: str, done: float) -> None:
        """It is done to this share, in [0, 1]."""


def ensure(*parts: str, listener: Progress | None = None) -> float:
    """Compile these parts unless they are compiled already, which is fast to check.

    Args:
        parts: some of ``PARTS``.
        listener: hears what is compiled and how far it is. By default that is logged as warnings,
            which Python writes to stderr unless logging is set up.

    Returns:
        Seconds spent.
    """
    if _ready.issuperset(parts):
        return 0.0
    began = time.perf_counter()
    say = _log.warning if listener is None else listener.stage
    advance = _logged if listener is None else listener.fraction
    with _one_at_a_time:
        todo = [part for part in PARTS if part in parts and part not in _ready]
        if cache_folder() is None:
            say(f"can't write to {folder_above()}: compiling in memory, in this process only")
            _build_here(todo, advance)
        else:
            try:
                _build(todo, say, advance)
            except (OSError, subprocess.SubprocessError) as error:
                keep_nothing()
                say(f"compiling in memory, in this process only: {error}")
                _build_here(todo, advance)
        _ready.update(todo)
    return time.perf_counter() - began


def missing(*parts: str) -> list[str]:
    """The parts that are not in the cache."""
    folder = cache_folder()
    return [part for part in parts if folder is None or not _stamp(folder, part).exists()]


def _stamp(folder: Path, part: str) -> Path:
    return folder / f"{part.replace(' ', '-')}.{_runs_on()}.compiled"


@cache
def _runs_on() -> str:
    """What machine code is for, besides its sources: Numba keeps a file for each."""
    import llvmlite.binding
    import numba

    cpu = llvmlite.binding.get_host_cpu_name()
    return f"{sys.implementation.cache_tag}-numba-{numba.__version__}-{cpu}"


def steps(part: str) -> list[tuple[str, Any]]:
    """The entries of a part, with their names."""
    return [step for modules in PARTS[part] for step in _steps(modules)]


def _steps(modules: str) -> list[tuple[str, Any]]:
    found = []
    for module in modules.split():
        imported = importlib.import_module(f"galley.{module}")
        found += [
            (f"{module}.{name}", function)
            for name, function in vars(imported).items()
            if is_entry(function) and function.py_func.__module__ == imported.__name__
        ]
    return found


def _logged(text: str, done: float) -> None:
    _log.warning("%s: %.0f%%", text, 100 * done)


def _build_here(parts: list[str], advance: Callable[[str, float], None]) -> None:
    todo = [compiled for part in parts for _, compiled in steps(part)]
    for k, compiled in enumerate(todo):
        advance("compiling", k / len(todo))
        compile_now(compiled)


def _build(
    parts: list[str], say: Callable[[str], None], advance: Callable[[str, float], None]
) -> None:
    """Compile the missing parts in child processes, under the lock."""
    folder = cache_folder()
    if folder is None or not missing(*parts):
        return
    with (folder / "lock").open("a+") as lock:
        _lock(lock, say)
        left = missing(*parts)
        if not left:
            return
        for partial in folder.rglob("*.tmp.*"):  # Numba renames complete files
            partial.unlink(missing_ok=True)

        what = f"compiling, once per installation, about a minute: {', '.join(left)}"
        say(what)
        lock.truncate(0)
        lock.write(what)  # for processes that wait
        lock.flush()
        _run_children([module for part in left for module in PARTS[part]], lock, advance)
        for part in left:
            _stamp(folder, part).touch()


def _lock(lock: IO[str], say: Callable[[str], None]) -> None:
    """Lock a file until it is closed; while waiting, repeat the holder's messages."""
    shown = ""
    while True:
        try:
            return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            message = lock.read() or "compiling"
            if message != shown:
                say(f"waiting for another process: {message}")
                shown = message
            time.sleep(_POLL)


def _run_children(modules: list[str], lock: IO[str], advance: Callable[[str, float], None]) -> None:
    """Compile modules in two child processes, each taking the next one when it is done.

    Raises:
        subprocess.SubprocessError: a child failed.
    """
    waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
    for module in modules:
        waiting.put(module)
    messages: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
    total = count = 0
    running = min(2, os.cpu_count() or 1, len(modules))
    with contextlib.ExitStack() as stack:
        for _ in range(running):
            stack.enter_context(_child(modules, lock, waiting, messages))
        while running:
            kind, what = messages.get()
            if kind == "total":
                total = what
            elif kind == "begin":
                advance("compiling", count / total)
                count += 1
            elif kind == "failed":
                raise subprocess.SubprocessError(what)
            elif kind == "ended":
                running -= 1


@contextlib.contextmanager
def _child(
    modules: list[str],
    lock: IO[str],
    waiting: queue.SimpleQueue[str],
    messages: queue.SimpleQueue[tuple[str, Any]],
) -> Iterator[None]:
    """A child process that runs ``work``, with a thread that serves it; killed on exit.

    If the parent is killed, the child ends at its next message, which has no reader.
    """
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(
            [sys.executable, "-c", _CHILD.format(path=sys.path), *modules],
            env=os.environ | _CHILD_SETTINGS,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            pass_fds=(lock.fileno(),),
            text=True,
        ) as child,
    ):
        server = threading.Thread(target=_serve, args=(child, errors, waiting, messages))
        server.start()
        try:
            yield
        finally:
            child.kill()
            server.join()


def _serve(
    child: subprocess.Popen[str],
    errors: IO[str],
    waiting: queue.SimpleQueue[str],
    messages: queue.SimpleQueue[tuple[str, Any]],
) -> None:
    """Give a child its modules one by one, and forward its messages."""
    assert child.stdin is not None
    assert child.stdout is not None
    for line in child.stdout:
        kind, what = json.loads(line)
        messages.put((kind, what))
        if kind in ("total", "done"):
            with contextlib.suppress(queue.Empty, OSError):
                child.stdin.write(waiting.get_nowait() + "\n")
                child.stdin.flush()
                continue
            child.stdin.close()
    if child.wait() == 0:
        messages.put(("ended", None))
    else:
        errors.seek(0)
        why = errors.read().strip().splitlines()[-1:] or [f"exit status {child.returncode}"]
        messages.put(("failed", why[0]))


def work() -> None:
    """The main function of a child: compile the modules named on stdin, one by one.

    Garbage is collected between them only: what Numba makes is many objects, most of which last, so
    a quarter of the time would be the collector's.
    """

    def tell(kind: str, what: Any) -> None:
        print(json.dumps((kind, what)), flush=True)

    gc.disable()
    tell("total", sum(len(_steps(module)) for module in sys.argv[1:]))
    for line in sys.stdin:
        for name, compiled in _steps(line.strip()):
            tell("begin", name)
            compile_now(compiled)
        gc.collect()
        gc.freeze()
        tell("done", line.strip())
