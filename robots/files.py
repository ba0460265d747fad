"""Finds files of pybullet_data and of packages of robot descriptions; progress of long work."""

from __future__ import annotations

import contextlib
import glob
import logging
import os
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

_PACKAGE_PATHS = ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH")
_PATIENCE = 2.0  # s between lines of progress
_Part = TypeVar("_Part")
_log = logging.getLogger(__name__)
_PYTHON_PACKAGES = ("", "cmeel.prefix/share")  # where they keep robot descriptions


def announced(parts: Sequence[_Part], what: str) -> Iterator[_Part]:
    """Yields the parts of long work, and logs progress every two seconds.

    Args:
        parts: of the work.
        what: the work, for the log.
    """
    said = time.monotonic()
    for k, part in enumerate(parts):
        if time.monotonic() - said > _PATIENCE:
            said = time.monotonic()
            _log.warning("%s (once; they are kept): %.0f%%", what, 100 * k / len(parts))
        yield part


def pybullet_data_file(name: str) -> Path:
    """A file of the package ``pybullet_data``, found without importing PyBullet.

    Raises:
        FileNotFoundError: pybullet_data is not installed, or has no such file.
    """
    file = installed_file("pybullet_data", name)
    if file is not None:
        return file
    raise FileNotFoundError(
        f"{name}: the robot and its meshes come with the package pybullet_data, which was not"
        " found; install pybullet"
    )


def installed_file(package: str, name: str) -> Path | None:
    """A file of a Python package, found without importing it; None if there is none."""
    spec = find_spec(package)
    places = spec.submodule_search_locations if spec else None
    files = (Path(place).resolve() / name for place in places or ())
    return next((file for file in files if file.is_file()), None)


def find_package_file(name: str, near: Path | str) -> Path:
    """The file that a path names, or ``package://NAME/PATH``; a relative path begins at ``near``.

    A package is a folder of its name, or with it in its package.xml. It is looked for in
    ``ROS_PACKAGE_PATH``, in the folders above the file ``near``, in ``AMENT_PREFIX_PATH``, and
    among those of the installed Python packages that hold robot descriptions.

    Raises:
        FileNotFoundError: there is no such file; the message says where it was searched.
    """
    near = Path(near)
    if not name.startswith("package://"):
        file = near.parent / name.removeprefix("file://")
        if os.path.isfile(file):
            return file.resolve()
        raise FileNotFoundError(f"{'is a folder' if file.is_dir() else 'no such file'}: {file}")
    package, _, inside = name.removeprefix("package://").partition("/")
    for folder in _packages(package, near):
        if os.path.isfile(folder / inside):
            return (folder / inside).resolve()
    searched = ", ".join(f"{key} ({os.environ.get(key) or 'not set'})" for key in _PACKAGE_PATHS)
    raise FileNotFoundError(
        f"{name} was not found: there is no package '{package}' with this file in {searched}, the "
        f"folders from {near.parent} up, or the installed Python packages"
    )


def _packages(name: str, near: Path) -> Iterator[Path]:
    """Folders that may be the package called ``name``, in the order of the search."""
    ros, ament = (
        [Path(folder) for folder in os.environ.get(key, "").split(os.pathsep) if folder]
        for key in _PACKAGE_PATHS
    )
    for root in (*ros, *near.absolute().parents):
        yield root / name
        if root in ros:
            yield from sorted(root.glob(f"*/{glob.escape(name)}"))
        if root.name == name or _package_name(root) == name:
            yield root
    yield from (prefix / "share" / name for prefix in ament)
    yield from (Path(folder) / part / name for folder in sys.path for part in _PYTHON_PACKAGES)


def _package_name(folder: Path) -> str | None:
    """The name of a package by its package.xml; None if there is none."""
    with contextlib.suppress(OSError, ValueError, ET.ParseError):
        return ET.parse(folder / "package.xml").findtext("name")
    return None
