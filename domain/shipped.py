"""Finds the files that ship with Galley, by their bare names."""

from __future__ import annotations

import os
import re
from pathlib import Path

from galley.domain.errors import closest_match

_DOMAIN = Path(__file__).parent
KITCHEN = _DOMAIN / "kitchen"
SCENARIOS = _DOMAIN / "scenarios"
ROBOTS = _DOMAIN / "robots"
TEMPLATES = _DOMAIN / "templates"
ALONE = TEMPLATES / "robot" / "alone.yaml"  # a scene with a floor, to show a robot in
# The documentation names these, too: files of a user-defined skill, of contact and of pushing.
WIPING = _DOMAIN.parent / "docs" / "wiping"
EXAMPLES = _DOMAIN.parent / "examples"
PLACES = (KITCHEN, SCENARIOS, ROBOTS, WIPING, EXAMPLES / "contact", EXAMPLES / "pushing")
_NAMED = re.compile(r"^[^;]*\(\s*:domain\s+([\w-]+)\s*\)", re.IGNORECASE | re.MULTILINE)
_SCENE = re.compile(r"^galley_scene:", re.MULTILINE)


def shipped_file(given: str | Path, folder: Path | str = Path()) -> Path:
    """The file that a path names: the user's, or a shipped one if the path is a bare name.

    Every reader of YAML, PDDL and user-defined skills calls this function. So
    ``galley plan --domain drawers.pddl`` works in any folder, and a file of the user takes
    precedence.

    Args:
        given: the path as the user wrote it.
        folder: the folder that it is relative to.

    Returns:
        The path; ``folder / given`` if neither file exists.
    """
    folder, given = Path(folder), os.fspath(given)
    own = folder / given
    name = Path(given).name
    if not name or name != given or _exists(own):
        return own
    return next((place / name for place in PLACES if _exists(place / name)), own)


def companions(problem: str | Path) -> dict[str, Path]:
    """The domain file and the scene file that belong to a problem file, as far as they exist.

    The domain is the shipped file that has the name of the problem's domain. The scene is a file
    beside the problem: ``task.yaml`` or ``task_scene.yaml`` beside ``task.pddl``.

    Returns:
        Their paths, under the keys ``domain`` and ``scene``.
    """
    path, files = shipped_file(problem), {}
    try:
        named = _NAMED.search(path.read_text(encoding="utf-8", errors="replace"))
        for scene in (path.with_suffix(".yaml"), path.with_name(f"{path.stem}_scene.yaml")):
            if not scene.is_file() or "scene" in files:
                continue
            if _SCENE.search(scene.read_text(encoding="utf-8", errors="replace")):
                files["scene"] = scene
    except (OSError, ValueError):  # no such file, which the reader of the problem will report
        return {}
    if named and _exists(domain := KITCHEN / f"{named[1].lower()}.pddl"):
        files["domain"] = domain
    return files


def did_you_mean_file(path: str | Path) -> str:
    """A suggestion for a path that doesn't exist: the most similar file, beside it or shipped.

    Only files with the same suffix are suggested, and names are compared without it.
    """
    path = Path(path)
    stems = []
    for folder in (path.parent, *PLACES):
        try:
            stems += [file.stem for file in folder.iterdir() if file.suffix == path.suffix]
        except (OSError, ValueError):  # no such folder, a NUL
            continue
    match = closest_match(path.stem, sorted(set(stems))) if path.suffix else None
    return f"; did you mean '{match}{path.suffix}'?" if match else ""


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name too long, a NUL
        return False
