"""Where Numba keeps a function of ours: by what the package holds, not by where it lies.

Numba names a folder of its cache after the path of a function's file. The cache folder is already
named after a digest of all compiled sources, so the path within the package is enough, and every
copy of the same sources (another checkout, an installed wheel) loads what one of them compiled.
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
    """A subfolder of ``config.CACHE_DIR`` for each module of the package; no other file's."""

    def __init__(self, py_func: Callable[..., Any], py_file: str) -> None:
        super().__init__(py_func, py_file)
        inside = Path(py_file).resolve().relative_to(_PACKAGE)
        self._cache_path = os.path.join(config.CACHE_DIR, ".".join(inside.with_suffix("").parts))

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> Any:
        """None for a file outside the package: Numba then asks its next locator."""
        if not Path(py_file).resolve().is_relative_to(_PACKAGE):
            return None
        return super().from_function(py_func, py_file)
