"""The decorator of compiled functions, and the folder that keeps them from run to run."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import shutil
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

_log = logging.getLogger(__name__)
_ROOT = Path(__file__).parent.parent
_PACKAGES = (
    "compiled",
    "robots",
    "worlds",
    "motion",
    "optimization",
    "planning",
    "reachability",
    "viz",
)
# What compiled code depends on besides kernels: the decorators' flags, vectors, the arm's figures.
_FROZEN = (
    "compiled/cache_locator.py",
    "compiled/jit.py",
    "compiled/lanes.py",
    "compiled/native.py",
    "robots/panda/ik.py",
)
_LOCATORS = "galley.compiled.cache_locator.PackageCacheLocator,UserProvidedCacheLocator"
_FAST = {"reassoc", "nsz", "contract", "nnan", "ninf", "arcp"}
_KEPT = 5  # versions of the compiled code that stay on disk, the latest used
_Function = TypeVar("_Function", bound=Callable[..., Any])


def kernel(function: _Function) -> _Function:
    """Compile a function with Numba at its first call; its machine code is kept on disk.

    No bounds are checked, division by zero gives infinities, the interpreter's lock is let go.
    """
    return _compiled(function, fastmath=False)


def fast_kernel(function: _Function) -> _Function:
    """Like ``kernel``, but sums may be reordered and NaN is taken never to occur: vector code."""
    return _compiled(function, fastmath=_FAST)


def bare_kernel(function: _Function) -> _Function:
    """Like ``fast_kernel``, without memory management: nothing may be allocated inside.

    Numba counts references to arrays whenever a tuple of them is handed on; in the innermost
    functions that would cost more than the work.
    """
    return _compiled(function, fastmath=_FAST, _nrt=False)


def native(count: int) -> Callable[[Callable[..., Any]], Any]:
    """A function of ``count`` addresses or whole numbers (int64) that is called by its address.

    What calls it by ``compiled.native.call`` doesn't contain it: a large function is compiled once
    instead of once within each of its callers. The result's ``address`` is where it is. Compiled,
    or fetched from disk, when its module is imported.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        import numba

        signature = numba.types.int64(*[numba.types.int64] * count)
        with _cached_in_folder() as kept:
            return numba.cfunc(
                signature, cache=kept, fastmath=_FAST, error_model="numpy", _nrt=False
            )(function)

    return decorate


def _compiled(function: _Function, **options: Any) -> _Function:
    import numba

    with _cached_in_folder() as kept:
        decorate = numba.njit(cache=kept, nogil=True, error_model="numpy", **options)
        return cast(_Function, decorate(function))


@contextlib.contextmanager
def _cached_in_folder() -> Iterator[bool]:
    """Numba's cache goes to our folder meanwhile; whether there is one."""
    import numba

    folder = cache_folder()
    # The folder is read when a function is made ready for caching; other users keep theirs.
    config: Any = numba.config
    before = config.CACHE_DIR, config.CACHE_LOCATOR_CLASSES
    if folder is not None:
        config.CACHE_DIR, config.CACHE_LOCATOR_CLASSES = str(folder), _LOCATORS
    try:
        yield folder is not None
    finally:
        config.CACHE_DIR, config.CACHE_LOCATOR_CLASSES = before


@cache
def cache_folder() -> Path | None:
    """Where compiled code lies: a folder of the user's, one for each version of the sources.

    Numba compares only a function's own file with what it has kept, not the files of what the
    function calls. So the folder's name is a digest of all sources that are compiled. Numba's own
    setting NUMBA_CACHE_DIR comes first. None where nothing can be written.
    """
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        above = Path(chosen)
    else:
        base = os.environ.get("XDG_CACHE_HOME")
        try:
            above = (Path(base) if base else Path.home() / ".cache") / "galley" / "numba"
        except RuntimeError:  # no home
            return None
    folder = above / f"galley-{digest()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        folder.touch()
    except OSError:
        return None
    if not os.access(folder, os.W_OK):
        return None
    _drop_old(above)
    return folder


def sources() -> list[Path]:
    """Every file that compiled code is made from, constants that it freezes included.

    Raises:
        FileNotFoundError: one of the files listed by name is missing: it moved, and code compiled
            from its old contents would be taken for current.
    """
    found = [_ROOT / name for name in _FROZEN]
    for package in _PACKAGES:
        folder = _ROOT / package
        if not folder.is_dir():
            raise FileNotFoundError(folder)
        found += [*folder.rglob("*_kernel.py"), *folder.rglob("kernel/*.py")]
    for path in found:
        if not path.is_file():
            raise FileNotFoundError(path)
    return sorted(set(found))


@cache
def digest() -> str:
    """A digest of all sources that Numba compiles, by their contents and places in the package."""
    found = hashlib.sha256()
    for path in sources():
        found.update(path.relative_to(_ROOT).as_posix().encode())
        found.update(path.read_bytes())
    return found.hexdigest()[:12]


_ready: set[str] = set()  # parts that have been compiled, as far as this process knows


def first_use(
    what: str, say: Callable[[str], None] = _log.info
) -> contextlib.AbstractContextManager[None]:
    """Around calls that may have to compile: says so where that has not been done before.

    Args:
        what: the name of the compiled part, such as ``the motion kernel``.
        say: where to say it.
    """
    return _NOTHING if what in _ready else _announced(what, say)


def pending(*parts: str) -> tuple[str, ...]:
    """Which of these parts have not been compiled on this machine before."""
    return tuple(what for what in parts if what not in _ready and not _compiled_before(what))


def _stamp(what: str) -> Path | None:
    folder = cache_folder()
    return None if folder is None else folder / f"{what.replace(' ', '-')}.compiled"


def _compiled_before(what: str) -> bool:
    stamp = _stamp(what)
    return stamp is not None and stamp.exists()


_NOTHING = contextlib.nullcontext()


@contextlib.contextmanager
def _announced(what: str, say: Callable[[str], None]) -> Iterator[None]:
    stamp = _stamp(what)
    if _compiled_before(what):
        yield
    else:
        kept = "once on this machine" if stamp is not None else "there is no folder to keep it in"
        say(f"compiling {what} ({kept})")
        began = time.perf_counter()
        yield
        _log.info("%s ready after %.1f s", what, time.perf_counter() - began)
        if stamp is not None:
            with contextlib.suppress(OSError):
                stamp.touch()
    _ready.add(what)


def _drop_old(above: Path) -> None:
    """Remove compiled code of versions that have not been used for longest."""
    with contextlib.suppress(OSError):
        folders = sorted(above.glob("galley-*"), key=lambda f: f.stat().st_mtime, reverse=True)
        for folder in folders[_KEPT:]:
            shutil.rmtree(folder, ignore_errors=True)
