"""Files of pybullet_data, of packages of robot descriptions, and of the user's cache."""

from __future__ import annotations

import contextlib
import glob
import os
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

_PACKAGE_PATHS = ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH")
_PYTHON_PACKAGES = ("", "cmeel.prefix/share")  # where they keep robot descriptions


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


def find_package_file(name: str, near: Path | str) -> Path:
    """The file that a path names, or ``package://NAME/PATH``; a relative path begins at ``near``.

    A package is a folder of its name, or with it in its package.xml. It is looked for in
    ``ROS_PACKAGE_PATH``, in the folders above the file ``near``, in ``AMENT_PREFIX_PATH``, and
    among those of the installed Python packages that hold robot descriptions.

    Raises:
        FileNotFoundError: there is none; the message says where it was looked for.
    """
    near = Path(near)
    if not name.startswith("package://"):
        file = near.parent / name.removeprefix("file://")
        if os.path.isfile(file):
            return file.resolve()
        raise FileNotFoundError(f"no such file: {file}")
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
    """Folders that may be the package called ``name``."""
    ros, ament = (
        [Path(each) for each in os.environ.get(key, "").split(os.pathsep) if each]
        for key in _PACKAGE_PATHS
    )
    for root in (*ros, *near.absolute().parents):
        yield root / name
        if root in ros:
            yield from sorted(root.glob(f"*/{glob.escape(name)}"))
        if root.name == name or _package_name(root) == name:
            yield root
    yield from (prefix / "share" / name for prefix in ament)
    yield from (Path(each) / part / name for each in sys.path for part in _PYTHON_PACKAGES)


def _package_name(folder: Path) -> str | None:
    """As its package.xml says."""
    with contextlib.suppress(OSError, ValueError, ET.ParseError):
        return ET.parse(folder / "package.xml").findtext("name")
    return None


def cache_folder(kind: str) -> Path | None:
    """The user's cache folder for ``spheres`` or ``meshes``; None without a home."""
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "galley" / kind
    except RuntimeError:
        return None
