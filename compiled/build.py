"""Compiles kernels ahead of time: once per installation, in child processes, with progress.

Every use of compiled code calls ``ensure`` first. Two child processes compile what is missing, and
the calling process always loads it from the cache, so the first run gives the same numbers, bit for
bit, as later ones. A lock lets one process compile at a time; the children inherit it.
"""

from __future__ import annotations

import fcntl
import gc
import importlib
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import IO, Any, Protocol

from galley.compiled.jit import cache_folder, compile_ahead, compile_now, folder_above, is_entry

_log = logging.getLogger(__name__)
KERNEL, PLANNERS, REACH = "collision checks", "motion planners", "the arm's reach"
KINEMATICS, TIMING, RENDERER = "kinematics", "path timing", "the film's renderer"
POLYGONS, PUSHING, CHAIN = "polygons", "pushing", "the kinematics of any arm"
# Modules that are compiled together because they are used together, the longest part first. A text
# is one module, or several that share so much that one process compiles them.
PARTS = {
    KERNEL: (
        "collision.kernel.narrow_phase collision.kernel.state_check collision.kernel.contacts"
        " collision.kernel.prepare collision.kernel.continuous_collision",
    ),
    PLANNERS: ("motion.kernel.plan motion.kernel.shortcut",),
    REACH: ("robots.panda.reach_kernel", "skills.manipulation.hand_kernel"),
    KINEMATICS: ("robots.panda.ik_kernel",),
    CHAIN: ("robots.chain.chain_kernel",),
    RENDERER: ("viz.render.raster_kernel",),
    TIMING: ("optimization.kernel.dynamics", "optimization.kernel.path_timing"),
    PUSHING: (
        "planar.pushing.simulation_kernel",
        "planar.pushing.arm_kernel",
        "planar.pushing.picture_kernel",
    ),
    POLYGONS: ("planar.geometry.polygon_kernel", "planar.geometry.support_kernel"),
}

_CHILD = "import sys; sys.path[:] = {path!r}; from galley.compiled.build import work; work()"
# Numba writes an error, in colours, for each of the rules that it tries for a type.
_CHILD_SETTINGS = {"NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING": "1"}
# Bytes in which a group is written to the pipe from which the children take work: each read takes
# one group, so all have the same length, enough for any.
_RECORD = 256
_Advance = Callable[[str, float], None]  # says what is under way, and to which share it is done
_ready: set[str] = set()  # parts that this process knows to be compiled
_one_at_a_time = threading.Lock()


class CompileProgress(Protocol):
    """An object that gets progress messages, such as a ``domain.listener.Listener``."""

    def stage(self, text: str) -> None:
        """Called when compiling begins, or when something stands in its way."""

    def fraction(self, text: str, done: float) -> None:
        """Called as compiling goes on; ``done`` is the share that is done, in [0, 1]."""


def ensure(*parts: str, listener: CompileProgress | None = None) -> float:
    """Compile these parts unless they are compiled already, which is fast to check.

    Args:
        parts: some of ``PARTS``.
        listener: gets messages of what is compiled and how far it is. By default they are logged
            as warnings, which Python writes to stderr unless logging is set up.

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
        folder = cache_folder()
        if folder is None:
            say(f"can't write to {folder_above()}: compiling in memory, in this process only")
            _compile_here(todo, advance)
        elif missing(*todo):
            try:
                _compile_in_folder(folder, todo, say, advance)
            except OSError as error:
                say(f"{error}: compiling in this process")
                _compile_here(todo, advance)
        _ready.update(todo)
    return time.perf_counter() - began


@cache
def module_of(part: str) -> ModuleType:
    """A part's first module, compiled at the first call."""
    ensure(part)
    return importlib.import_module(f"galley.{PARTS[part][0]}")


def missing(*parts: str) -> list[str]:
    """The parts that are not in the cache."""
    folder = cache_folder()
    return [part for part in parts if folder is None or not _stamp(folder, part).exists()]


def _stamp(folder: Path, part: str) -> Path:
    """The empty file that says that a part is in the cache."""
    return folder / f"{part.replace(' ', '-')}.{_runs_on()}.compiled"


@cache
def _runs_on() -> str:
    """The Python, Numba and processor that machine code is for, which share the cache's folder."""
    import llvmlite.binding
    import numba

    cpu = llvmlite.binding.get_host_cpu_name()
    return f"{sys.implementation.cache_tag}-numba-{numba.__version__}-{cpu}"


def entries(part: str) -> list[Any]:
    """The kernels of a part that Python calls, and its native functions."""
    return [entry for group in PARTS[part] for entry in _entries(group)]


def _entries(group: str) -> list[Any]:
    """The entries of a group of modules, without those that a module imports from another."""
    modules = [importlib.import_module(f"galley.{name}") for name in group.split()]
    return [
        function
        for module in modules
        for function in vars(module).values()
        if is_entry(function) and function.py_func.__module__ == module.__name__
    ]


def _logged(text: str, done: float) -> None:
    """Progress as a warning in the log, for callers without a listener."""
    _log.warning("%s: %.0f%%", text, 100 * done)


def _compile_here(parts: list[str], advance: _Advance) -> None:
    """Compile parts in this process."""
    todo = [entry for part in parts for entry in entries(part)]
    for k, entry in enumerate(todo):
        advance("compiling", k / len(todo))
        compile_now(entry)


def _compile_in_folder(
    folder: Path, parts: list[str], say: Callable[[str], None], advance: _Advance
) -> None:
    """Compile the missing parts in child processes, under the lock.

    Raises:
        OSError: the lock file can't be locked, or a child failed.
    """
    with (folder / "lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another process, which compiles")
            fcntl.flock(lock, fcntl.LOCK_EX)
        left = missing(*parts)
        if not left:  # the process that held the lock has compiled them
            return
        say(f"compiling, once per installation, about a minute: {', '.join(left)}")
        _run_children([group for part in left for group in PARTS[part]], lock, advance)
        for part in left:
            _stamp(folder, part).touch()


def _run_children(groups: list[str], lock: IO[str], advance: _Advance) -> None:
    """Compile groups of modules in two processes.

    Each child takes the next group from one pipe when it is done with the last, and writes a line
    to another for each entry. If this process is killed, the children end at their next line.

    Args:
        groups: texts of module names.
        lock: the open lock file, which the children inherit: it is locked until all have ended.
        advance: called for each entry.

    Raises:
        ChildProcessError: a child failed.
    """
    total = sum(len(_entries(group)) for group in groups)
    (work_end, give), (lines_end, tell) = os.pipe(), os.pipe()
    command = [sys.executable, "-c", _CHILD.format(path=sys.path)]
    options: Any = {"stdin": work_end, "stdout": tell, "stderr": subprocess.DEVNULL}
    options |= {"pass_fds": [lock.fileno()], "env": os.environ | _CHILD_SETTINGS}
    children = [subprocess.Popen(command, **options) for _ in range(2)]
    for mine in (work_end, tell):
        os.close(mine)
    try:
        with open(give, "wb") as work, open(lines_end) as lines:
            work.write(b"".join(group.encode().ljust(_RECORD) for group in groups))
            work.close()
            for done, _ in enumerate(lines):
                advance("compiling", done / total)
        if any(child.wait() for child in children):
            raise ChildProcessError("a child process failed")
    finally:
        for child in children:
            child.kill()
            child.wait()


def work() -> None:
    """The main function of a child: compile the groups of modules that stdin names.

    Garbage is collected only between groups: Numba makes many objects, most of which last, so the
    collector would take a quarter of the time.
    """
    gc.disable()
    compile_ahead()
    while group := os.read(0, _RECORD).decode().strip():
        for entry in _entries(group):
            print("begin", flush=True)
            compile_now(entry)
        gc.collect()
        gc.freeze()
