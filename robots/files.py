"""Files of pybullet_data, and of the user's cache."""

from __future__ import annotations

import os
import sys
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


def find_package_file(name: str, near: Path) -> Path:
    """The file that a path names, or ``package://NAME/PATH``.

    Packages are looked for in ``ROS_PACKAGE_PATH``, in the folders above ``near``, and among those
    of the installed Python packages that hold robot descriptions.

    Raises:
        FileNotFoundError: there is none; the message says where it was looked for.
    """
    if not name.startswith("package://"):
        file = near.parent / name.removeprefix("file://")
        if file.is_file():
            return file.resolve()
        raise FileNotFoundError(f"no such file: {file}")
    inside = name.removeprefix("package://")
    places = [Path(each) for each in os.environ.get("ROS_PACKAGE_PATH", "").split(":") if each]
    places += near.absolute().parents
    places += [Path(each) / part for each in sys.path for part in ("", "cmeel.prefix/share")]
    for place in places:
        if (place / inside).is_file():
            return (place / inside).resolve()
    raise FileNotFoundError(
        f"{name} was not found: neither in ROS_PACKAGE_PATH, nor in a folder above {near}, nor "
        "among the installed Python packages"
    )


def cache_folder(kind: str) -> Path | None:
    """The user's cache folder for ``spheres`` or ``meshes``; None without a home."""
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "galley" / kind
    except RuntimeError:
        return None
