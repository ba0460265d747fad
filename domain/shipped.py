"""The files that ship with Galley: where they are, and how a bare name finds one."""

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
# The files that docs/ names, too: those of an own skill, of contact and of pushing.
WIPING = _DOMAIN.parent / "docs" / "wiping"
EXAMPLES = _DOMAIN.parent / "examples"
PLACES = (KITCHEN, SCENARIOS, ROBOTS, WIPING, EXAMPLES / "contact", EXAMPLES / "pushing")
_NAMED = re.compile(r"^[^;]*\(\s*:domain\s+([\w-]+)\s*\)", re.IGNORECASE | re.MULTILINE)
_SCENE = re.compile(r"^galley_scene:", re.MULTILINE)


def shipped_file(given: str | Path, folder: Path | str = Path()) -> Path:
    """The file that a path names; a shipped one if it is a bare name that ``folder`` lacks.

    Every reader of YAML, PDDL and own skills asks here, so that
    ``galley plan --domain drawers.pddl`` works anywhere, and a file of the user's wins.

    Args:
        given: the path as the user wrote it.
        folder: what it is relative to.

    Returns:
        The path; ``folder / given`` where neither exists.
    """
    folder, given = Path(folder), os.fspath(given)
    own = folder / given
    name = Path(given).name
    if not name or name != given or _exists(own):
        return own
    return next((place / name for place in PLACES if _exists(place / name)), own)


def companions(problem: str | Path) -> dict[str, Path]:
    """The ``domain`` and the ``scene`` of a problem's file, by these names, as far as they exist.

    The domain is the shipped file named as the problem's domain; the scene a file beside the
    problem that has its name: ``task.yaml`` or ``task_scene.yaml`` beside ``task.pddl``.
    """
    path, found = shipped_file(problem), {}
    try:
        named = _NAMED.search(path.read_text(encoding="utf-8", errors="replace"))
        for scene in (path.with_suffix(".yaml"), path.with_name(f"{path.stem}_scene.yaml")):
            if not scene.is_file() or "scene" in found:
                continue
            if _SCENE.search(scene.read_text(encoding="utf-8", errors="replace")):
                found["scene"] = scene
    except (OSError, ValueError):  # no such file, which its reader will say
        return {}
    if named and _exists(domain := KITCHEN / f"{named[1].lower()}.pddl"):
        found["domain"] = domain
    return found


def did_you_mean_file(path: str | Path) -> str:
    """A suggestion for a path that does not exist: the most similar file beside it or shipped.

    Only files of the same ending are suggested, and only the name without it is compared.
    """
    path = Path(path)
    stems = []
    for place in (path.parent, *PLACES):
        try:
            stems += [each.stem for each in place.iterdir() if each.suffix == path.suffix]
        except (OSError, ValueError):  # no such folder, a NUL
            continue
    match = closest_match(path.stem, sorted(set(stems))) if path.suffix else None
    return f"; did you mean '{match}{path.suffix}'?" if match else ""


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name too long, a NUL
        return False
