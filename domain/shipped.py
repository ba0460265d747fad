"""Paths of the files that ship with Galley."""

from __future__ import annotations

from pathlib import Path

KITCHEN = Path(__file__).parent / "kitchen"
SCENARIOS = Path(__file__).parent / "scenarios"


def kitchen_file(given: Path | None, default: str) -> Path:
    """The path ``given``; a bare file name that does not exist here means the kitchen's file.

    Args:
        given: the user's path, or None.
        default: the kitchen's file to use if ``given`` is None.
    """
    if given is None:
        return KITCHEN / default
    shipped = KITCHEN / given
    bare = given.name == str(given)
    return shipped if bare and not given.exists() and shipped.exists() else given
