"""Names Numba's cache files by module instead of by file path.

Numba names a folder of its cache after the path of a function's file. Our cache folder is already
named after a digest of all compiled sources, so the path in the package is enough, and all copies
of the same sources (another checkout, an installed wheel) share compiled code.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import config
from numba.core.caching import UserProvidedCacheLocator

_PACKAGE = Path(__file__).resolve().parent.parent


class PackageCacheLocator(UserProvidedCacheLocator):  # type: ignore[misc]
    """A subfolder of ``config.CACHE_DIR`` for each module of the package."""

    def __init__(self, py_func: Callable[..., Any], py_file: str) -> None:
        super().__init__(py_func, py_file)
        inside = Path(py_file).resolve().relative_to(_PACKAGE)
        self._cache_path = os.path.join(config.CACHE_DIR, ".".join(inside.with_suffix("").parts))

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> Any:
        """None for a file outside the package: Numba then tries its next locator."""
        if not Path(py_file).resolve().is_relative_to(_PACKAGE):
            return None
        return super().from_function(py_func, py_file)
