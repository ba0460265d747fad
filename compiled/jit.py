"""The decorators of compiled functions, and the folder that caches machine code."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import Any, TypeVar, cast

_ROOT = Path(__file__).resolve().parent.parent
_PACKAGES = ("compiled", "robots", "collision", "motion", "optimization", "planar", "viz")
# Files that compiled code depends on besides kernels: flags of the decorators, vectors, constants.
_FROZEN = ("compiled/jit.py", "compiled/lanes.py", "compiled/native.py", "robots/panda/ik.py")
_FAST = {"reassoc", "nsz", "contract", "nnan", "ninf", "arcp"}
_KEPT = 5  # versions of the compiled code that are kept on disk, those used last
_RECENT = 86400.0  # s since a version's last use, for which it is kept in any case
_ahead: list[bool] = []  # not empty in a process that only compiles: see ``compile_ahead``
_Function = TypeVar("_Function", bound=Callable[..., Any])


def kernel(function: _Function) -> _Function:
    """Compile a function with Numba at its first call, with its machine code cached on disk.

    Checks no bounds; division by zero gives infinity; releases the interpreter's lock.
    """
    return _compiled(function, fastmath=False)


def fast_kernel(function: _Function) -> _Function:
    """Like ``kernel``, but sums may be reordered and NaN must not occur: gives vector code."""
    return _compiled(function, fastmath=_FAST)


def bare_kernel(function: _Function) -> _Function:
    """Like ``fast_kernel``, without memory management: it must not allocate.

    Numba counts references to arrays whenever a tuple of them is passed on, which would dominate
    the innermost functions.
    """
    return _compiled(function, fastmath=_FAST, _nrt=False)


def inlined(function: _Function) -> _Function:
    """Make a function part of each kernel that calls it, under that kernel's rules.

    For functions that one kernel calls. Numba compiles any other one to machine code by itself, and
    again within its callers.
    """
    return _compiled(function, inline="always")


class Native:
    """A function of int64 (addresses or integers) that is called by its address.

    Callers use ``compiled.native.call`` and don't contain it: a large function is compiled once
    instead of once in each caller.

    Args:
        function: takes integers and returns one.
        count: how many it takes.
    """

    def __init__(self, function: Callable[..., Any], count: int) -> None:
        self.py_func, self._count = function, count

    @cached_property
    def _compiled(self) -> Any:
        import numba

        signature = numba.types.int64(*[numba.types.int64] * self._count)
        options: Any = {"fastmath": _FAST, "error_model": "numpy", "_nrt": False}
        with _cached_in_folder() as cached:
            return numba.cfunc(signature, cache=cached, **options)(self.py_func)

    @property
    def address(self) -> int:
        """Its address; compiles or loads it at the first access."""
        return int(self._compiled.address)


def native(count: int) -> Callable[[Callable[..., Any]], Native]:
    """Decorator that makes a function of ``count`` int64 a ``Native``."""
    return lambda function: Native(function, count)


def entry(*types: Any) -> Callable[[_Function], _Function]:
    """Decorator above a kernel that Python calls: says its types, so that ``build`` can compile it.

    Args:
        types: types of the arguments: texts of words such as ``i8`` for a number and ``f8:2`` for
            a C-contiguous array of two dimensions; or Numba types.
    """

    def decorate(function: _Function) -> _Function:
        compiled: Any = function
        compiled.entry_types = types
        if _ahead:
            compiled.targetoptions["no_cpython_wrapper"] = False
            with _cached_in_folder() as cached:
                if cached:
                    compiled.enable_caching()
        return function

    return decorate


def compile_ahead() -> None:
    """Make this process one that only compiles entries; call it before importing them.

    The code of the functions that an entry calls is part of the entry's. By themselves they then
    need no place in the cache, and no wrapper for calls from Python, which saves a quarter of the
    time.
    """
    _ahead.append(True)


def is_entry(found: Any) -> bool:
    """Whether an object is a kernel with an ``entry``, or a ``Native``."""
    return isinstance(found, Native) or isinstance(getattr(found, "entry_types", None), tuple)


def compile_now(found: Any) -> None:
    """Compile an entry, or load it from disk."""
    if isinstance(found, Native):
        _ = found.address
        return
    parts = (given.split() if isinstance(given, str) else [given] for given in found.entry_types)
    found.compile(tuple(_typed(word) for part in parts for word in part))


def _typed(word: Any) -> Any:
    """The Numba type of a word of ``entry``, or a Numba type itself."""
    import numba
    import numpy as np

    if not isinstance(word, str):
        return word
    name, _, dimensions = word.partition(":")
    number = numba.from_dtype(np.dtype(name))
    return numba.types.Array(number, int(dimensions), "C") if dimensions else number


def _compiled(function: _Function, **options: Any) -> _Function:
    """The function with Numba's decorator, under the options that all kernels have."""
    import numba

    options |= {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
    options["no_cpython_wrapper"] = bool(_ahead)
    with _cached_in_folder() as cached:
        return cast(_Function, numba.njit(cache=cached and not _ahead, **options)(function))


@contextlib.contextmanager
def _cached_in_folder() -> Iterator[bool]:
    """Directs Numba's cache to our folder; yields whether there is one."""
    import numba

    folder = cache_folder()
    # Numba reads the folder when it decorates a function; other users of Numba keep theirs.
    config: Any = numba.config
    before = config.CACHE_DIR
    if folder is not None:
        config.CACHE_DIR = str(folder)
    try:
        yield folder is not None
    finally:
        config.CACHE_DIR = before


@cache
def cache_folder() -> Path | None:
    """The folder of compiled code, one for each version of the sources; None if not writable.

    Numba checks only a function's own file for changes, not those of the functions it calls. So the
    folder's name is a digest of all compiled sources.
    """
    above = folder_above()
    if above is None:
        return None
    folder = above / f"galley-{digest()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        folder.touch()  # its time is that of its last use: see ``_drop_old``
    except OSError:
        return None
    if not os.access(folder, os.W_OK):
        return None
    _drop_old(above)
    return folder


def folder_above() -> Path | None:
    """The parent of the folders of all versions: NUMBA_CACHE_DIR, else in the user's cache.

    None without a setting and without a home.
    """
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    return Path(chosen) if chosen else user_cache("numba")


def user_cache(kind: str) -> Path | None:
    """The user's cache folder for ``numba``, ``spheres`` or ``meshes``; None without a home."""
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "galley" / kind
    except RuntimeError:
        return None


def sources() -> list[Path]:
    """All files that compiled code depends on: kernels, and others whose constants it contains.

    Raises:
        FileNotFoundError: a package is missing. It has moved, and code compiled from its old
            contents would be used.
    """
    paths = [_ROOT / name for name in _FROZEN]
    for package in _PACKAGES:
        folder = _ROOT / package
        if not folder.is_dir():
            raise FileNotFoundError(folder)
        paths += [*folder.rglob("*_kernel.py"), *folder.rglob("kernel/*.py")]
    return sorted(set(paths))


@cache
def digest() -> str:
    """A digest of the package's own path, and of all compiled sources and their paths in it.

    Numba keeps code by the path of its source, so each copy of the package has its own.

    Raises:
        FileNotFoundError: a package, or a file listed by name, is missing.
    """
    digested = hashlib.sha256(str(_ROOT).encode())
    for path in sources():
        digested.update(path.relative_to(_ROOT).as_posix().encode())
        digested.update(path.read_bytes())
    return digested.hexdigest()[:12]


def _drop_old(above: Path) -> None:
    """Remove the versions of compiled code that were used least recently, but no recent one."""
    with contextlib.suppress(OSError):
        used = {folder: folder.stat().st_mtime for folder in above.glob("galley-*")}
        for folder in sorted(used, key=lambda folder: -used[folder])[_KEPT:]:
            if used[folder] < time.time() - _RECENT:  # a process may be about to write there
                shutil.rmtree(folder, ignore_errors=True)
