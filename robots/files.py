"""Files of pybullet_data, and of the user's cache."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path


def pybullet_data_file(name: str) -> Path:
    """A file of the package ``pybullet_data``, found without importing PyBullet.

    Raises:
        FileNotFoundError: pybullet_data is not installed, or has no such file.
    """
    spec = find_spec("pybullet_data")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        file = Path(place).resolve() / name
        if file.is_file():
            return file
    raise FileNotFoundError(
        f"{name}: the robot and its meshes come with the package pybullet_data, which was not"
        " found; install pybullet"
    )


def cache_folder(kind: str) -> Path | None:
    """The user's cache folder for ``spheres`` or ``meshes``; None without a home."""
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "galley" / kind
    except RuntimeError:
        return None
